//! Data of records that callers create or change, translated to the kernel's arguments.

use althing_engine::screen::{masked, repeated};
use althing_kernel::Surface;
use althing_kernel::blackboard::Label;
use althing_kernel::records::create::Create;
use althing_kernel::records::field::Few;
use althing_kernel::records::record::{Body, Provenance, Tags};
use althing_kernel::records::update::Update;
use althing_kernel::records::{Fields, Kind, RecordId, Status};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::entity;
use super::form::{self, ParseError};
use super::input::{effort, either, object, stated_fields, texts};
use super::item::kernel_name;
use super::moment;

/// Fields that only Althing sets.
const OWN: [&str; 9] = [
    "id",
    "kind",
    "short_label",
    "created_at",
    "updated_at",
    "version",
    "session_id",
    "author_id",
    "project_id",
];

/// Fields that every kind has.
const COMMON: [&str; 3] = ["text", "tags", "provenance"];

/// Fields that people write without naming them, to be stated by a caller in this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The text.
    pub text: Option<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// The paths it is about.
    pub related_paths: Vec<String>,
}

impl From<Written> for Map<String, Value> {
    fn from(written: Written) -> Self {
        stated_fields(&written)
    }
}

/// Changes the paths that the data of a record lists.
pub fn map_paths<E>(
    data: &mut Map<String, Value>,
    change: impl Fn(&str) -> Result<String, E>,
) -> Result<(), E> {
    let paths = data.get_mut("related_paths").and_then(Value::as_array_mut);
    for path in paths.into_iter().flatten() {
        if let Value::String(text) = path {
            *text = change(text)?;
        }
    }
    Ok(())
}

/// A record to create, with the author the caller named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The command, without a request id.
    pub command: Create,
    /// The named author.
    pub author: Option<String>,
    /// The state to set after creation, if the kernel does not allow it as the first.
    pub then: Option<Status>,
}

/// Reads the data of a new record.
pub fn creation(kind: Kind, data: &Map<String, Value>) -> Result<Creation, String> {
    let data = renamed(kind, data)?;
    let Some(Value::String(given)) = data.get("text").filter(|text| !is_blank(text)) else {
        return Err(format!("{} {kind} requires a non-empty 'text'", kind.article()));
    };
    let mut command = Create::plain(kind, text(given)?);
    let mut fields = Map::new();
    let (mut author, mut then) = (None, None);
    for (name, value) in data.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "text" => {}
            "tags" => command.tags = tags(value)?,
            "provenance" => command.provenance = Some(provenance(value)?),
            "author" => author = value.as_str().map(str::to_owned),
            "status" => {
                let status = entity::status(kind, value.as_str().unwrap_or_default())?;
                let table = kind.table();
                if table.initial.contains(&status) {
                    let label = Label::new(status.as_str());
                    command.status = Some(label.map_err(|error| error.to_string())?);
                } else if table.initial.iter().any(|first| table.has_step(*first, status)) {
                    then = Some(status);
                } else {
                    return Err(format!("{} {kind} does not begin as {status}", kind.article()));
                }
            }
            _ => {
                check_name(kind, name, kind.table().fields, "")?;
                fields.insert(name.clone(), field(kind, name, value)?);
            }
        }
    }
    for name in kind.table().required {
        if !fields.contains_key(*name) {
            let name = shown(kind, name);
            return Err(format!("{} {kind} requires '{name}'", kind.article()));
        }
    }
    command.fields = read_fields(fields)?;
    Ok(Creation { command, author, then })
}

/// Reads a change of a record. The command has neither an expected version nor a request id.
pub fn change(id: RecordId, patch: &Map<String, Value>) -> Result<Update, String> {
    let kind = id.kind;
    if patch.is_empty() {
        return Err("nothing is to be changed: name a field in 'patch'".to_owned());
    }
    if let Some(name) = ["status", "outcome"].iter().find(|name| patch.contains_key(**name)) {
        return Err(format!("'{name}' is not changed by update; use bclaw_transition"));
    }
    let patch = renamed(kind, patch)?;
    let (mut new_text, mut new_tags) = (None, None);
    let mut fields = Map::new();
    let mut clear: Vec<Label> = Vec::new();
    for (name, value) in &patch {
        match name.as_str() {
            "text" => match value {
                Value::String(given) if !is_blank(value) => new_text = Some(text(given)?),
                _ => return Err("'text' must be a non-empty text".to_owned()),
            },
            "tags" => new_tags = Some(tags(value)?),
            _ => {
                check_name(kind, name, kind.table().updatable, " later")?;
                if value.is_null() {
                    clear.push(Label::new(name).map_err(|error| format!("'{name}': {error}"))?);
                } else {
                    fields.insert(name.clone(), field(kind, name, value)?);
                }
            }
        }
    }
    Ok(Update {
        clear: Few::new(clear)?,
        expected_version: None,
        fields: read_fields(fields)?,
        id,
        request_id: None,
        tags: new_tags,
        text: new_text,
    })
}

