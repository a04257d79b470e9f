//! The validator: every requirement of the schema, with one sentence per fault.

use serde::Serialize;
use serde_json::{Map, Value};

use super::shape::{Field, shown};
use super::{Body, COMMON, Message, SHAPES};

/// Largest message, in bytes. Messages refer to content; they do not carry it.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Result of validating a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether the message is valid.
    pub valid: bool,
    /// Its faults.
    pub errors: Vec<String>,
}

impl Report {
    /// The report of some faults.
    pub fn of(errors: Vec<String>) -> Self {
        Report { valid: errors.is_empty(), errors }
    }

    /// The faults as JSON on one line.
    pub fn errors_json(&self) -> String {
        serde_json::to_string(&self.errors).unwrap_or_default()
    }

    /// The report as JSON on one line.
    pub fn line(&self) -> String {
        format!("{{\"valid\":{},\"errors\":{}}}", self.valid, self.errors_json())
    }
}

/// Parses a message and validates it.
pub fn report(text: &[u8]) -> (Report, Option<Value>) {
    if text.len() > MESSAGE_BYTES_MAX {
        let fault = format!("message is longer than {MESSAGE_BYTES_MAX} bytes");
        return (Report::of(vec![fault]), None);
    }
    match serde_json::from_slice::<Value>(text) {
        Ok(value) => (Report::of(check(&value)), Some(value)),
        Err(_) => (Report::of(vec!["unparseable JSON".to_owned()]), None),
    }
}

/// All faults of a message.
pub fn check(message: &Value) -> Vec<String> {
    let Some(fields) = message.as_object() else {
        return vec!["message must be a JSON object".to_owned()];
    };
    let mut faults = Vec::new();
    if !fields.contains_key("type") {
        faults.push("missing required field: type".to_owned());
    }
    faults.extend(missing(fields, COMMON).map(|name| format!("missing required field: {name}")));
    let shape = fields.get("type").map(|word| {
        let known = SHAPES.iter().find(|(own, _)| word.as_str() == Some(own));
        known.ok_or_else(|| format!("type not in enum: {}", shown(word)))
    });
    if let Some(Err(fault)) = &shape {
        faults.push(fault.clone());
    }
    faults.extend(wrong(fields, COMMON));
    if let Some(Ok((word, own))) = shape {
        let lacks = missing(fields, own);
        faults.extend(lacks.map(|name| format!("{word}: missing required field: {name}")));
        faults.extend(wrong(fields, own).map(|fault| format!("{word}: {fault}")));
    }
    faults
}

fn missing(given: &Map<String, Value>, fields: &[Field]) -> impl Iterator<Item = &'static str> {
    let lacks = |field: &&Field| field.required && !given.contains_key(field.name);
    fields.iter().filter(lacks).map(|field| field.name)
}

fn wrong(given: &Map<String, Value>, fields: &[Field]) -> impl Iterator<Item = String> {
    fields.iter().filter_map(|field| {
        let fault = field.sort.fault(given.get(field.name)?)?;
        Some(format!("{} {fault}", field.name))
    })
}

/// Reads a message, or returns all its faults.
pub fn read(text: &[u8]) -> Result<Message, Vec<String>> {
    let (report, value) = report(text);
    let Some(mut value) = value.filter(|_| report.valid) else { return Err(report.errors) };
    // Where null is allowed, it means the same as leaving the field out.
    let text = |value: &mut Value, name: &str| match value.get_mut(name).map(Value::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let common = (text(&mut value, "from"), text(&mut value, "msg_id"));
    let (reply_to, ts) = (text(&mut value, "reply_to"), text(&mut value, "ts"));
    let word = text(&mut value, "type").unwrap_or_default();
    let defect = || vec!["a valid message that cannot be read".to_owned()];
    let (Some(from), Some(msg_id)) = common else { return Err(defect()) };
    let from = super::NonEmpty::new(from).ok_or_else(defect)?;
    let msg_id = super::NonEmpty::new(msg_id).ok_or_else(defect)?;
    let body = Body::read(&word, value).ok_or_else(defect)?;
    Ok(Message { from, msg_id, reply_to, ts, body })
}
