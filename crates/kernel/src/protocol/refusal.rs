//! Refusals: errors that name the violated rule, and how each is recorded in the trail.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::identity::capability::Denial;
use crate::model::knowledge::records::offer::{LaneCollision, PlanTaken};
use crate::model::leasing::view::Collision;
use crate::model::runs::admission::Standing;
use crate::model::runs::approvals::inject::Injection;
use crate::model::runs::workspace::create;
use crate::model::runs::{checkpoint, envelope, integrity};
use crate::registry::rule::Rule;
use crate::values::principal::Principal;
use crate::values::text::Text;

/// The kind of a refusal; callers get it as an exit code or a status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The caller may not do this, or not now.
    Denied,
    /// The object does not exist.
    NotFound,
    /// Another principal holds it.
    Collision,
    /// The caller could not be authenticated.
    NotAuthentic,
    /// An integrity check failed.
    Integrity,
}

/// The error of a command that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The kind.
    pub kind: RefusalKind,
    /// The rule that was violated.
    pub rule: Rule,
    /// The explanation, in words.
    pub message: String,
    /// Further details for the caller.
    pub details: Details,
    /// How it is recorded in the trail.
    #[serde(skip)]
    pub(crate) record: Record,
}

/// How a refusal is recorded: as `command.refused`, or as the specific event that the protocol's
/// registry has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Command,
    /// As `command.refused`, for the named command, whose refusal was decided outside the kernel.
    Named(Text<64>),
    Envelope(Box<envelope::Rejected>),
    Checkpoint(Box<checkpoint::Rejected>),
    Injection(Box<Injection>),
    Workspace(create::RejectReason),
    Capability(Box<Denial>),
    Capacity(Vec<Standing>),
    /// As `command.refused`, plus an entry about the integrity violation.
    Violation(Box<integrity::IntegrityViolation>),
}

/// Details of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Details {
    /// The colliding leases.
    Collisions(Vec<Collision>),
    /// The lanes of one offer that overlap.
    Lanes(Vec<LaneCollision>),
    /// The reason why a plan cannot be given to anybody.
    Plan(PlanTaken),
    /// The places that look like secrets.
    Findings(Vec<SecretFound>),
    /// The values or transitions that would have been allowed.
    Allowed(Vec<String>),
    /// No details.
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
    /// A refusal because the caller lacks permission or the state does not allow it.
    pub fn denied(rule: Rule, message: impl Into<String>) -> Self {
        Refusal::plain(RefusalKind::Denied, rule, message.into())
    }

    /// A refusal because the object does not exist.
    pub fn not_found(rule: Rule, message: impl Into<String>) -> Self {
        Refusal::plain(RefusalKind::NotFound, rule, message.into())
    }

    /// A refusal of the given kind.
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

    /// A refusal because a plan has ended, or somebody has it.
    pub(crate) fn taken(message: String, taken: PlanTaken) -> Self {
        let refusal = Refusal::denied(Rule::PlanTaken, message);
        Refusal { details: Details::Plan(taken), ..refusal }
    }

    /// Adds the values or transitions that would have been allowed.
    #[must_use]
    pub(crate) fn allowing(self, allowed: impl IntoIterator<Item = String>) -> Self {
        Refusal { details: Details::Allowed(allowed.into_iter().collect()), ..self }
    }

    /// Changes how it is recorded.
    #[must_use]
    pub(crate) fn recorded(self, record: Record) -> Self {
        Refusal { record, ..self }
    }

    pub(crate) fn plain(kind: RefusalKind, rule: Rule, message: String) -> Self {
        Refusal { kind, rule, message, details: Details::None {}, record: Record::Command }
    }
}

/// The kind of a refusal decided outside the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutsideKind {
    /// The caller may not do this, or not now.
    Denied,
    /// The object does not exist.
    NotFound,
    /// Another principal holds it.
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
    /// The id of the violated rule.
    #[schemars(with = "String")]
    pub rule: Rule,
}

/// `command.refused`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The command that was refused.
    pub command: Text<64>,
    /// The kind.
    pub kind: RefusalKind,
    /// The explanation, in words.
    pub message: Text<2000>,
    /// The rule that was violated.
    pub rule: Rule,
}

/// `authentication_failed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuthenticationFailed {
    /// The command that was attempted.
    pub context: Text<64>,
    /// The identity that was claimed.
    pub entity: Principal,
    /// The reason why authentication failed.
    pub reason: Text<2000>,
    /// The key that the caller presented.
    pub source: Text<128>,
}