fn text(given: &str) -> Result<Body, String> {
    Body::new(given).map_err(|error| format!("'text': {error}"))
}

fn tags(value: &Value) -> Result<Tags, String> {
    let list: Value = texts("tags", value)?.into();
    serde_json::from_value(list)
        .map_err(|error| ParseError::read(&error.to_string()).about("tags", "a list of texts"))
}

/// Reads fields that were checked one by one.
fn read_fields(fields: Map<String, Value>) -> Result<Fields, String> {
    serde_json::from_value(Value::Object(fields)).map_err(|error| masked(&error.to_string()))
}

fn is_blank(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.trim().is_empty())
}

/// Replaces alternative field names by the kernel's.
fn renamed(kind: Kind, data: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut own = Map::new();
    for (name, value) in data {
        let name = match (kind, name.as_str()) {
            (Kind::Candidate, "type") => "candidate_type",
            (Kind::Loop, "type" | "kind") => "loop_kind",
            (Kind::Assignment | Kind::Loop | Kind::Sequence, "description") => "text",
            (Kind::Assignment, "claim_id") => "claim",
            (Kind::Decision, "outcome") => "status",
            // Any other kind has this one alternative name.
            (_, "planId") => "plan_id",
            // Any other name is the kernel's.
            (_, other) => other,
        };
        if let Some(before) = own.insert(name.to_owned(), value.clone()) {
            let (one, other) = (before.as_str(), value.as_str());
            either((name, one), ("its other name", other))?;
        }
    }
    Ok(own)
}

/// The callers' name of a field.
fn shown(kind: Kind, name: &str) -> &str {
    match (kind, name) {
        (Kind::Candidate, "candidate_type") => "type",
        (Kind::Assignment, "claim") => "claim_id",
        // Any other field has the kernel's name.
        _ => name,
    }
}

fn check_name(kind: Kind, name: &str, allowed: &[&str], when: &str) -> Result<(), String> {
    if allowed.contains(&name) {
        return Ok(());
    }
    let names: Vec<&str> =
        COMMON.iter().chain(allowed).map(|allowed| shown(kind, allowed)).collect();
    let (names, one) = (names.join(", "), format!("{} {kind}", kind.article()));
    if OWN.contains(&name) {
        return Err(format!("'{name}' is set by Althing and by nobody else; {one} takes {names}"));
    }
    if Fields::NAMES.contains(&name) && !when.is_empty() {
        return Err(format!("'{name}' of {one} is not changed{when}, only {names}"));
    }
    Err(format!("{one} has no field '{}' to be set, only {names}", repeated(name)))
}

/// Translates a field. Fails, naming the field, if the kernel would not accept it.
fn field(kind: Kind, name: &str, value: &Value) -> Result<Value, String> {
    let value = translated(name, value)?;
    let alone: Map<String, Value> = [(name.to_owned(), value.clone())].into_iter().collect();
    let read: Result<Fields, _> = serde_json::from_value(Value::Object(alone));
    read.map_err(|error| {
        let takes = form::words(&schema()["properties"][name]);
        ParseError::read(&error.to_string()).about(shown(kind, name), &takes)
    })?;
    Ok(value)
}

/// The schema of the fields of records.
fn schema() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Fields>().to_value()
}

fn translated(name: &str, value: &Value) -> Result<Value, String> {
    let text = || value.as_str().unwrap_or_default();
    Ok(match name {
        "estimated_effort" | "actual_effort" => effort(name, value)?.into(),
        "expires_at" | "verified_at" => time(name, value)?,
        "related_paths" => paths(name, value)?,
        "depends_on" => texts(name, value)?.into(),
        "steps" => steps(value)?,
        "claim" if value.is_string() => entity::id(Kind::Claim, text())?.number.into(),
        "plan_id" => entity::id(Kind::Plan, text())?.to_string().into(),
        "supersedes" | "merged_into" | "assignment_id" | "message_id" => record(name, text())?,
        "agent" | "assignee" | "from" | "to" if value.is_string() => kernel_name(text()).into(),
        "contract" => Value::Object(object(name, value)?),
        "review" => Value::Object(with_names(object(name, value)?)),
        "slots" => listed(name, value)?.into(),
        _ => value.clone(),
    })
}

