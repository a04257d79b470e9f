//! What went wrong, as people and scripts see it: a kind, a rule, a message, a way out, and an
//! exit code.

use althing_engine::EngineError;
use althing_kernel::refusal::Details;
use althing_kernel::{Refusal, Rule};
use serde_json::{Value, json};

/// Exit codes, the same for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Refused, or not found.
    Refused,
    /// Wrong usage.
    Usage,
    /// Somebody else holds it.
    Collision,
    /// Unavailable or degraded.
    Unavailable,
    /// The trail or stored content does not hold.
    Integrity,
}

impl Exit {
    /// The code of a kind of failure.
    pub(crate) fn of(kind: &str) -> Self {
        match kind {
            "collision" => Exit::Collision,
            "integrity" => Exit::Integrity,
            "usage" => Exit::Usage,
            "refused" | "not_found" | "not_authentic" => Exit::Refused,
            _ => Exit::Unavailable,
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::Collision => 3,
            Exit::Unavailable => 4,
            Exit::Integrity => 5,
        }
    }
}

/// What helps where stored content is damaged or missing.
pub(crate) const BLOB_WAY_OUT: &str =
    "Store the same content again with `althing blob put FILE`; a backup keeps it in `blobs`.";

/// What was told already, and only shows in the exit code.
pub(crate) const TOLD: &str = "told";

/// A command that did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: &'static str,
    pub(crate) rule: Rule,
    pub(crate) message: String,
    pub(crate) details: Value,
    pub(crate) exit: Exit,
    /// Collisions, for a readable report.
    pub(crate) refusal: Option<Box<Refusal>>,
    /// What to do about it, where that is not what the rule says in general.
    pub(crate) hint: Option<&'static str>,
    /// The same, put together for this failure.
    pub(crate) helps: Option<Box<str>>,
}

impl Failure {
    fn new(kind: &'static str, rule: Rule, exit: Exit, message: impl Into<String>) -> Self {
        Failure {
            kind,
            rule,
            message: message.into(),
            details: json!({}),
            exit,
            refusal: None,
            hint: None,
            helps: None,
        }
    }

    /// Input that cannot be used.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new("usage", Rule::Usage, Exit::Usage, message)
    }

    /// Input that cannot be used, for a reason of its own.
    pub(crate) fn misuse(rule: Rule, message: impl Into<String>) -> Self {
        Failure::new("usage", rule, Exit::Usage, message)
    }

    /// Somebody may not do this, which was found before anything was asked of the kernel.
    pub(crate) fn denied(rule: Rule, message: impl Into<String>) -> Self {
        Failure::new("refused", rule, Exit::Refused, message)
    }

    /// What was asked about is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Failure::new("not_found", Rule::NotFound, Exit::Refused, message)
    }

    /// A rule says no before anything is asked of the runtime.
    pub(crate) fn refused(rule: Rule, message: impl Into<String>) -> Self {
        Failure::new("refused", rule, Exit::Refused, message)
    }

    /// Something around the command failed: a file, a process, the terminal.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Failure::new("unavailable", Rule::StoreUnavailable, Exit::Unavailable, message)
    }

    /// The trail, a proof or a head does not hold.
    pub(crate) fn integrity(rule: Rule, message: impl Into<String>) -> Self {
        Failure::new("integrity", rule, Exit::Integrity, message)
    }

    /// A surface somebody else holds, found without trying to claim it.
    pub(crate) fn held(message: impl Into<String>, details: Value) -> Self {
        let failure = Failure::new("collision", Rule::NoOverlap, Exit::Collision, message);
        Failure { details, ..failure }
    }

    /// Something was refused, and everything there is to say about it has been said.
    pub(crate) fn told() -> Self {
        Failure::new(TOLD, Rule::Usage, Exit::Refused, "")
    }

    /// Somebody else holds it, and everything there is to say about that has been said.
    pub(crate) fn told_collision() -> Self {
        Failure::new(TOLD, Rule::NoOverlap, Exit::Collision, "")
    }

    /// A failure in the words of a dialect.
    pub(crate) fn spoken(
        kind: &'static str,
        exit: Exit,
        rule: Rule,
        message: String,
        details: Value,
    ) -> Self {
        Failure { details, ..Failure::new(kind, rule, exit, message) }
    }

    /// The same failure with a way out of its own.
    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Failure { hint: Some(hint), ..self }
    }

    /// The same failure with a way out that was put together for it.
    pub(crate) fn helped(self, helps: String) -> Self {
        Failure { helps: Some(helps.into()), ..self }
    }

    /// The way out.
    pub(crate) fn way_out(&self) -> &str {
        self.helps.as_deref().unwrap_or_else(|| self.general_way_out())
    }

    /// The way out of all failures like it.
    pub(crate) fn general_way_out(&self) -> &'static str {
        self.hint.unwrap_or_else(|| self.rule.way_out())
    }

    /// The failure as the JSON document scripts read.
    pub(crate) fn json(&self) -> Value {
        json!({ "error": {
            "kind": self.kind,
            "rule": self.rule.id(),
            "message": self.message,
            "way_out": self.way_out(),
            "details": self.details,
        }})
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let error = EngineError::from(refusal.clone());
        let kind = error.kind();
        let details = match &refusal.details {
            Details::Collisions(collisions) => json!({ "collisions": collisions }),
            Details::Allowed(allowed) => json!({ "allowed": allowed }),
            Details::None {} => json!({}),
        };
        let failure = Failure::new(kind, refusal.rule, Exit::of(kind), refusal.message.clone());
        Failure { details, refusal: Some(Box::new(refusal)), ..failure }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let (kind, rule, message) = (error.kind(), error.rule(), error.to_string());
        if let EngineError::Refused(refusal) = error {
            return (*refusal).into();
        }
        let exit = Exit::of(kind);
        let failure = Failure::new(kind, rule, exit, message);
        match error {
            EngineError::Pruned { .. } => {
                failure.hint("Look at a backup or a snapshot from before it was deleted.")
            }
            EngineError::Clock(_) => failure.hint("Set this machine's clock right."),
            EngineError::WitnessUnreadable(_) => {
                failure.hint("Compare with a head kept elsewhere before deleting that file.")
            }
            EngineError::BlobDamaged { blob, .. } => {
                Failure { details: json!({ "blob": blob }), ..failure }.hint(BLOB_WAY_OUT)
            }
            EngineError::Damaged { seq, what } => {
                Failure { details: json!({ "entry": seq, "fault": what }), ..failure }
            }
            _ => failure,
        }
    }
}
