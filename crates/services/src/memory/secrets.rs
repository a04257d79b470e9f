//! Secrets: text is looked through before it is stored, since what is on the trail stays there. Every
//! door that takes what is remembered asks here: the verbs, and the kernel's own commands.

use althing_dialects::memory::secrets::{Finding, repeated, scan, scan_named};
use serde_json::{Map, Value, json};

use super::{Verb, Verbs};
use crate::fault::Fault;

/// What is done about text that looks like a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Secrets {
    /// It is not stored: what is on the trail stays there.
    #[default]
    Strict,
    /// It is stored, and said.
    Warn,
}

impl Secrets {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Secrets::Strict => "strict",
            Secrets::Warn => "warn",
        }
    }
}

/// What was found, each with the name of what it was found in.
type Found = Vec<(String, Finding)>;

/// Refuses what looks like a secret, or says so. No secret is repeated in the answer.
pub fn check_secrets(how: Secrets, given: &Map<String, Value>) -> Result<Vec<String>, Fault> {
    judged(how, found(given))
}

fn judged(how: Secrets, mut found: Found) -> Result<Vec<String>, Fault> {
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
    /// The same for everything a verb was given, unless it stores nothing. Who asks is stored with
    /// it, so their name counts.
    pub(super) fn check_given(&self, verb: Verb, given: &Value) -> Result<Vec<Value>, Fault> {
        let Some(given) = given.as_object().filter(|given| !verb.looks(given)) else {
            return Ok(Vec::new());
        };
        let mut found = found(given);
        let name = self.shown();
        let own = name.rsplit('/').next().unwrap_or_default();
        found.extend(scan(own).into_iter().map(|finding| ("agent".to_owned(), finding)));
        let told = judged(self.context.setup().secrets, found)?;
        Ok(told.into_iter().map(Value::from).collect())
    }
}

fn found(given: &Map<String, Value>) -> Found {
    let mut found = Found::new();
    for (name, value) in given {
        // What is said of a thing goes by its own name.
        match (name.as_str(), value) {
            ("data" | "patch" | "fields", Value::Object(own)) => {
                own.iter().for_each(|(name, value)| look_at(name, name, value, &mut found));
            }
            _ => look_at(name, name, value, &mut found),
        }
    }
    found
}

/// Looks at a name, and through what has that name.
fn look_at(name: &str, path: &str, value: &Value, found: &mut Found) {
    let names = scan(name);
    let path = if names.iter().any(Finding::is_leak) { repeated(name) } else { path.to_owned() };
    found.extend(names.into_iter().map(|finding| (path.clone(), finding)));
    look_through(name, &path, value, found);
}

fn look_through(name: &str, path: &str, value: &Value, found: &mut Found) {
    match value {
        Value::String(text) => {
            let own = scan_named(name, text).into_iter();
            found.extend(own.map(|finding| (path.to_owned(), finding)));
            // Some callers put what they give into a string first.
            if text.trim_start().starts_with(['{', '['])
                && let Ok(inner @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
            {
                look_through(name, path, &inner, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|one| look_through(name, path, one, found)),
        Value::Object(own) => {
            for (inner, value) in own {
                look_at(inner, &format!("{path}.{}", repeated(inner)), value, found);
            }
        }
        _ => {}
    }
}
