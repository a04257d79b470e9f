//! Refusals: a no that names its rule, and what the trail keeps of it.

use serde::{Deserialize, Serialize};

use crate::admission::Standing;
use crate::capability::Denial;
use crate::highway::inject::Injection;
use crate::principal::Principal;
use crate::query::Collision;
use crate::rule::Rule;
use crate::text::Text;
use crate::workspace::create;
use crate::{checkpoint, envelope, violation};

/// What sort of no it is; doors turn it into exit codes and status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The caller may not do this, or not now.
    Denied,
    /// What it is about does not exist.
    NotFound,
    /// Somebody else holds it.
    Collision,
    /// The caller is not who it says it is.
    NotAuthentic,
    /// What it is about is not what it should be.
    Integrity,
}

/// A command that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What sort of no.
    pub kind: RefusalKind,
    /// The rule it rests on.
    pub rule: Rule,
    /// What is the matter, in words.
    pub message: String,
    /// What the caller needs to go on.
    pub details: Details,
    /// What the trail keeps of it.
    #[serde(skip)]
    pub(crate) record: Record,
}

/// How a refusal is recorded: by itself, or as what the protocol's registry has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Command,
    Envelope(Box<envelope::Rejected>),
    Checkpoint(Box<checkpoint::Rejected>),
    Injection(Box<Injection>),
    Workspace(create::RejectReason),
    Capability(Box<Denial>),
    Capacity(Vec<Standing>),
    /// As any refusal, and what is wrong with what it is about in an entry of its own.
    Violation(Box<violation::IntegrityViolation>),
}

/// What comes with a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Details {
    /// The leases in the way.
    Collisions(Vec<Collision>),
    /// What would have been allowed instead.
    Allowed(Vec<String>),
    /// Nothing more.
    #[serde(untagged)]
    None {},
}

impl Refusal {
    /// The caller may not.
    pub fn denied(rule: Rule, message: impl Into<String>) -> Self {
        Refusal::plain(RefusalKind::Denied, rule, message.into())
    }

    /// It does not exist.
    pub fn not_found(rule: Rule, message: impl Into<String>) -> Self {
        Refusal::plain(RefusalKind::NotFound, rule, message.into())
    }

    /// A no of a certain sort.
    pub fn of(kind: RefusalKind, rule: Rule, message: impl Into<String>) -> Self {
        Refusal::plain(kind, rule, message.into())
    }

    pub(crate) fn not_authentic(entity: &Principal, reason: &str) -> Self {
        let rule = match entity {
            Principal::Agent(_) => Rule::AgentKeyBound,
            Principal::User(_) => Rule::PersonNeedsCredential,
            Principal::System => Rule::RuntimeKeyKnown,
        };
        let message = format!("the caller is not {entity}: {reason}");
        Refusal::plain(RefusalKind::NotAuthentic, rule, message)
    }

    pub(crate) fn collision(message: String, details: Details) -> Self {
        let record = Record::Command;
        Refusal { kind: RefusalKind::Collision, rule: Rule::NoOverlap, message, details, record }
    }

    /// The same, saying what would have been allowed.
    #[must_use]
    pub(crate) fn allowing(self, allowed: impl IntoIterator<Item = String>) -> Self {
        Refusal { details: Details::Allowed(allowed.into_iter().collect()), ..self }
    }

    /// The same, recorded in another way.
    #[must_use]
    pub(crate) fn recorded(self, record: Record) -> Self {
        Refusal { record, ..self }
    }

    fn plain(kind: RefusalKind, rule: Rule, message: String) -> Self {
        Refusal { kind, rule, message, details: Details::None {}, record: Record::Command }
    }
}

/// `command.refused`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The command that was not carried out.
    pub command: Text<64>,
    /// What sort of no.
    pub kind: RefusalKind,
    /// What was the matter.
    pub message: Text<2000>,
    /// The rule it rested on.
    pub rule: Rule,
}

/// `authentication_failed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthenticationFailed {
    /// What was attempted.
    pub context: Text<64>,
    /// Whom the caller claimed to be.
    pub entity: Principal,
    /// Why that was not so.
    pub reason: Text<2000>,
    /// What the caller could show: the key it holds.
    pub source: Text<128>,
}
