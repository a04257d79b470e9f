//! Secrets: text is looked through before it is stored, since what is on the trail stays there. Every
//! door that takes what is remembered asks here: the verbs, and the kernel's own commands.

use althing_dialects::memory::secrets::{Finding, scan};
use serde_json::{Map, Value, json};

use super::seat::Secrets;
use super::{Verb, Verbs};
use crate::fault::Fault;

/// Refuses what looks like a secret, or says so. No secret is repeated in the answer.
pub fn check_secrets(how: Secrets, given: &Map<String, Value>) -> Result<Vec<String>, Fault> {
    let mut found: Vec<(String, Finding)> = Vec::new();
    for (name, value) in given {
        // What is said of a thing goes by its own name.
        match (name.as_str(), value) {
            ("data" | "patch" | "fields", Value::Object(own)) => {
                own.iter().for_each(|(name, value)| look_through(name, value, &mut found));
            }
            _ => look_through(name, value, &mut found),
        }
    }
    found.retain(|(_, finding)| finding.is_leak());
    let told = |(field, finding): &(String, Finding)| {
        let Finding { what, excerpt, .. } = finding;
        json!({ "field": field, "what": what, "excerpt": excerpt })
    };
    let Some((field, first)) = found.first() else { return Ok(Vec::new()) };
    let details: Vec<Value> = found.iter().map(told).collect();
    let message = format!("'{field}' seems to hold a secret: {}", first.excerpt);
    match how {
        Secrets::Strict => {
            let way = "take it out; what is stored once stays on the trail";
            let fault = Fault::usage(format!("{message}; {way}"));
            Err(fault.with(json!({ "findings": details })))
        }
        Secrets::Warn => Ok(vec![message]),
    }
}

impl Verbs<'_> {
    /// The same for everything a verb was given, unless it stores nothing.
    pub(super) fn check_given(&self, verb: Verb, given: &Value) -> Result<Vec<Value>, Fault> {
        let Some(given) = given.as_object().filter(|given| !verb.looks(given)) else {
            return Ok(Vec::new());
        };
        let told = check_secrets(self.seat.secrets(), given)?;
        Ok(told.into_iter().map(Value::from).collect())
    }
}

fn look_through(name: &str, value: &Value, found: &mut Vec<(String, Finding)>) {
    match value {
        Value::String(text) => {
            found.extend(scan(text).into_iter().map(|finding| (name.to_owned(), finding)));
            // Some callers put what they give into a string first.
            if text.trim_start().starts_with(['{', '['])
                && let Ok(inner @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
            {
                look_through(name, &inner, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|one| look_through(name, one, found)),
        Value::Object(own) => {
            for (inner, value) in own {
                look_through(&format!("{name}.{inner}"), value, found);
            }
        }
        _ => {}
    }
}
