//! Items: records in the form of this dialect.

use althing_kernel::records::vocabulary::Origin;
use althing_kernel::records::{Kind, Record, RecordId};
use althing_kernel::{Principal, Timestamp};
use serde_json::{Map, Value, json};

use super::moment::utc;
use super::words;
use crate::frugal::haid::{Haid, agent_named, called};

/// Converts a record to an item.
pub fn item(record: &Record, now: Timestamp) -> Value {
    let kind = record.id.kind;
    let mut item = json!({
        "id": record.id.to_string(),
        "short_label": record.id.label(),
        "kind": kind,
        "status": record.status,
        "text": record.text.as_str(),
        "tags": record.tags,
        "author": called(&record.author),
        "updated_by": called(&record.updated_by),
        "created_at": utc(record.created_at),
        "updated_at": utc(record.updated_at),
        "version": record.version,
        "provenance": provenance(record),
    });
    if let Some(session) = &record.session {
        item["session_id"] = session.as_str().into();
    }
    let fields = serde_json::to_value(&record.fields).unwrap_or_default();
    if let Value::Object(fields) = fields {
        for (name, value) in fields {
            // Internal counters of the kernel, and times of states of plain records, are left out.
            if name == "task"
                || name == "steps_made"
                || (name == "stamps" && kind != Kind::Assignment)
            {
                continue;
            }
            let (name, value) = field(kind, &name, value);
            item[name] = value;
        }
    }
    if let Some(task) = record.task() {
        item["task_id"] = record.task_id().as_str().into();
        if let Some(workspace) = &task.workspace {
            item["workspace_id"] = workspace.as_str().into();
        }
    }
    if kind == Kind::Decision {
        item["outcome"] = json!(record.status);
    }
    if record.is_overdue(now) {
        item["overdue"] = true.into();
    }
    item
}

/// A field, by the name and in the form callers know.
fn field(kind: Kind, name: &str, value: Value) -> (String, Value) {
    let time = |value: &Value| value.as_u64().map(|at| utc(Timestamp::from_micros(at)));
    let shown = match name {
        "candidate_type" if kind == Kind::Candidate => "type",
        "claim" => "claim_id",
        other => other,
    };
    let value = match name {
        "claim" => {
            let claim = |number| RecordId { kind: Kind::Claim, number }.to_string();
            value.as_u64().map_or(value, |epoch| claim(epoch).into())
        }
        "stamps" => {
            let stamps = value.as_object().cloned().unwrap_or_default();
            let written =
                |(state, at): (String, Value)| (state, time(&at).unwrap_or_default().into());
            Value::Object(stamps.into_iter().map(written).collect::<Map<String, Value>>())
        }
        "dispatcher" => match value.as_str().map(|text| text.split_once(':')) {
            Some(Some((_, name))) => name.into(),
            _ => value,
        },
        at if at.ends_with("_at") => time(&value).map_or(value, Value::from),
        _ => value,
    };
    (shown.to_owned(), value)
}

/// The provenance of a record, with the entries of the trail that made it.
fn provenance(record: &Record) -> Value {
    let own = &record.provenance;
    let mut shown = json!({
        "kind": own.kind,
        "author": called(&record.author),
        "entry": record.created_seq,
        "last_entry": record.updated_seq,
    });
    for (name, door) in [("door", record.door), ("last_door", record.last_door)] {
        if let Some(door) = door {
            shown[name] = json!(door);
        }
    }
    for (name, value) in [("source", &own.source), ("detail", &own.detail)] {
        if let Some(value) = value {
            shown[name] = value.as_str().into();
        }
    }
    if let Some(percent) = own.confidence_percent {
        shown["confidence"] = (f64::from(percent) / 100.0).into();
    }
    shown
}

/// Whether a record is an imported legacy one.
pub fn is_legacy(record: &Record) -> bool {
    record.provenance.kind == Origin::Legacy
}

/// Whether a program generated it.
pub fn is_auto(record: &Record) -> bool {
    record.provenance.kind == Origin::Auto
}

/// Its confidence in percent; 100 if it says nothing.
pub fn confidence(record: &Record) -> u8 {
    record.provenance.confidence_percent.unwrap_or(100)
}

/// Whether a name means this principal.
pub fn is_called(who: &Principal, name: &str) -> bool {
    match who {
        Principal::Agent(own) => own.as_str() == kernel_name(name),
        Principal::User(own) => own.as_str() == name || who.to_string() == name,
        Principal::System => who.to_string() == name,
    }
}

/// The kernel's name of a principal: agents may be named by their HAID as well, in either form.
pub fn kernel_name(text: &str) -> String {
    let bare = text.strip_prefix("agent:").unwrap_or(text);
    agent_named(bare).unwrap_or_else(|_| bare.to_owned())
}

/// The last editor of a record, if that was not its author.
pub fn edited_by(record: &Record) -> Option<String> {
    (record.updated_by != record.author).then(|| called(&record.updated_by))
}

/// The fields of answers that name agents.
const NAMED: [&str; 11] = [
    "agent",
    "agents",
    "assignee",
    "author",
    "dispatcher",
    "from",
    "holder",
    "lanes",
    "reviewer",
    "to",
    "updated_by",
];

/// Replaces agent names in an answer by their HAIDs.
pub fn with_haids(answer: &mut Value) {
    match answer {
        Value::Array(list) => list.iter_mut().for_each(with_haids),
        Value::Object(own) => {
            for (name, value) in own {
                match value {
                    Value::String(text) if NAMED.contains(&name.as_str()) => in_haid_form(text),
                    // The detail of an effect may name an agent.
                    Value::String(text) if name == "detail" => *text = words::with_haids(text),
                    Value::Array(list) if NAMED.contains(&name.as_str()) => {
                        for one in list {
                            match one {
                                Value::String(text) => in_haid_form(text),
                                other => with_haids(other),
                            }
                        }
                    }
                    other => with_haids(other),
                }
            }
        }
        _ => {}
    }
}

fn in_haid_form(text: &mut String) {
    if let Some(haid) = Haid::of_agent(text) {
        *text = haid.to_string();
    }
}

/// The beginning of a text, in one line.
pub fn brief(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    if line.chars().count() <= chars {
        return line;
    }
    let mut short: String = line.chars().take(chars.saturating_sub(1)).collect();
    short.push('…');
    short
}
