//! The text of a command that is looked through: every string of its arguments, and stored text
//! that it names.
//!
//! Files are left out: their content is the work itself, lies beside the trail and not in it, and
//! may well hold an example of a key. Their paths are looked at like everything else.

use althing_kernel::refusal::{Details, SecretFound};
use althing_kernel::{Blob, Command, Principal, Refusal, Rule};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{FINDINGS_MAX, Finding, Screening, repeated, scan_leaks, scan_named};
use crate::error::EngineError;
use crate::store::blobs::Blobs;

/// The largest stored content that is looked through, in bytes.
pub const CONTENT_BYTES_MAX: u64 = 1 << 20;

/// Lists of files in the arguments of commands; `content` in them is not looked at.
const FILES: &[&str] = &["artifacts", "files_changed", "merged"];

/// Finds secrets in a command. `args` are its arguments as JSON.
pub(crate) fn command(
    command: &Command,
    args: &str,
    blobs: &Blobs,
) -> Result<Vec<SecretFound>, EngineError> {
    let mut look = Look { blobs, quoted: false, found: Vec::new() };
    let is_file = matches!(command, Command::WorkspaceWrite(_));
    let mut json = serde_json::Deserializer::from_str(args);
    let looked = json.deserialize_map(Arguments { look: &mut look, is_file });
    looked.map_err(|error| EngineError::Defect(error.to_string()))?;
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

/// Finds a secret in the name of a caller whom the trail does not know yet, or of a session.
pub(crate) fn name(field: &str, name: &str) -> Vec<SecretFound> {
    let own = name.rsplit('/').next().unwrap_or_default();
    leaks(field, scan_leaks(own)).collect()
}

/// Refuses text of a command that the runtime issues by itself on somebody's word. There is nobody
/// to record the refusal of.
pub(crate) fn check(screening: Screening, field: &str, text: &str) -> Result<(), EngineError> {
    refuse(screening, leaks(field, scan_named(field, text)).collect())
}

/// Refuses what was found, if secrets are refused.
pub(crate) fn refuse(screening: Screening, found: Vec<SecretFound>) -> Result<(), EngineError> {
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
        Principal::Agent(own) => !name("agent", own.as_str()).is_empty(),
        Principal::User(own) => !name("user", own.as_str()).is_empty(),
        Principal::System => false,
    }
}

fn leaks(field: &str, found: Vec<Finding>) -> impl Iterator<Item = SecretFound> {
    found.into_iter().map(move |Finding { what, excerpt, .. }| SecretFound {
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

impl<'b> Look<'b> {
    /// Looks at a name. Returns the path that a finding in its value is reported with.
    fn at_name(&mut self, name: &str, path: String) -> String {
        let found = scan_leaks(name);
        let path = if found.is_empty() { path } else { repeated(name) };
        self.found.extend(leaks(&path, found));
        path
    }

    fn through_text(&mut self, name: &str, path: &str, text: &str) {
        self.found.extend(leaks(path, scan_named(name, text)));
        // Some callers put what they give into a string first.
        if text.trim_start().starts_with(['{', '['])
            && let Ok(inner @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
        {
            let quoted = std::mem::replace(&mut self.quoted, true);
            // A value that was read can be walked through.
            let _ = self.within(name, path).deserialize(inner);
            self.quoted = quoted;
        }
    }

    /// Walks through a value that has this name and is reported with this path.
    fn within<'l, 'p>(&'l mut self, name: &'p str, path: &'p str) -> Within<'l, 'b, 'p> {
        Within { look: self, name, path, is_file: false }
    }

    /// The text that is stored under a name, if it is of a size that is looked through. Content
    /// that is missing or damaged is reported where it is used.
    fn stored(&self, named: &str) -> Option<String> {
        let blob: Blob = named.parse().ok()?;
        let size = self.blobs.path(&blob).metadata().ok()?.len();
        if size > CONTENT_BYTES_MAX {
            tracing::warn!(%blob, size, "content is too large to be looked through for secrets");
            return None;
        }
        let content = self.blobs.get(&blob).inspect_err(|error| {
            tracing::warn!(%blob, %error, "content was not looked through for secrets");
        });
        let text = String::from_utf8(content.ok()?);
        text.inspect_err(|_| {
            tracing::warn!(%blob, "content is not UTF-8, so not looked through for secrets");
        })
        .ok()
    }
}

/// Walks through the arguments of a command.
struct Arguments<'l, 'b> {
    look: &'l mut Look<'b>,
    /// Whether `content` is that of a file.
    is_file: bool,
}

impl<'de> Visitor<'de> for Arguments<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let look = self.look;
        // The key of a fact, which comes before its value.
        let mut key = None;
        while let Some(name) = map.next_key::<String>()? {
            let path = look.at_name(&name, name.clone());
            match name.as_str() {
                "content" if self.is_file => drop(map.next_value::<IgnoredAny>()?),
                "key" => {
                    let value: Value = map.next_value()?;
                    key = value.as_str().map(str::to_owned);
                    look.within(&name, &path)
                        .deserialize(value)
                        .map_err(serde::de::Error::custom)?;
                }
                // A fact has the name it is given, and the fields of a record have their own.
                "value" => {
                    let key = key.as_deref().unwrap_or(&name);
                    map.next_value_seed(look.within(key, &path))?;
                }
                "fields" => map.next_value_seed(look.within(&name, ""))?,
                _ => map.next_value_seed(look.within(&name, &path))?,
            }
        }
        Ok(())
    }
}

/// Walks through a value that has a name.
struct Within<'l, 'b, 'p> {
    look: &'l mut Look<'b>,
    name: &'p str,
    path: &'p str,
    /// Whether it is a file in a list of files; its `content` is not looked at.
    is_file: bool,
}

impl<'de> DeserializeSeed<'de> for Within<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Within<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.look.through_text(self.name, self.path, text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Within { look, name, path, .. } = self;
        let is_file = FILES.contains(&name) && !look.quoted;
        while list.next_element_seed(Within { look, name, path, is_file })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Within { look, path, is_file, .. } = self;
        while let Some(name) = map.next_key::<String>()? {
            let shown = repeated(&name);
            let inner = if path.is_empty() { shown } else { format!("{path}.{shown}") };
            let inner = look.at_name(&name, inner);
            if is_file && name == "content" {
                map.next_value::<IgnoredAny>()?;
            } else if name == "blob" && !look.quoted {
                let value: Value = map.next_value()?;
                match value.as_str().and_then(|named| look.stored(named)) {
                    Some(text) => look.through_text(self.name, path, &text),
                    None => look
                        .within(&name, &inner)
                        .deserialize(value)
                        .map_err(serde::de::Error::custom)?,
                }
            } else {
                map.next_value_seed(look.within(&name, &inner))?;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
