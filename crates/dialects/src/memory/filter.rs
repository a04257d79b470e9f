//! Filters for records. All conditions must hold.

use althing_engine::screen::repeated;
use althing_kernel::Principal;
use althing_kernel::records::{Kind, RecordId, Status};
use serde::Serialize;
use serde_json::{Map, Value};

use super::entity;
use super::input::{either, stated_fields, texts};

/// Default number of items on a page.
pub const LIMIT_DEFAULT: usize = 50;
/// Most items on a page.
pub const LIMIT_MAX: usize = 500;
/// Default minimum confidence of generated records, in percent.
pub const CONFIDENCE_DEFAULT: u8 = 60;

/// The keys that every kind has.
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

/// Conditions to be stated by a caller in this process, under the names that hosts use.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Criteria {
    /// Only records in this state.
    pub status: Option<String>,
    /// Only records with any of these tags.
    pub tags: Vec<String>,
    /// Only records of this author.
    pub author: Option<String>,
    /// Only records of this plan.
    pub plan_id: Option<String>,
    /// Only records from this source.
    pub source: Option<String>,
    /// Only records given to, or held by, this agent.
    pub agent: Option<String>,
    /// Only records addressed to this one.
    pub to: Option<String>,
    /// Only plans of this assignee.
    pub assignee: Option<String>,
    /// Only claims that overlap this scope.
    pub scope: Option<String>,
    /// Whether imported legacy records count.
    #[serde(rename = "includeLegacy")]
    pub legacy: bool,
    /// Minimum confidence of generated records, from 0 to 1.
    #[serde(rename = "minAutoReflectConfidence")]
    pub confidence: Option<f64>,
    /// Number of items.
    pub limit: Option<usize>,
    /// Number of items to skip.
    pub offset: Option<usize>,
}

impl From<Criteria> for Map<String, Value> {
    fn from(stated: Criteria) -> Self {
        stated_fields(&stated)
    }
}

/// Changes the scope that conditions name.
pub fn map_scope<E>(
    stated: &mut Map<String, Value>,
    change: impl Fn(&str) -> Result<String, E>,
) -> Result<(), E> {
    if let Some(Value::String(scope)) = stated.get_mut("scope") {
        *scope = change(scope)?;
    }
    Ok(())
}

/// A parsed filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Only records in this state.
    pub status: Option<Status>,
    /// Only records with this tag.
    pub tag: Option<String>,
    /// Only records with any of these tags.
    pub tags: Vec<String>,
    /// Only records of this author.
    pub author: Option<String>,
    /// Only records of this plan.
    pub plan: Option<RecordId>,
    /// Only records from this source.
    pub source: Option<String>,
    /// Only generated records, or only others.
    pub auto_generated: Option<bool>,
    /// Only records given to, or held by, this agent.
    pub agent: Option<String>,
    /// Only records addressed to this one.
    pub to: Option<String>,
    /// Only plans of this assignee.
    pub assignee: Option<String>,
    /// Only claims that overlap this scope.
    pub scope: Option<String>,
    /// Number of items.
    pub limit: usize,
    /// Number of items to skip.
    pub offset: usize,
    /// Whether imported legacy records count.
    pub legacy: bool,
    /// Minimum confidence of generated records, in percent.
    pub confidence: u8,
}

/// The keys of one kind besides the common ones.
fn own_keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Claim => &["agent", "scope"],
        Kind::Assignment => &["agent"],
        Kind::Message => &["agent", "to"],
        Kind::Handoff => &["to"],
        Kind::Plan => &["assignee"],
        Kind::Constraint
        | Kind::Decision
        | Kind::Trap
        | Kind::Candidate
        | Kind::Sequence
        | Kind::Loop
        | Kind::Fact
        | Kind::Symbol
        | Kind::Capsule => &[],
    }
}

impl Filter {
    /// Reads a filter for a kind of record.
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
        let text = |key: &str| given.get(key).and_then(Value::as_str);
        if kind == Kind::Decision {
            let status = either(("status", text("status")), ("outcome", text("outcome")))?;
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

    /// Replaces `me` by the caller.
    pub fn of(&mut self, who: &Principal) {
        for name in [&mut self.author, &mut self.agent, &mut self.to, &mut self.assignee] {
            if name.as_deref() == Some("me") {
                *name = Some(who.to_string());
            }
        }
    }

    /// Whether a record with these tags matches.
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

/// Reads the number of items.
pub fn limit(value: &Value) -> Result<usize, String> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count
        .filter(|count| (1..=LIMIT_MAX).contains(count))
        .ok_or_else(|| format!("'limit' must be a whole number from 1 to {LIMIT_MAX}"))
}

/// Reads the number of items to skip.
pub fn offset(value: &Value) -> Result<usize, String> {
    let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| "'offset' must be a whole number".to_owned())
}

/// Reads a share from 0 to 1 as percent.
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

    /// Every condition that can be stated is one that is read.
    #[test]
    fn stated_conditions_are_read_like_those_of_hosts() {
        let text = || Some("x".to_owned());
        let common = Criteria {
            status: Some("open".to_owned()),
            tags: vec!["a".to_owned()],
            author: text(),
            plan_id: Some("pln#1".to_owned()),
            source: text(),
            legacy: true,
            confidence: Some(0.85),
            limit: Some(3),
            offset: Some(2),
            ..Criteria::default()
        };
        let of = |kind: Kind, stated: Criteria| Filter::read(kind, &stated.into()).unwrap();
        let filter = of(Kind::Plan, Criteria { assignee: text(), ..common.clone() });
        assert_eq!((filter.status, filter.tags.len()), (Some(Status::Open), 1));
        assert_eq!((filter.author, filter.source, filter.assignee), (text(), text(), text()));
        assert_eq!(filter.plan.map(|plan| plan.number), Some(1));
        assert_eq!((filter.legacy, filter.confidence), (true, 85));
        assert_eq!((filter.limit, filter.offset), (3, 2));
        let filter = of(Kind::Message, Criteria { agent: text(), to: text(), ..common.clone() });
        assert_eq!((filter.agent, filter.to), (text(), text()));
        let filter = of(Kind::Claim, Criteria { scope: text(), ..common });
        assert_eq!(filter.scope, text());
        assert_eq!(of(Kind::Plan, Criteria::default()), read(Kind::Plan, &json!({})).unwrap());
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
    fn all_conditions_of_a_filter_hold() {
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
