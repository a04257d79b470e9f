//! Reading values out of somebody else's JSON.

use serde_json::Value;

/// A text at a path such as `/message/id`; none if it is empty.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// A whole number at a path; 0 if there is none.
pub(super) fn number(value: &Value, pointer: &str) -> u64 {
    maybe_number(value, pointer).unwrap_or(0)
}

/// A whole number at a path.
pub(super) fn maybe_number(value: &Value, pointer: &str) -> Option<u64> {
    let number = value.pointer(pointer)?;
    // Counts come as 5000, and sometimes as 5000.0.
    number.as_u64().or_else(|| rounded(number.as_f64()?))
}

/// Dollars at a path, as a number or as a text, in millionths.
pub(super) fn microdollars(value: &Value, pointer: &str) -> Option<u64> {
    match value.pointer(pointer)? {
        Value::String(text) => microdollars_of(text),
        Value::Number(number) => rounded(number.as_f64()? * 1e6),
        _ => None,
    }
}

/// Dollars in a text, in millionths.
pub(super) fn microdollars_of(text: &str) -> Option<u64> {
    rounded(text.trim().trim_start_matches('$').parse::<f64>().ok()? * 1e6)
}

/// The nearest whole number; none if it is negative or beyond all bounds.
pub(super) fn rounded(number: f64) -> Option<u64> {
    if !number.is_finite() || !(0.0..1e18).contains(&number) {
        return None;
    }
    format!("{number:.0}").parse().ok()
}

/// The items of a list at a path.
pub(super) fn items<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_exact_to_a_millionth() {
        let value = serde_json::json!({"a": 0.02595, "b": "2.5", "c": 5e-7, "d": -1, "e": "x"});
        let cost = |pointer| microdollars(&value, pointer);
        assert_eq!(cost("/a"), Some(25_950));
        assert_eq!(cost("/b"), Some(2_500_000));
        assert_eq!(cost("/c"), Some(0));
        assert_eq!((cost("/d"), cost("/e"), cost("/f")), (None, None, None));
    }

    #[test]
    fn numbers_of_any_form_are_read() {
        let value = serde_json::json!({"a": 7, "b": 7.0, "c": -7, "d": "7", "e": 1e300});
        let read: Vec<u64> =
            ["/a", "/b", "/c", "/d", "/e"].iter().map(|at| number(&value, at)).collect();
        assert_eq!(read, [7, 7, 0, 0, 0]);
    }
}
