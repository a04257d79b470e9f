//! The service: the protocol's requests, answered by a dialect's tools.

use althing_engine::screen::{leaks, repeated};
use althing_services::frugal::Call;
use althing_services::project::UNNAMED;
use althing_services::{Error, Host, Identity, Project, ProjectContext};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool as ListedTool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::dialect::{Dialect, Speech, Tool};
use crate::mail_notice::Notices;
use crate::tally::{Handed, Tally};

/// The revisions that are spoken. The one of March 2025 asked servers to take batches, which no
/// revision before or after it does; hosts that offer it are answered with a later one.
const REVISIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// A dialect over a project.
pub(crate) struct Service {
    pub(crate) dialect: Dialect,
    pub(crate) project: Arc<Project>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) notices: Notices,
}

/// The result of a call, before it is put into the form of the protocol.
struct Outcome {
    text: String,
    structured: Value,
    failed: bool,
}

impl Service {
    /// Calls a tool. A defect in one tool is that call's failure, not the server's end.
    fn call(&self, name: &str, host: &Host, arguments: &Map<String, Value>) -> Outcome {
        let call = Call { project: &self.project, host, arguments };
        let done = catch_unwind(AssertUnwindSafe(|| self.attempt(name, &call)));
        let defect = || Attempt { who: None, result: Err(Error::defect("internal error")) };
        let Attempt { who, result } = done.unwrap_or_else(|_| defect());
        let warnings = self.project.warnings().take();
        let result = result.map(|answer| with_warnings(answer, warnings));
        let speech = self.tool(name).map_or(self.dialect.speech, |tool| tool.speech);
        let shown = self.tool(name).is_some_and(|tool| tool.shows_mail);
        let mail = who.as_ref().map(|who| self.notices.of(&self.project, who, shown));
        let outcome = outcome(speech, who.as_ref(), result, &mail.unwrap_or_default());
        if let Some(who) = who {
            let (tool, text) = (Some(repeated(name)), outcome.text.clone());
            self.tally.note(Handed { who, kind: "tool_result", tool, text });
        }
        outcome
    }

    fn tool(&self, name: &str) -> Option<&Tool> {
        self.dialect.tools.iter().find(|tool| tool.name == name)
    }

    fn attempt(&self, name: &str, call: &Call<'_>) -> Attempt {
        let _span = tracing::debug_span!("tool", name).entered();
        let Some(tool) = self.tool(name) else {
            let names: Vec<&str> = self.dialect.tools.iter().map(|tool| tool.name).collect();
            let message = format!("unknown tool: {}", repeated(name));
            let fault = Error::usage(message.clone()).with_wording(message, names.join(", "));
            let who = (self.dialect.identify)(call).ok();
            return Attempt { who, result: Err(fault) };
        };
        match (self.dialect.identify)(call) {
            Ok(who) => {
                let context =
                    ProjectContext::of_host(&self.project, &who).through(tool.speech.door);
                let result = tool.call(&context, &who, call.arguments);
                Attempt { who: Some(who), result }
            }
            Err(fault) => Attempt { who: None, result: Err(fault) },
        }
    }

    /// The tools as hosts see them.
    pub(crate) fn listed(&self) -> Vec<ListedTool> {
        self.dialect.tools.iter().map(listed).collect()
    }
}

/// An answer that tells of warnings, in the list it has for them.
fn with_warnings(mut answer: Value, warnings: Vec<String>) -> Value {
    match answer.get_mut("warnings").and_then(Value::as_array_mut) {
        Some(shown) => shown.extend(warnings.into_iter().map(Value::from)),
        None if warnings.is_empty() => {}
        None => answer["warnings"] = warnings.into(),
    }
    answer
}

/// The result of a call, in the words of the dialect, with lines about mail that waits.
fn outcome(
    speech: &Speech,
    who: Option<&Identity>,
    result: Result<Value, Error>,
    mail: &[String],
) -> Outcome {
    let failed = result.is_err();
    let (mut text, mut structured) = match result {
        Ok(payload) => (None, payload),
        Err(fault) => {
            let (text, structured) = (speech.failure)(&fault);
            (Some(text), structured)
        }
    };
    if let Some(who) = who {
        for value in text.iter_mut().chain([&mut structured]) {
            value[speech.attribution] = who.shown.clone().into();
            if !mail.is_empty() {
                value["mail"] = mail.into();
            }
        }
    }
    let shown = text.as_ref().unwrap_or(&structured);
    Outcome { text: (speech.text)(shown), structured, failed }
}

/// The result of a call and its caller, if known.
struct Attempt {
    who: Option<Identity>,
    result: Result<Value, Error>,
}

fn listed(tool: &Tool) -> ListedTool {
    let schema: JsonObject = tool.schema.clone();
    let listed = ListedTool::new(tool.name, tool.description, Arc::new(schema));
    let about = ToolAnnotations::new();
    // Nothing here is destructive: the trail keeps whatever a tool changes.
    listed.with_annotations(if tool.read_only {
        about.read_only(true)
    } else {
        about.read_only(false).destructive(false)
    })
}

/// The host that asks. One that introduced itself stays who it said it is, whatever its requests
/// say.
fn host(context: &RequestContext<RoleServer>) -> Host {
    let introduced = context.peer.peer_info().map(|info| info.client_info.clone());
    let introduced = introduced.filter(|client| client.name != UNNAMED);
    let client = introduced.or_else(|| context.client_info());
    // The trail keeps what a host says about itself, but not text that looks like a secret.
    let kept = |text: &String| !leaks(text);
    Host {
        version: client.as_ref().map(|client| client.version.clone()).filter(kept),
        name: client.map(|client| client.name).filter(kept),
    }
}

impl ServerHandler for Service {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = Some(false);
        }
        if let Some((name, version)) = self.dialect.protocol {
            let mut about = JsonObject::new();
            about.insert("protocol".to_owned(), version.into());
            capabilities.experimental = Some([(name.to_owned(), about)].into());
        }
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(self.dialect.server, self.dialect.version))
            .with_instructions(self.dialect.instructions)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(REVISIONS)
    }

    /// Stores the negotiated protocol version for the rest of the connection, not the requested one.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let agreed = self.negotiate_initialize(&request)?;
        let known = request.with_protocol_version(agreed.protocol_version.clone());
        context.peer.set_peer_info(known);
        Ok(agreed)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = self.listed();
        let (host, arguments) = (host(&context), Map::new());
        let call = Call { project: &self.project, host: &host, arguments: &arguments };
        if let Ok(who) = (self.dialect.identify)(&call) {
            let text = serde_json::to_string(&listed).unwrap_or_default();
            self.tally.note(Handed { who, kind: "tool_list", tool: None, text });
        }
        Ok(ListToolsResult::with_all_items(listed))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        // One request is at work at a time, so it may take the thread.
        let outcome = self.call(&request.name, &host(&context), &arguments);
        let blocks = vec![ContentBlock::text(outcome.text)];
        let mut result = if outcome.failed {
            CallToolResult::error(blocks)
        } else {
            CallToolResult::success(blocks)
        };
        result.structured_content = Some(outcome.structured);
        Ok(CallToolResponse::from(result))
    }
}
