//! The text of a command that is looked through: every string of its arguments, and stored text
//! that it names.
//!
//! Files are left out: their content is the work itself, lies beside the trail and not in it, and
//! may well hold an example of a key. Their paths are looked at like everything else.

use althing_kernel::command::Args;
use althing_kernel::refusal::{Details, SecretFound};
use althing_kernel::{Blob, Command, Principal, Refusal, Rule};
use serde_json::{Map, Value};

use super::{FINDINGS_MAX, Finding, Screening, repeated, scan, scan_named};
use crate::blobs::Blobs;
use crate::error::EngineError;

/// The largest stored content that is looked through, in bytes.
pub const CONTENT_BYTES_MAX: u64 = 1 << 20;

/// Lists of files in the arguments of commands; `content` in them is not looked at.
const FILES: &[&str] = &["artifacts", "files_changed", "merged"];

/// Finds secrets in a command.
pub(crate) fn command(command: &Command, blobs: &Blobs) -> Result<Vec<SecretFound>, EngineError> {
    let args = serde_json::to_value(Args(command))
        .map_err(|error| EngineError::Defect(error.to_string()))?;
    let mut look = Look { blobs, quoted: false, found: Vec::new() };
    let Value::Object(mut args) = args else { return Ok(look.found) };
    if matches!(command, Command::WorkspaceWrite(_)) {
        args.remove("content");
    }
    look.at_arguments(&args);
    look.found.truncate(FINDINGS_MAX);
    Ok(look.found)
}

/// Finds secrets in one text that was given under this name.
pub(crate) fn text(field: &str, text: &str, blobs: &Blobs) -> Vec<SecretFound> {
    let mut look = Look { blobs, quoted: false, found: Vec::new() };
    look.through_text(field, field, text);
    look.found.truncate(FINDINGS_MAX);
    look.found
}

/// Finds a secret in the name of a caller whom the trail does not know yet.
pub(crate) fn name(name: &str) -> Vec<SecretFound> {
    let own = name.rsplit('/').next().unwrap_or_default();
    leaks("agent", scan(own)).collect()
}

/// Refuses text of a command that the runtime issues by itself on somebody's word. There is nobody
/// to record the refusal of.
pub(crate) fn check(screening: Screening, field: &str, text: &str) -> Result<(), EngineError> {
    let found: Vec<SecretFound> = leaks(field, scan_named(field, text)).collect();
    let Some(first) = found.first().filter(|_| screening == Screening::Strict) else {
        return Ok(());
    };
    let mut refusal = Refusal::denied(Rule::NoSecrets, describe(first));
    refusal.details = Details::Findings(found);
    Err(refusal.into())
}

/// A finding in words.
pub(crate) fn describe(found: &SecretFound) -> String {
    format!("'{}' seems to hold a secret: {}", found.field, found.excerpt)
}

/// Whether the name of a caller looks like a secret, so that nothing is recorded of it.
pub(crate) fn is_leaking_name(caller: &Principal) -> bool {
    match caller {
        Principal::Agent(own) => !name(own.as_str()).is_empty(),
        Principal::User(own) => !name(own.as_str()).is_empty(),
        Principal::System => false,
    }
}

fn leaks(field: &str, found: Vec<Finding>) -> impl Iterator<Item = SecretFound> {
    let leaks = found.into_iter().filter(Finding::is_leak);
    leaks.map(move |Finding { what, excerpt, .. }| SecretFound {
        field: field.to_owned(),
        what,
        excerpt,
    })
}

struct Look<'a> {
    blobs: &'a Blobs,
    /// Whether the value that is looked through stands in a string; it names no content then.
    quoted: bool,
    found: Vec<SecretFound>,
}

impl Look<'_> {
    fn at_arguments(&mut self, args: &Map<String, Value>) {
        for (name, value) in args {
            // A fact has the name it is given, and the fields of a record have their own.
            match (name.as_str(), value) {
                ("value", Value::String(text)) => {
                    let key = args.get("key").and_then(Value::as_str).unwrap_or(name);
                    self.through_text(key, name, text);
                }
                ("fields", Value::Object(own)) => {
                    own.iter().for_each(|(name, value)| self.at_named(name, name, value));
                }
                _ => self.at_named(name, name, value),
            }
        }
    }

    /// Looks at a name, and through the value that has it.
    fn at_named(&mut self, name: &str, path: &str, value: &Value) {
        let names = scan(name);
        let is_leak = names.iter().any(Finding::is_leak);
        let path = if is_leak { repeated(name) } else { path.to_owned() };
        self.found.extend(leaks(&path, names));
        match value {
            Value::Array(files) if FILES.contains(&name) => {
                for file in files.iter().filter_map(Value::as_object) {
                    let rest = file.iter().filter(|(own, _)| *own != "content");
                    rest.for_each(|(own, value)| {
                        self.at_named(own, &format!("{path}.{own}"), value);
                    });
                }
            }
            _ => self.through(name, &path, value),
        }
    }

    fn through(&mut self, name: &str, path: &str, value: &Value) {
        match value {
            Value::String(text) => self.through_text(name, path, text),
            Value::Array(list) => list.iter().for_each(|one| self.through(name, path, one)),
            Value::Object(own) => {
                if let Some(text) = self.stored(own) {
                    self.through_text(name, path, &text);
                    return;
                }
                for (inner, value) in own {
                    self.at_named(inner, &format!("{path}.{}", repeated(inner)), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn through_text(&mut self, name: &str, path: &str, text: &str) {
        self.found.extend(leaks(path, scan_named(name, text)));
        // Some callers put what they give into a string first.
        if text.trim_start().starts_with(['{', '['])
            && let Ok(inner @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
        {
            let quoted = std::mem::replace(&mut self.quoted, true);
            self.through(name, path, &inner);
            self.quoted = quoted;
        }
    }

    /// The text that an argument names, if it is content of a size that is looked through. Content
    /// that is missing or damaged is reported where it is used.
    fn stored(&self, argument: &Map<String, Value>) -> Option<String> {
        let Some(Value::String(named)) = argument.get("blob").filter(|_| !self.quoted) else {
            return None;
        };
        let blob: Blob = named.parse().ok()?;
        let size = self.blobs.path(&blob).metadata().ok()?.len();
        let content = (size <= CONTENT_BYTES_MAX).then(|| self.blobs.get(&blob).ok()).flatten()?;
        String::from_utf8(content).ok()
    }
}
