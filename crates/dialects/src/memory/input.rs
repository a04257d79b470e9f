//! Input that callers may write in more than one form.

use serde::Serialize;
use serde_json::{Map, Value};

/// Minutes of a working day.
const DAY_MINUTES: u64 = 8 * 60;

/// An object, or its JSON text: some callers send it as a string.
pub fn object(name: &str, value: &Value) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(own) => Ok(own.clone()),
        Value::Null => Ok(Map::new()),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(own)) => Ok(own),
            _ => Err(format!("'{name}' must be an object, or the JSON text of one")),
        },
        _ => Err(format!("'{name}' must be an object, or the JSON text of one")),
    }
}

/// The fields of a value that are set, by their names.
pub(super) fn stated_fields(value: &impl Serialize) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(value) else { return Map::new() };
    fields.retain(|_, value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        _ => true,
    });
    fields
}

/// A list of texts: a list, its JSON text, or texts separated by commas.
pub fn texts(name: &str, value: &Value) -> Result<Vec<String>, String> {
    let wrong = || format!("'{name}' must be a list of texts, or one text with commas");
    let list = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list.clone(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(list)) => list,
            _ => text.split(',').map(Value::from).collect(),
        },
        _ => return Err(wrong()),
    };
    let text = |one: Value| match one {
        Value::String(text) => Ok(text.trim().to_owned()),
        _ => Err(wrong()),
    };
    let list: Result<Vec<String>, String> = list.into_iter().map(text).collect();
    Ok(list?.into_iter().filter(|text| !text.is_empty()).collect())
}

/// An effort in minutes: a whole number of them, or `30m`, `2h`, `1d` (of eight hours).
pub fn effort(name: &str, value: &Value) -> Result<u64, String> {
    let units = [("", 1), ("m", 1), ("min", 1), ("h", 60), ("d", DAY_MINUTES)];
    let wrong = || format!("'{name}' must be whole minutes, or such as 30m, 2h or 1d (8 hours)");
    amount(value, &units).ok_or_else(wrong)
}

/// A time to live in seconds: a whole number of them, or such as `90s`, `30m`, `4h`, `2d`.
pub fn ttl(name: &str, value: &Value) -> Result<u64, String> {
    let units = [("", 1), ("s", 1), ("m", 60), ("min", 60), ("h", 60 * 60), ("d", 24 * 60 * 60)];
    let wrong = || format!("'{name}' must be seconds, or such as 90s, 30m, 4h or 2d");
    amount(value, &units).ok_or_else(wrong)
}

/// A whole number, or one with a unit.
fn amount(value: &Value, units: &[(&str, u64)]) -> Option<u64> {
    let text = match value {
        Value::Number(number) => return number.as_u64(),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (_, factor) = units.iter().find(|(unit, _)| *unit == text[at..].trim())?;
    text[..at].parse::<u64>().ok()?.checked_mul(*factor)
}

/// The value of an argument that has two names. Both may be given if they agree.
pub fn either<'v>(
    (one, first): (&str, Option<&'v str>),
    (other, second): (&str, Option<&'v str>),
) -> Result<Option<&'v str>, String> {
    match (first, second) {
        (Some(first), Some(second)) if first != second => {
            Err(format!("'{one}' says {first} and '{other}' says {second}; give one of them"))
        }
        (first, second) => Ok(first.or(second)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_read_in_three_ways() {
        let expected = vec!["a".to_owned(), "b c".to_owned()];
        for value in [json!(["a", " b c "]), json!("[\"a\",\"b c\"]"), json!("a, b c,")] {
            assert_eq!(texts("tags", &value), Ok(expected.clone()), "{value}");
        }
        assert_eq!(texts("tags", &json!("")), Ok(Vec::new()));
        for value in [json!(7), json!([7]), json!({ "a": 1 }), json!(true)] {
            assert!(texts("tags", &value).unwrap_err().contains("'tags'"), "{value}");
        }
    }

    #[test]
    fn efforts_are_minutes() {
        for (value, minutes) in
            [(json!(90), 90), (json!("30m"), 30), (json!("2h"), 120), (json!("1d"), 480)]
        {
            assert_eq!(effort("e", &value), Ok(minutes), "{value}");
        }
        for value in [json!("2 weeks"), json!(""), json!("h"), json!(1.5), json!(-1), json!("9e9h")]
        {
            assert!(effort("e", &value).is_err(), "{value}");
        }
    }

    #[test]
    fn times_to_live_are_seconds() {
        for (value, secs) in
            [(json!(5), 5), (json!("1s"), 1), (json!("30min"), 1800), (json!("4h"), 14_400)]
        {
            assert_eq!(ttl("ttl", &value), Ok(secs), "{value}");
        }
        assert!(ttl("ttl", &json!("soon")).is_err());
    }

    #[test]
    fn objects_may_come_as_text() {
        let expected = object("filter", &json!({ "a": 1 })).unwrap();
        assert_eq!(object("filter", &json!("{\"a\":1}")), Ok(expected));
        for value in [json!(""), json!(" "), json!("[1]"), json!([1]), json!("a=1"), json!(1)] {
            assert!(object("filter", &value).is_err(), "{value}");
        }
    }

    #[test]
    fn two_names_agree_or_are_refused() {
        let pick = |a, b| either(("to", a), ("status", b));
        assert_eq!(pick(Some("done"), None), Ok(Some("done")));
        assert_eq!(pick(None, Some("done")), Ok(Some("done")));
        assert_eq!(pick(Some("done"), Some("done")), Ok(Some("done")));
        let error = pick(Some("done"), Some("open")).unwrap_err();
        assert!(error.contains("'to' says done and 'status' says open"), "{error}");
    }
}
