//! Filters: which of the things that are remembered are asked for. Conditions add up.

use althing_engine::screen::repeated;
use althing_kernel::Principal;
use althing_kernel::memory::{Kind, RecordId, Status};
use serde_json::{Map, Value};

use super::entity;
use super::input::{either, texts};

/// How many items a page has where nothing is said.
pub const LIMIT_DEFAULT: usize = 50;
/// The most items of a page.
pub const LIMIT_MAX: usize = 500;
/// How sure of itself something has to be that a program noticed by itself, in percent.
pub const CONFIDENCE_DEFAULT: u8 = 60;

/// The keys that every kind knows.
const KEYS: [&str; 11] = [
    "status",
    "tag",
    "tags",
    "author",
    "plan_id",
    "source",
    "auto_generated",
    "limit",
    "offset",
    "includeLegacy",
    "minAutoReflectConfidence",
];

/// A filter that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Only what stands so.
    pub status: Option<Status>,
    /// Only what has this tag.
    pub tag: Option<String>,
    /// Only what has any of these tags.
    pub tags: Vec<String>,
    /// Only what this one wrote.
    pub author: Option<String>,
    /// Only what belongs to this plan.
    pub plan: Option<RecordId>,
    /// Only what came from there.
    pub source: Option<String>,
    /// Only what a program noticed by itself, or only what it did not.
    pub auto_generated: Option<bool>,
    /// Only what was given to, or is held by, this agent.
    pub agent: Option<String>,
    /// Only what is addressed to this one.
    pub to: Option<String>,
    /// Only plans of this one.
    pub assignee: Option<String>,
    /// Only claims that overlap this scope.
    pub scope: Option<String>,
    /// How many items.
    pub limit: usize,
    /// How many to pass over.
    pub offset: usize,
    /// Whether what came from an older house counts.
    pub legacy: bool,
    /// How sure of itself what a program noticed has to be, in percent.
    pub confidence: u8,
}

/// The keys a kind knows beside those of all.
fn own_keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Claim => &["agent", "scope"],
        Kind::Assignment => &["agent"],
        Kind::Message => &["agent", "to"],
        Kind::Handoff => &["to"],
        Kind::Plan => &["assignee"],
        _ => &[],
    }
}

impl Filter {
    /// Reads a filter for a kind of thing.
    pub fn read(kind: Kind, given: &Map<String, Value>) -> Result<Self, String> {
        let mut filter = Filter {
            status: None,
            tag: None,
            tags: Vec::new(),
            author: None,
            plan: None,
            source: None,
            auto_generated: None,
            agent: None,
            to: None,
            assignee: None,
            scope: None,
            limit: LIMIT_DEFAULT,
            offset: 0,
            legacy: false,
            confidence: CONFIDENCE_DEFAULT,
        };
        for (key, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            filter.take(kind, key, value)?;
        }
        let said = |key: &str| given.get(key).and_then(Value::as_str);
        if kind == Kind::Decision {
            let status = either(("status", said("status")), ("outcome", said("outcome")))?;
            filter.status = status.map(|status| entity::status(kind, status)).transpose()?;
        }
        Ok(filter)
    }

    fn take(&mut self, kind: Kind, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "status" => self.status = Some(entity::status(kind, &text(key, value)?)?),
            "outcome" if kind == Kind::Decision => {
                text(key, value)?;
            }
            "tag" => self.tag = Some(text(key, value)?),
            "tags" => self.tags = texts(key, value)?,
            "author" => self.author = Some(text(key, value)?),
            "plan_id" => self.plan = Some(entity::id(Kind::Plan, &text(key, value)?)?),
            "source" => self.source = Some(text(key, value)?),
            "auto_generated" => self.auto_generated = Some(switch(key, value)?),
            "limit" => self.limit = limit(value)?,
            "offset" => self.offset = offset(value)?,
            "includeLegacy" => self.legacy = switch(key, value)?,
            "minAutoReflectConfidence" => self.confidence = percent(key, value)?,
            "agent" if own_keys(kind).contains(&key) => self.agent = Some(text(key, value)?),
            "to" if own_keys(kind).contains(&key) => self.to = Some(text(key, value)?),
            "assignee" if own_keys(kind).contains(&key) => self.assignee = Some(text(key, value)?),
            "scope" if own_keys(kind).contains(&key) => self.scope = Some(text(key, value)?),
            _ => return Err(unknown(kind, key)),
        }
        Ok(())
    }

    /// Whoever says `me` means themselves.
    pub fn of(&mut self, who: &Principal) {
        for name in [&mut self.author, &mut self.agent, &mut self.to, &mut self.assignee] {
            if name.as_deref() == Some("me") {
                *name = Some(who.to_string());
            }
        }
    }

    /// Whether something with these tags is asked for.
    pub fn has_tags(&self, own: &[&str]) -> bool {
        self.tag.as_ref().is_none_or(|tag| own.iter().any(|own| own == tag))
            && (self.tags.is_empty() || own.iter().any(|own| self.tags.iter().any(|t| t == own)))
    }
}

