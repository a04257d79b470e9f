//! Refusals: a no that names its rule, and what the trail keeps of it.

use serde::{Deserialize, Serialize};

use crate::principal::Principal;
use crate::query::Collision;
use crate::rule::Rule;
use crate::text::Text;

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
}

/// What comes with a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Details {
    /// The leases in the way.
    Collisions(Vec<Collision>),
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
        Refusal { kind: RefusalKind::Collision, rule: Rule::NoOverlap, message, details }
    }

    fn plain(kind: RefusalKind, rule: Rule, message: String) -> Self {
        Refusal { kind, rule, message, details: Details::None {} }
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