fn record(name: &str, text: &str) -> Result<Value, String> {
    let id: Result<RecordId, _> = text.parse();
    id.map(|id| id.to_string().into()).map_err(|error| format!("'{name}': {error}"))
}

fn time(name: &str, value: &Value) -> Result<Value, String> {
    let read = value.as_u64().or_else(|| Some(moment::read(value.as_str()?)?.micros()));
    read.map(Value::from).ok_or_else(|| {
        format!("'{name}' must be a time such as 2026-06-11 or 2026-06-11T12:07:27Z")
    })
}

/// Paths inside the project. Fails for paths that lead out of it.
fn paths(name: &str, value: &Value) -> Result<Value, String> {
    let read = |text: String| match Surface::new(&text) {
        Ok(surface) => Ok(surface.as_str().to_owned()),
        Err(error) => Err(format!(
            "'{name}': {error}; write a path below the project's root, such as src/a.rs"
        )),
    };
    let list: Result<Vec<String>, String> = texts(name, value)?.into_iter().map(read).collect();
    Ok(list?.into())
}

/// Steps: objects with a text, or plain texts.
fn steps(value: &Value) -> Result<Value, String> {
    let wrong = || "'steps' must be a list of texts or of {text, status, assignee}".to_owned();
    let list = match value {
        Value::Array(list) => list.clone(),
        Value::String(text) => serde_json::from_str(text).map_err(|_| wrong())?,
        _ => return Err(wrong()),
    };
    let step = |step: Value| match step {
        Value::String(text) => Ok(json!({ "text": text })),
        Value::Object(own) => Ok(Value::Object(with_names(own))),
        _ => Err(wrong()),
    };
    let list: Result<Vec<Value>, String> = list.into_iter().map(step).collect();
    Ok(list?.into())
}

/// A list of objects, with the kernel's field names.
fn listed(name: &str, value: &Value) -> Result<Vec<Value>, String> {
    let wrong = || format!("'{name}' must be a list of objects");
    let list = value.as_array().ok_or_else(wrong)?;
    let each = |one: &Value| match one {
        Value::Object(own) => Ok(Value::Object(with_names(own.clone()))),
        _ => Err(wrong()),
    };
    list.iter().map(each).collect()
}

/// Replaces the names of agents by the kernel's.
fn with_names(mut own: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in &mut own {
        if let ("agent" | "assignee" | "reviewer", Some(text)) = (name.as_str(), value.as_str()) {
            *value = kernel_name(text).into();
        }
    }
    own
}

