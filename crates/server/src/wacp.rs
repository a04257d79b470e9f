//! The nouns of WACP as tools: tasks, inboxes, envelopes, signals, checkpoints, integration.
//!
//! A tool takes the arguments of the command or the question it is named after, as the kernel reads
//! them, and answers with its reply. Nothing is decided here.

use althing_kernel::checkpoint::Create as CheckpointCreate;
use althing_kernel::envelope::Send;
use althing_kernel::envelope::inbox::Take;
use althing_kernel::integration::Decide;
use althing_kernel::integration::conflict::Resolve;
use althing_kernel::query::{
    Everything, InboxList, OfCheckpoint, OfTask, OfWorkspace, Query, TaskList, TaskReady,
    WorkspaceList,
};
use althing_kernel::run::Start;
use althing_kernel::signal::Emit;
use althing_kernel::task::graph::Plan;
use althing_kernel::task::orders::{Approve, Assign, Cancel, Retry};
use althing_kernel::{Blob, Command, Content, Door, EnvelopeId, WorkspaceId};
use althing_services::frugal::{Ledger, identify};
use althing_services::mail::{self, Address, Letter, LetterKind, Outgoing};
use althing_services::{Error, ProjectContext};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::dialect::{Dialect, Speech, Tool};

/// The name the server gives to hosts.
const SERVER: &str = "althing-wacp";

/// The most letters that one call takes, unless told otherwise.
const LETTERS_MAX: u16 = 16;

/// How this dialect answers.
const SPEECH: Speech = Speech {
    attribution: "agent",
    failure: |fault| {
        let error = json!({ "error": fault.object() });
        (error.clone(), error)
    },
    text: Value::to_string,
    door: Door::McpWacp,
};

/// The dialect.
pub fn dialect(ledger: Ledger) -> Dialect {
    Dialect {
        server: SERVER,
        version: env!("CARGO_PKG_VERSION"),
        instructions: "Workspaces of a run (WACP 0.1). A worker takes its inbox, signals started, \
            makes checkpoints and signals complete; the coordinator plans, assigns and integrates.",
        tools: tools(),
        identify: Box::new(move |call| identify(&ledger, call)),
        speech: &SPEECH,
        protocol: Some(("wacp", "0.1")),
    }
}

/// The tools.
pub(crate) fn tools() -> Vec<Tool> {
    [questions(), of_workers(), of_coordinators()].into_iter().flatten().collect()
}

fn questions() -> Vec<Tool> {
    vec![
        asks("wacp_run_get", "The current run.", |of: Everything| Query::RunGet(of)),
        asks("wacp_workspace_list", "The workspaces.", |list: WorkspaceList| {
            Query::WorkspaceList(list)
        }),
        asks("wacp_workspace_get", "One workspace.", |of: OfWorkspace| Query::WorkspaceGet(of)),
        asks("wacp_task_list", "The tasks of the run.", |list: TaskList| Query::TaskList(list)),
        asks(
            "wacp_task_ready",
            "The tasks that can be assigned, most urgent first.",
            |of: TaskReady| Query::TaskReadyList(of),
        ),
        asks("wacp_task_get", "One task, with its description.", |of: OfTask| Query::TaskGet(of)),
        Tool::taking("wacp_inbox_list", "What waits for you, without taking it.", &SPEECH, waiting)
            .reading()
            .showing_mail(),
        asks("wacp_checkpoint_get", "One checkpoint.", |of: OfCheckpoint| Query::CheckpointGet(of)),
    ]
}

fn of_workers() -> Vec<Tool> {
    vec![
        Tool::taking("wacp_inbox_take", "Take what was delivered to you.", &SPEECH, take)
            .showing_mail(),
        Tool::taking("wacp_send", "Send an envelope to one workspace.", &SPEECH, send),
        orders("wacp_signal", "Report the state of your workspace.", |emit: Emit| {
            Command::SignalEmit(emit)
        }),
        orders(
            "wacp_checkpoint_create",
            "Record how far the work in your workspace is.",
            |create: CheckpointCreate| Command::CheckpointCreate(create),
        ),
    ]
}

fn of_coordinators() -> Vec<Tool> {
    vec![
        orders("wacp_run_start", "Begin a run.", |start: Start| Command::RunStart(start)),
        orders("wacp_task_graph", "Plan a graph of tasks (coordinator).", |plan: Plan| {
            Command::TaskGraph(plan)
        }),
        orders("wacp_task_approve", "Approve planned tasks (coordinator).", |own: Approve| {
            Command::TaskApprove(own)
        }),
        orders("wacp_task_assign", "Assign a ready task (coordinator).", |assign: Assign| {
            Command::TaskAssign(assign)
        }),
        orders("wacp_task_retry", "Let a failed task be assigned again.", |retry: Retry| {
            Command::TaskRetry(retry)
        }),
        orders("wacp_task_cancel", "Cancel a task (coordinator).", |cancel: Cancel| {
            Command::TaskCancel(cancel)
        }),
        orders("wacp_integrate", "Accept, revise or reject finished work.", |decide: Decide| {
            Command::IntegrationDecide(decide)
        }),
        orders(
            "wacp_conflict_resolve",
            "Resolve a conflict that stopped a merge.",
            |own: Resolve| Command::ConflictResolve(own),
        ),
    ]
}

