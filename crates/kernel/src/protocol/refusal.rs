//! Refusals: a no that names its rule, and what the trail keeps of it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::identity::capability::Denial;
use crate::model::leasing::view::Collision;
use crate::model::runs::admission::Standing;
use crate::model::runs::approvals::inject::Injection;
use crate::model::runs::workspace::create;
use crate::model::runs::{checkpoint, envelope, integrity};
use crate::registry::rule::Rule;
use crate::values::principal::Principal;
use crate::values::text::Text;

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
    /// As any refusal, of the command that is named: it was decided outside the kernel.
    Named(Text<64>),
    Envelope(Box<envelope::Rejected>),
    Checkpoint(Box<checkpoint::Rejected>),
    Injection(Box<Injection>),
    Workspace(create::RejectReason),
    Capability(Box<Denial>),
    Capacity(Vec<Standing>),
    /// As any refusal, and what is wrong with what it is about in an entry of its own.
    Violation(Box<integrity::IntegrityViolation>),
}

/// What comes with a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Details {
    /// The leases in the way.
    Collisions(Vec<Collision>),
    /// The places that look like secrets.
    Findings(Vec<SecretFound>),
    /// What would have been allowed instead.
    Allowed(Vec<String>),
    /// Nothing more.
    #[serde(untagged)]
    None {},
}

/// A place in a command that looks like a secret, described without any part of the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecretFound {
    /// The field it was found in.
    pub field: String,
    /// The kind of secret.
    pub what: &'static str,
    /// The kind of secret and its length.
    pub excerpt: String,
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

    pub(crate) fn plain(kind: RefusalKind, rule: Rule, message: String) -> Self {
        Refusal { kind, rule, message, details: Details::None {}, record: Record::Command }
    }
}

/// A sort of refusal that can be decided outside the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutsideKind {
    /// The caller may not do this, or not now.
    Denied,
    /// What it is about does not exist.
    NotFound,
    /// Somebody else holds it.
    Collision,
}

impl From<OutsideKind> for RefusalKind {
    fn from(kind: OutsideKind) -> Self {
        match kind {
            OutsideKind::Denied => RefusalKind::Denied,
            OutsideKind::NotFound => RefusalKind::NotFound,
            OutsideKind::Collision => RefusalKind::Collision,
        }
    }
}

/// `refusal.record`: records that a command of the caller was refused for a reason that the kernel
/// cannot see, such as the state of a git repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordRefusal {
    /// The command that was refused, by its name.
    pub command: Text<64>,
    /// The sort of refusal.
    pub kind: OutsideKind,
    /// The reason, in words.
    pub message: Text<2000>,
    /// The id of the rule it rests on.
    #[schemars(with = "String")]
    pub rule: Rule,
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
