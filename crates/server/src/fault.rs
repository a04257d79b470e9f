//! Faults: what a tool says when it did not do what it was asked to.

use althing_engine::EngineError;
use althing_kernel::Rule;
use althing_kernel::refusal::Details;
use serde_json::{Value, json};

/// A tool call that failed. Hosts get it as a result, so that the model can read it and go on.
#[derive(Debug)]
pub struct Fault {
    kind: &'static str,
    rule: Rule,
    message: String,
    details: Value,
    /// What the dialect calls it, if that is not the message.
    pub(crate) error: Option<String>,
    /// What the dialect says about it, if that is not the way out.
    pub(crate) detail: Option<String>,
}

impl Fault {
    fn new(kind: &'static str, rule: Rule, message: impl Into<String>) -> Self {
        let (message, details) = (message.into(), json!({}));
        Fault { kind, rule, message, details, error: None, detail: None }
    }

    /// Arguments that cannot be used.
    pub fn usage(message: impl Into<String>) -> Self {
        // What is wrong is said; how to call tools is in their list.
        Fault { detail: Some(String::new()), ..Fault::new("usage", Rule::Usage, message) }
    }

    /// The caller may not.
    pub fn refused(rule: Rule, message: impl Into<String>) -> Self {
        Fault::new("refused", rule, message)
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
    pub fn told(self, error: impl Into<String>, detail: impl Into<String>) -> Self {
        Fault { error: Some(error.into()), detail: Some(detail.into()), ..self }
    }

    /// What is the matter, in words.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The error object that every door of Althing gives.
    pub(crate) fn object(&self) -> Value {
        json!({
            "kind": self.kind,
            "rule": self.rule.id(),
            "message": self.message,
            "way_out": self.rule.way_out(),
            "details": self.details,
        })
    }

    /// What is read by hosts that only show text.
    pub(crate) fn text(&self) -> Value {
        json!({
            "error": self.error.as_deref().unwrap_or(&self.message),
            "detail": self.detail.as_deref().unwrap_or(self.rule.way_out()),
            "rule": self.rule.id(),
        })
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        let fault = Fault::new(error.kind(), error.rule(), error.to_string());
        let details = match error {
            EngineError::Refused(refusal) => match refusal.details {
                Details::Collisions(collisions) => json!({ "collisions": collisions }),
                Details::Allowed(allowed) => json!({ "allowed": allowed }),
                Details::None {} => json!({}),
            },
            _ => json!({}),
        };
        Fault { details, ..fault }
    }
}