/// A tool that answers a question.
fn asks<A: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
    query: impl Fn(A) -> Query + std::marker::Send + Sync + 'static,
) -> Tool {
    let answer =
        move |context: &ProjectContext, args: A| on_the_wire(context, &context.ask(&query(args))?);
    Tool::taking::<A>(name, description, &SPEECH, answer).reading()
}

/// A tool that carries out a command.
fn orders<A: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
    command: impl Fn(A) -> Command + std::marker::Send + Sync + 'static,
) -> Tool {
    let reply = move |context: &ProjectContext, args: A| {
        on_the_wire(context, &context.execute(command(args))?)
    };
    Tool::taking::<A>(name, description, &SPEECH, reply)
}

/// Arguments of `wacp_inbox_list`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inbox {
    /// Also what was taken before.
    #[serde(default)]
    all: bool,
    /// The workspace whose inbox it is; without it, everything that waits for the caller.
    workspace: Option<WorkspaceId>,
}

fn waiting(context: &ProjectContext, args: Inbox) -> Result<Value, Error> {
    let Inbox { all, workspace } = args;
    if let Some(workspace) = workspace {
        return on_the_wire(
            context,
            &context.ask(&Query::InboxList(InboxList { all, workspace }))?,
        );
    }
    let mut letters = mail::waiting(context)?.letters;
    if all {
        letters.extend(mail::records_to(context, true)?.into_iter().filter(|own| !own.open));
    }
    Ok(json!({ "letters": letters }))
}

/// Takes the mail of one workspace, or of the caller: the envelopes of its workspaces, and in
/// `letters` what was sent to the agent itself.
fn take(context: &ProjectContext, take: Take) -> Result<Value, Error> {
    if take.workspace.is_some() {
        return on_the_wire(context, &context.execute(Command::InboxTake(take))?);
    }
    // Whoever takes its mail is there, also where no run has a workspace for it.
    context.client()?;
    let taken = mail::take(context, take.max.unwrap_or(LETTERS_MAX), None)?;
    let is_record = |letter: &&Letter| !matches!(letter.kind, LetterKind::Envelope(_));
    let letters: Vec<&Letter> = taken.letters.iter().filter(is_record).collect();
    let mut answer = json!({ "envelopes": [], "left": taken.left, "letters": letters });
    for mail in &taken.mails {
        let Value::Object(fields) = on_the_wire(context, mail)? else { continue };
        for (name, value) in fields.into_iter().filter(|(name, _)| name != "left") {
            match (answer.get_mut(&name).and_then(Value::as_array_mut), value) {
                (Some(all), Value::Array(more)) => all.extend(more),
                (_, value) => answer[name] = value,
            }
        }
    }
    Ok(answer)
}

/// Sends an envelope. One to the workspace of a connected agent is a message to that agent.
fn send(context: &ProjectContext, send: Send) -> Result<Value, Error> {
    let to = Address::of_workspace(context, send.to.clone())?;
    match (&to, &send.payload.content) {
        (Address::Principal(_), Content::Text(text)) => {
            let reply_to = send.in_reply_to.as_ref().map(EnvelopeId::as_str);
            let letter = mail::send(context, &Outgoing { to: &to, text, reply_to })?;
            Ok(json!({ "letter": letter.id, "to": letter.to }))
        }
        _ => on_the_wire(context, &context.execute(Command::EnvelopeSend(send))?),
    }
}

/// An answer on the wire: always an object, with the text of messages that were taken and of task
/// descriptions beside their hashes.
fn on_the_wire(context: &ProjectContext, answer: &impl Serialize) -> Result<Value, Error> {
    let mut value = serde_json::to_value(answer)
        .map_err(|error| Error::defect(format!("an answer cannot be written: {error}")))?;
    if let Value::Array(items) = value {
        value = json!({ "items": items });
    }
    let envelopes = value.get_mut("envelopes").and_then(Value::as_array_mut);
    let envelopes = envelopes.into_iter().flatten();
    for envelope in envelopes.filter(|envelope| envelope["taken"] == true) {
        let text = stored(context, &envelope["payload"]["content"]);
        add(envelope, text);
    }
    if value.get("description").is_some() {
        let text = stored(context, &value["description"]);
        add(&mut value, text);
    }
    Ok(value)
}

fn add(value: &mut Value, text: Option<String>) {
    if let Some(text) = text {
        value["text"] = text.into();
    }
}

fn stored(context: &ProjectContext, name: &Value) -> Option<String> {
    let blob: Blob = name.as_str()?.parse().ok()?;
    String::from_utf8(context.blobs().get(&blob).ok()?).ok()
}
