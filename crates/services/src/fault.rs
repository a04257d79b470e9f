//! Faults: what a tool says when it did not do what it was asked to.

use althing_engine::EngineError;
use althing_kernel::Rule;
use althing_kernel::refusal::Details;
use althing_workshop::WorkshopError;
use serde_json::{Value, json};

/// A tool call that failed. Hosts get it as a result, so that the model can read it and go on.
#[derive(Debug)]
pub struct Fault(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: &'static str,
    rule: Rule,
    message: String,
    details: Value,
    /// What the dialect calls it, if that is not the message.
    error: Option<String>,
    /// What the dialect says about it, if that is not the way out.
    detail: Option<String>,
    /// What helps, where that is not what the rule says in general.
    way_out: Option<String>,
}

impl Fault {
    fn new(kind: &'static str, rule: Rule, message: impl Into<String>) -> Self {
        let (message, details) = (message.into(), json!({}));
        let (error, detail, way_out) = (None, None, None);
        Fault(Box::new(Parts { kind, rule, message, details, error, detail, way_out }))
    }

    /// Arguments that cannot be used.
    pub fn usage(message: impl Into<String>) -> Self {
        // What is wrong is said; how to call tools is in their list.
        let mut fault = Fault::new("usage", Rule::Usage, message);
        fault.0.detail = Some(String::new());
        fault
    }

    /// The caller may not.
    pub fn refused(rule: Rule, message: impl Into<String>) -> Self {
        Fault::new("refused", rule, message)
    }

    /// Somebody else has it.
    pub fn collision(message: impl Into<String>) -> Self {
        Fault::new("collision", Rule::NoOverlap, message)
    }

    /// Something around the call failed: a file, a program.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Fault::new("unavailable", Rule::StoreUnavailable, message)
    }

    /// A defect of Althing itself.
    pub fn defect(message: impl Into<String>) -> Self {
        Fault::new("defect", Rule::StoreUnavailable, message)
    }

    /// The same in the words of a dialect.
    #[must_use]
    pub fn told(mut self, error: impl Into<String>, detail: impl Into<String>) -> Self {
        (self.0.error, self.0.detail) = (Some(error.into()), Some(detail.into()));
        self
    }

    /// What sort of failure it is, in the words of all doors.
    pub fn kind(&self) -> &'static str {
        self.0.kind
    }

    /// The rule it rests on.
    pub fn rule(&self) -> Rule {
        self.0.rule
    }

    /// What comes with it.
    pub fn details(&self) -> &Value {
        &self.0.details
    }

    /// The same with something that comes with it.
    #[must_use]
    pub fn with(mut self, details: Value) -> Self {
        self.0.details = details;
        self
    }

    /// The same with a way out of its own.
    #[must_use]
    pub fn helped(mut self, way_out: impl Into<String>) -> Self {
        self.0.way_out = Some(way_out.into());
        self
    }

    /// The same in other words.
    #[must_use]
    pub(crate) fn reworded(mut self, words: impl FnOnce(&str) -> String) -> Self {
        self.0.message = words(&self.0.message);
        self
    }

    /// What helps.
    pub fn way_out(&self) -> &str {
        self.0.way_out.as_deref().unwrap_or(self.0.rule.way_out())
    }

    /// What is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Fault::new("not_found", Rule::NotFound, message)
    }

    /// What is the matter, in words.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The error object that every door of Althing gives.
    pub fn object(&self) -> Value {
        json!({
            "kind": self.0.kind,
            "rule": self.0.rule.id(),
            "message": self.0.message,
            "way_out": self.way_out(),
            "details": self.0.details,
        })
    }

    /// What is read by hosts that only show text.
    pub fn text(&self) -> Value {
        json!({
            "error": self.0.error.as_deref().unwrap_or(&self.0.message),
            "detail": self.0.detail.as_deref().unwrap_or(self.0.rule.way_out()),
            "rule": self.0.rule.id(),
        })
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        let mut fault = Fault::new(error.kind(), error.rule(), error.to_string());
        fault.0.details = match error {
            EngineError::Refused(refusal) => match refusal.details {
                Details::Collisions(collisions) => json!({ "collisions": collisions }),
                Details::Allowed(allowed) => json!({ "allowed": allowed }),
                Details::None {} => json!({}),
            },
            _ => json!({}),
        };
        fault
    }
}

impl From<WorkshopError> for Fault {
    fn from(error: WorkshopError) -> Self {
        Fault::unavailable(error.message())
    }
}