fn unknown(kind: Kind, key: &str) -> String {
    let keys = KEYS.iter().chain(own_keys(kind)).map(|key| format!("'{key}'"));
    let keys: Vec<String> = keys.collect();
    format!("find {kind} does not filter by '{}', only by {}", repeated(key), keys.join(", "))
}

fn text(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(format!("'{key}' must be a non-empty text")),
    }
}

fn switch(key: &str, value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("'{key}' must be true or false"))
}

/// How many items, as asked for.
pub fn limit(value: &Value) -> Result<usize, String> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count
        .filter(|count| (1..=LIMIT_MAX).contains(count))
        .ok_or_else(|| format!("'limit' must be a whole number from 1 to {LIMIT_MAX}"))
}

/// How many items to pass over, as asked for.
pub fn offset(value: &Value) -> Result<usize, String> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| "'offset' must be a whole number".to_owned())
}

/// A share from 0 to 1 as percent.
fn percent(key: &str, value: &Value) -> Result<u8, String> {
    let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share));
    let wrong = || format!("'{key}' must be a number from 0 to 1");
    let percent = share.map(|share| format!("{:.0}", share * 100.0)).ok_or_else(wrong)?;
    percent.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(kind: Kind, value: &Value) -> Result<Filter, String> {
        Filter::read(kind, value.as_object().unwrap())
    }

    #[test]
    fn unknown_keys_are_refused_with_the_known_ones() {
        for (kind, key) in [
            (Kind::Plan, "staus"),
            (Kind::Plan, "scope"),
            (Kind::Plan, "outcome"),
            (Kind::Trap, "claim_id"),
        ] {
            let error = read(kind, &json!({ key: "x" })).unwrap_err();
            assert!(KEYS.iter().all(|known| error.contains(known)), "{error}");
        }
        assert!(read(Kind::Claim, &json!({ "scope": "src" })).is_ok());
    }

    #[test]
    fn values_of_the_wrong_sort_are_named() {
        for (key, value) in [
            ("status", json!(7)),
            ("includeLegacy", json!("yes")),
            ("auto_generated", json!(1)),
            ("limit", json!(0)),
            ("limit", json!(501)),
            ("offset", json!(-1)),
            ("minAutoReflectConfidence", json!(1.5)),
            ("plan_id", json!("../x")),
        ] {
            let error = read(Kind::Plan, &json!({ key: value })).unwrap_err();
            assert!(error.contains(key) || error.contains("pln#"), "{key}: {error}");
        }
    }

    #[test]
    fn what_is_asked_for_adds_up() {
        let filter = read(Kind::Plan, &json!({ "tag": "a", "tags": "b,c" })).unwrap();
        assert!(filter.has_tags(&["a", "b"]));
        assert!(!filter.has_tags(&["a"]));
        assert!(!filter.has_tags(&["b", "c"]));
        let filter = read(Kind::Plan, &json!({ "status": "todo" })).unwrap();
        assert_eq!(filter.status, Some(Status::Open));
        let filter = read(Kind::Decision, &json!({ "outcome": "pending" })).unwrap();
        assert_eq!(filter.status, Some(Status::Pending));
        let both = json!({ "outcome": "pending", "status": "approved" });
        assert!(read(Kind::Decision, &both).is_err());
        let sure = read(Kind::Plan, &json!({ "minAutoReflectConfidence": 0.85 })).unwrap();
        assert_eq!(sure.confidence, 85);
    }
}
