//! Dialects: sets of tools over the one kernel.
//!
//! A dialect says what its tools are called, what they take and how an answer reads. It translates
//! and decides nothing: whatever changes something goes through the engine as a command. Another
//! dialect is another list of tools; nothing else of the server knows which ones there are.

use althing_engine::screen::masked;
use althing_kernel::Door;
use althing_services::arguments;
use althing_services::frugal::Call;
use althing_services::{Error, Identity, ProjectContext};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A set of tools.
pub struct Dialect {
    /// The name the server gives to hosts.
    pub server: &'static str,
    /// The version of its tools.
    pub version: &'static str,
    /// Instructions for a model that uses the tools.
    pub instructions: &'static str,
    /// The tools.
    pub tools: Vec<Tool>,
    /// Finds the caller, as the dialect names it.
    pub identify: Identify,
    /// How it answers where no tool of it does.
    pub speech: &'static Speech,
    /// The protocol it speaks and its version, if hosts are to be told.
    pub protocol: Option<(&'static str, &'static str)>,
}

/// How the answers of tools read.
pub struct Speech {
    /// The field of every result that says whom it was attributed to.
    pub attribution: &'static str,
    /// Makes the text and the structured content of an error.
    pub failure: fn(&Error) -> (Value, Value),
    /// Makes the text of an answer, for hosts that only show text.
    pub text: fn(&Value) -> String,
    /// The way in that its requests come through.
    pub door: Door,
}

/// Finds out who is asking.
pub type Identify = Box<dyn Fn(&Call<'_>) -> Result<Identity, Error> + Send + Sync>;

type Arguments = Map<String, Value>;
type Handler =
    Box<dyn Fn(&ProjectContext, &Identity, &Arguments) -> Result<Value, Error> + Send + Sync>;

/// One tool.
pub struct Tool {
    /// The name.
    pub name: &'static str,
    /// A description for models.
    pub description: &'static str,
    /// The JSON schema of its arguments.
    pub schema: Map<String, Value>,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether its answers show the caller's mail, so that nobody has to be told of it.
    pub shows_mail: bool,
    /// How its answers read.
    pub speech: &'static Speech,
    handler: Handler,
}

impl Tool {
    /// A tool whose schema is that of the type which reads its arguments.
    pub fn new<A: DeserializeOwned + JsonSchema + 'static>(
        name: &'static str,
        description: &'static str,
        speech: &'static Speech,
        handler: impl Fn(&ProjectContext, &Identity, A) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Self {
        let schema = arguments::schema::<A>();
        let own = schema.clone();
        let handler: Handler = Box::new(move |context, who, given| {
            arguments::check(name, &own, given)?;
            let args = serde_json::from_value(Value::Object(given.clone()))
                .map_err(|error| Error::usage(format!("{name}: {}", masked(&error.to_string()))))?;
            handler(context, who, args)
        });
        Tool { name, description, schema, read_only: false, shows_mail: false, speech, handler }
    }

    /// A tool whose arguments are read as the kernel reads them, nested ones included.
    pub fn taking<A: DeserializeOwned + JsonSchema + 'static>(
        name: &'static str,
        description: &'static str,
        speech: &'static Speech,
        handler: impl Fn(&ProjectContext, A) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Self {
        let schema = arguments::schema::<A>();
        Tool::reading_itself(name, description, speech, schema, move |context, given| {
            let args = serde_json::from_value(given)
                .map_err(|error| Error::usage(format!("{name}: {}", masked(&error.to_string()))))?;
            handler(context, args)
        })
    }

    /// A tool that reads its arguments itself.
    pub fn reading_itself(
        name: &'static str,
        description: &'static str,
        speech: &'static Speech,
        schema: Map<String, Value>,
        handler: impl Fn(&ProjectContext, Value) -> Result<Value, Error> + Send + Sync + 'static,
    ) -> Self {
        let handler: Handler =
            Box::new(move |context, _, given| handler(context, Value::Object(given.clone())));
        Tool { name, description, schema, read_only: false, shows_mail: false, speech, handler }
    }

    /// The same, which changes nothing.
    #[must_use]
    pub fn reading(self) -> Self {
        Tool { read_only: true, ..self }
    }

    /// The same, whose answers show the caller's mail.
    #[must_use]
    pub fn showing_mail(self) -> Self {
        Tool { shows_mail: true, ..self }
    }

    /// Reads the arguments and does it.
    pub(crate) fn call(
        &self,
        context: &ProjectContext,
        who: &Identity,
        given: &Arguments,
    ) -> Result<Value, Error> {
        (self.handler)(context, who, given)
    }
}
