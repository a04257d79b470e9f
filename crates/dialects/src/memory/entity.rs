//! Entities: the kinds of things that are remembered, by the names callers use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of thing.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Entity {
    /// A rule the project must respect.
    Constraint,
    /// What was decided.
    Decision,
    /// A known way to fail.
    Trap,
    /// A unit of work.
    Plan,
    /// Somebody holds files.
    Claim,
    /// An instruction from one agent to another.
    Handoff,
    /// A proposal that awaits review.
    Candidate,
    /// Work that was given to an agent.
    Assignment,
    /// Mail between agents.
    Message,
    /// Plans in an order.
    Sequence,
    /// Work in rounds.
    Loop,
}

impl Entity {
    /// The eight kinds of the protocol, then those of ours.
    pub const ALL: [Entity; 11] = [
        Entity::Constraint,
        Entity::Decision,
        Entity::Trap,
        Entity::Plan,
        Entity::Claim,
        Entity::Handoff,
        Entity::Candidate,
        Entity::Assignment,
        Entity::Message,
        Entity::Sequence,
        Entity::Loop,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Entity::Constraint => "constraint",
            Entity::Decision => "decision",
            Entity::Trap => "trap",
            Entity::Plan => "plan",
            Entity::Claim => "claim",
            Entity::Handoff => "handoff",
            Entity::Candidate => "candidate",
            Entity::Assignment => "assignment",
            Entity::Message => "message",
            Entity::Sequence => "sequence",
            Entity::Loop => "loop",
        }
    }

    /// What its ids begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Entity::Constraint => "cst",
            Entity::Decision => "dec",
            Entity::Trap => "trp",
            Entity::Plan => "pln",
            Entity::Claim => "clm",
            Entity::Handoff => "hnd",
            Entity::Candidate => "cnd",
            Entity::Assignment => "asgn",
            Entity::Message => "msg",
            Entity::Sequence => "seq",
            Entity::Loop => "lop",
        }
    }

    /// The entity of that name, in the singular or the plural.
    pub fn named(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        let is = |own: &Entity| text == own.name() || text.strip_suffix('s') == Some(own.name());
        Entity::ALL.into_iter().find(is).ok_or_else(|| {
            let names: Vec<&str> = Entity::ALL.iter().map(|own| own.name()).collect();
            format!("there is no entity {text:?}, only {}", names.join(", "))
        })
    }

    /// The entity whose ids begin so.
    pub fn of_id(id: &str) -> Option<Self> {
        let prefix = id.split(['_', '#']).next()?;
        Entity::ALL.into_iter().find(|own| own.prefix() == prefix)
    }

    /// The number in an id (`pln_0000002a`) or a short label (`pln#42`) of this kind.
    pub fn number(self, text: &str) -> Result<u64, String> {
        let rest = text.trim().strip_prefix(self.prefix());
        let number = rest.and_then(|rest| match rest.strip_prefix('_') {
            Some(hex) => is_hex(hex).then(|| u64::from_str_radix(hex, 16).ok())?,
            None => rest.strip_prefix('#').and_then(plain),
        });
        number.filter(|number| *number > 0).ok_or_else(|| {
            let (name, prefix) = (self.name(), self.prefix());
            format!("{text:?} is no id of a {name}; write {prefix}_0000002a or {prefix}#42")
        })
    }

    /// The id of a number.
    pub fn id(self, number: u64) -> String {
        format!("{}_{number:08x}", self.prefix())
    }

    /// What people call it.
    pub fn label(self, number: u64) -> String {
        format!("{}#{number}", self.prefix())
    }

    /// A status by the name this house knows it by. Other houses have other names for some.
    pub fn status(self, text: &str) -> String {
        let text = text.trim().to_ascii_lowercase().replace([' ', '-'], "_");
        let own = match (self, text.as_str()) {
            (Entity::Plan, "todo") | (Entity::Claim, "active" | "live") => "open",
            (Entity::Plan, "dropped") => "cancelled",
            (Entity::Candidate, "pending") => "proposed",
            (Entity::Claim, "stale") => "expired",
            _ => return text,
        };
        own.to_owned()
    }
}

fn is_hex(text: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (8..=16).contains(&text.len()) && text.bytes().all(digit)
}

fn plain(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_labels_name_the_same() {
        assert_eq!(Entity::Plan.number("pln_0000002a"), Ok(42));
        assert_eq!(Entity::Plan.number("pln#42"), Ok(42));
        assert_eq!(Entity::Plan.id(42), "pln_0000002a");
        assert_eq!(Entity::Plan.label(42), "pln#42");
        for bad in ["", "42", "pln42", "pln_2a", "pln_0000002A", "pln#-1", "pln#0", "cst#1"] {
            let error = Entity::Plan.number(bad).unwrap_err();
            assert!(error.contains("pln_0000002a or pln#42"), "{error}");
        }
        for path in ["pln_../../etc/passwd", "pln#../x", "../pln_00000001", "pln_00000001/.."] {
            assert!(Entity::Plan.number(path).is_err(), "{path}");
        }
    }

    #[test]
    fn entities_are_found_by_name_and_id() {
        for own in Entity::ALL {
            assert_eq!(Entity::named(own.name()), Ok(own));
            assert_eq!(Entity::of_id(&own.id(7)), Some(own));
            assert_eq!(Entity::of_id(&own.label(7)), Some(own));
        }
        assert_eq!(Entity::named("Plans"), Ok(Entity::Plan));
        let error = Entity::named("nope").unwrap_err();
        assert!(Entity::ALL.iter().all(|own| error.contains(own.name())), "{error}");
    }

    #[test]
    fn names_of_other_houses_mean_ours() {
        assert_eq!(Entity::Plan.status("todo"), "open");
        assert_eq!(Entity::Plan.status("In Progress"), "in_progress");
        assert_eq!(Entity::Claim.status("active"), "open");
        assert_eq!(Entity::Claim.status("stale"), "expired");
        assert_eq!(Entity::Candidate.status("pending"), "proposed");
        assert_eq!(Entity::Decision.status("pending"), "pending");
    }
}