/// The provenance of a record, from its own or another format.
fn provenance(value: &Value) -> Result<Provenance, String> {
    let given = object("provenance", value)?;
    let kind = given.get("kind").and_then(Value::as_str).unwrap_or("agent");
    let (kind, detail) = match kind {
        "agent" | "human" | "auto" | "legacy" => (kind, None),
        "user" => ("human", None),
        "auto_reflect" => ("auto", Some(kind)),
        "loop_artifact" | "federation" | "correction" => ("agent", Some(kind)),
        other => {
            let message = "'provenance' has kind agent, human, auto or legacy";
            return Err(format!("{message}, not {other:?}"));
        }
    };
    let mut own = json!({ "kind": kind });
    for name in ["source", "detail"] {
        if let Some(text) = given.get(name).and_then(Value::as_str) {
            own[name] = text.into();
        }
    }
    if let (Some(detail), None) = (detail, own.get("detail")) {
        own["detail"] = detail.into();
    }
    if let Some(sure) = given.get("confidence") {
        let share = sure.as_f64().filter(|share| (0.0..=1.0).contains(share));
        let percent = share.and_then(|share| format!("{:.0}", share * 100.0).parse::<u8>().ok());
        own["confidence_percent"] =
            percent.ok_or("'confidence' must be a number from 0 to 1")?.into();
    }
    serde_json::from_value(own)
        .map_err(|error| format!("'provenance': {}", masked(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_kernel::records::vocabulary::CandidateType;

    fn create(kind: Kind, data: &Value) -> Result<Creation, String> {
        creation(kind, data.as_object().unwrap())
    }

    fn update(kind: Kind, patch: &Value) -> Result<Update, String> {
        change(RecordId { kind, number: 1 }, patch.as_object().unwrap())
    }

    /// The arguments of a command, as a caller of the kernel would write them.
    fn args(command: &impl serde::Serialize) -> Value {
        serde_json::to_value(command).unwrap()
    }

    /// Every field that can be stated is one that is read.
    #[test]
    fn written_fields_are_read_like_those_of_hosts() {
        let (tags, related_paths) = (vec!["a".to_owned()], vec!["src/b.rs".to_owned()]);
        let written = Written { text: Some("t".to_owned()), tags, related_paths };
        let mut data = Map::from(written);
        map_paths(&mut data, |path| Ok::<String, ()>(format!("sub/{path}"))).unwrap();
        let made = args(&creation(Kind::Trap, &data).unwrap().command);
        assert_eq!((&made["text"], &made["tags"]), (&json!("t"), &json!(["a"])));
        assert_eq!(made["fields"]["related_paths"], json!(["sub/src/b.rs"]));
        assert_eq!(Map::from(Written::default()), Map::new());
    }

    #[test]
    fn alternative_field_names_are_understood() {
        let made = create(
            Kind::Plan,
            &json!({
                "text": "t", "tags": "a, b", "estimated_effort": "2h", "steps": ["one"],
                "depends_on": "pln#1", "related_paths": ["./src/a.rs"],
            }),
        );
        let made = args(&made.unwrap().command);
        assert_eq!(made["tags"], json!(["a", "b"]));
        assert_eq!(made["fields"]["estimated_effort"], 120);
        assert_eq!(made["fields"]["steps"], json!([{ "status": "todo", "text": "one" }]));
        assert_eq!(made["fields"]["related_paths"], json!(["src/a.rs"]));
        let made = create(Kind::Candidate, &json!({ "text": "t", "type": "trap" })).unwrap();
        assert_eq!(made.command.fields.candidate_type, Some(CandidateType::Trap));
        let made = create(Kind::Decision, &json!({ "text": "t", "outcome": "approved" })).unwrap();
        assert_eq!(made.then, Some(Status::Approved));
        let origin = json!({ "kind": "auto_reflect", "confidence": 0.4 });
        let made = create(Kind::Trap, &json!({ "text": "t", "provenance": origin })).unwrap();
        let expected =
            json!({ "kind": "auto", "detail": "auto_reflect", "confidence_percent": 40 });
        assert_eq!(args(&made.command)["provenance"], expected);
    }

    #[test]
    fn errors_name_the_field() {
        for (kind, data, word) in [
            (Kind::Plan, json!({}), "'text'"),
            (Kind::Plan, json!({ "text": " " }), "'text'"),
            (Kind::Plan, json!({ "text": "t", "id": "pln#1" }), "'id'"),
            (Kind::Plan, json!({ "text": "t", "title": "x" }), "'title'"),
            (Kind::Plan, json!({ "text": "t", "severity": "low" }), "'severity'"),
            (Kind::Plan, json!({ "text": "t", "estimated_effort": "soon" }), "estimated_effort"),
            (Kind::Plan, json!({ "text": "t", "related_paths": ["../x"] }), "below the project"),
            (Kind::Plan, json!({ "text": "t", "related_paths": ["/etc/passwd"] }), "such as src"),
            (Kind::Plan, json!({ "text": "t", "status": "finished" }), "finished"),
            (Kind::Plan, json!({ "text": "t", "priority": "huge" }), "'priority'"),
            (Kind::Plan, json!({ "text": "t", "tags": ["x".repeat(500)] }), "'tags'"),
            (Kind::Plan, json!({ "text": "t".repeat(20_000) }), "'text'"),
            (Kind::Candidate, json!({ "text": "t" }), "'type'"),
            (Kind::Candidate, json!({ "text": "t", "type": "plan" }), "'type'"),
            (Kind::Assignment, json!({ "text": "t" }), "'agent'"),
            (Kind::Trap, json!({ "text": "t", "provenance": { "kind": "x" } }), "legacy"),
            (Kind::Trap, json!({ "text": "t", "expires_at": "soon" }), "expires_at"),
        ] {
            let error = create(kind, &data).unwrap_err();
            assert!(error.contains(word), "{data}: {error}");
        }
    }

    #[test]
    fn changes_name_what_can_be_changed() {
        let made = update(Kind::Plan, &json!({ "text": "t", "assignee": null, "priority": "low" }));
        let expected = json!({
            "id": "pln_00000001", "text": "t", "clear": ["assignee"],
            "fields": { "priority": "low" },
        });
        assert_eq!(args(&made.unwrap()), expected);
        let error = update(Kind::Plan, &json!({ "status": "done" })).unwrap_err();
        assert!(error.contains("transition"), "{error}");
        for name in ["id", "created_at", "nonsense", "diff"] {
            let error = update(Kind::Plan, &json!({ name: "x" })).unwrap_err();
            assert!(error.contains(&format!("'{name}'")), "{error}");
            assert!(error.contains("priority"), "{error}");
        }
        assert!(update(Kind::Plan, &json!({})).is_err());
    }
}
