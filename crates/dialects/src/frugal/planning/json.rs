//! JSON files in a readable form: indent of two blanks, keys in their original order.

use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object with a version, and a map whose values are JSON already.
pub(super) fn object(
    version: &str,
    name: &str,
    all: impl Iterator<Item = (String, String)>,
) -> String {
    let rows: Vec<String> =
        all.map(|(key, value)| format!("    {}: {value}", quoted(&key))).collect();
    let body =
        if rows.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n  }}", rows.join(",\n")) };
    format!("{{\n  \"version\": {},\n  {}: {body}\n}}\n", quoted(version), quoted(name))
}

/// An object with a version, and a map of strings.
pub(super) fn strings(
    version: &str,
    name: &str,
    all: impl Iterator<Item = (String, String)>,
) -> String {
    object(version, name, all.map(|(key, value)| (key, quoted(&value))))
}

/// A record as a value.
pub(super) fn record(fields: &[(&str, String)]) -> String {
    let rows: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("      {}: {}", quoted(name), quoted(value)))
        .collect();
    format!("{{\n{}\n    }}", rows.join(",\n"))
}

/// The entries of a file that a person edited.
#[derive(Debug, Default)]
pub struct Entries {
    /// Valid names and texts, in the order of the file.
    pub good: Vec<(String, String)>,
    /// Names with invalid values, and the faults.
    pub bad: Vec<(String, String)>,
}

/// Keys and values in the order of the file.
struct Pairs<V>(Vec<(String, V)>);

impl<'de, V: serde::Deserialize<'de>> serde::Deserialize<'de> for Pairs<V> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<V>(PhantomData<V>);

        impl<'de, V: serde::Deserialize<'de>> Visitor<'de> for InOrder<V> {
            type Value = Pairs<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<V>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

/// Reads the map under a name; `None` if the file is invalid.
pub(super) fn read_strings(text: &str, name: &str) -> Option<Vec<(String, String)>> {
    let whole: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    let pairs: Pairs<String> = serde_json::from_str(whole.get(name)?.get()).ok()?;
    Some(pairs.0)
}

/// Reads the map under a name entry by entry, with the fault of each invalid one. Fails if the file
/// as a whole is invalid.
pub(super) fn read_entries(text: &str, name: &str) -> Result<Entries, String> {
    let whole: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).map_err(|error| format!("it is no JSON object: {error}"))?;
    let own = whole.get(name).ok_or_else(|| format!("it has no {name:?}"))?;
    let own: Pairs<Box<RawValue>> = serde_json::from_str(own.get())
        .map_err(|error| format!("{name:?} is no JSON object: {error}"))?;
    let mut entries = Entries::default();
    for (key, value) in own.0 {
        match serde_json::from_str(value.get()) {
            Ok(value) => entries.good.push((key, value)),
            Err(_) => entries.bad.push((key, "its value is no text".to_owned())),
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_in_order_and_read_back() {
        let pairs = vec![("b".to_owned(), "1\n\"2\"".to_owned()), ("a".to_owned(), String::new())];
        let text = strings("2.0.0", "symbols", pairs.clone().into_iter());
        assert_eq!(
            text,
            "{\n  \"version\": \"2.0.0\",\n  \"symbols\": {\n    \"b\": \"1\\n\\\"2\\\"\",\n    \
             \"a\": \"\"\n  }\n}\n"
        );
        assert_eq!(read_strings(&text, "symbols"), Some(pairs));
        assert_eq!(read_strings(&text, "facts"), None);
        assert_eq!(read_strings("{", "facts"), None);
        let none = strings("2.0.0", "facts", std::iter::empty());
        assert_eq!(none, "{\n  \"version\": \"2.0.0\",\n  \"facts\": {}\n}\n");
    }
}
