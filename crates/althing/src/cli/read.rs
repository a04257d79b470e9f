//! Reading single arguments: names, words of a closed set, texts and times within their limits.

use althing_engine::field::FieldTest;
use althing_kernel::text::Text;
use althing_kernel::workspace::budget::Percent;
use althing_kernel::workspace::{Party, Timeout};
use althing_kernel::{AgentName, UserId};
use serde::de::DeserializeOwned;

use crate::span::parse_secs;

pub(super) use crate::amounts::{amount, budget, cost, dimension, span};

/// A word of a closed set, as it stands in the trail.
pub(super) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value = serde_json::Value::String(text.to_owned());
    serde_json::from_value(value).map_err(|error| {
        let message = error.to_string();
        match message.split_once(", expected ") {
            Some((_, known)) => format!("write {}", known.replace('`', "")),
            None => message,
        }
    })
}

/// An agent's name, with or without `agent:` before it.
pub(super) fn agent(text: &str) -> Result<AgentName, String> {
    AgentName::new(bare(text, "agent:")).map_err(|error| error.to_string())
}

/// A user's id, with or without `user:` before it.
pub(super) fn user(text: &str) -> Result<UserId, String> {
    UserId::new(bare(text, "user:")).map_err(|error| error.to_string())
}

/// A text within its limit.
pub(super) fn text<const MAX: usize>(given: &str) -> Result<Text<MAX>, String> {
    Text::new(given).map_err(|error| error.to_string())
}

/// A timeout: 90m, 1h30m, 45s, 2d.
pub(super) fn timeout(text: &str) -> Result<Timeout, String> {
    Timeout::new(parse_secs(text)?).map_err(|error| error.to_string())
}

/// A percentage.
pub(super) fn percent(text: &str) -> Result<Percent, String> {
    let number: u64 = text.parse().map_err(|_| format!("{text:?} is not a percentage"))?;
    Percent::new(number).map_err(|error| error.to_string())
}

/// A user's id, with or without `user:` before it, or `system`.
pub(super) fn party(given: &str) -> Result<Party, String> {
    if given == "system" { Ok(Party::System) } else { user(given).map(Party::User) }
}

/// A test of a field: `NAME`, `NAME=VALUE`, or `NAME` and a number with `<`, `<=`, `>` or `>=`
/// between them.
pub(super) fn field_test(given: &str) -> Result<FieldTest, String> {
    let at = given.find(['<', '>', '=']).unwrap_or(given.len());
    let (name, rest) = given.split_at(at);
    let field =
        name.parse().map_err(|error: althing_engine::field::FieldError| error.to_string())?;
    let mut test = FieldTest { field, is: None, at_least: None, at_most: None };
    let number = |text: &str| {
        text.parse::<i64>().map_err(|_| format!("{text:?} is no whole number to compare with"))
    };
    // The longer signs first.
    if let Some(text) = rest.strip_prefix(">=") {
        test.at_least = Some(number(text)?);
    } else if let Some(text) = rest.strip_prefix("<=") {
        test.at_most = Some(number(text)?);
    } else if let Some(text) = rest.strip_prefix('>') {
        test.at_least = Some(number(text)?.saturating_add(1));
    } else if let Some(text) = rest.strip_prefix('<') {
        test.at_most = Some(number(text)?.saturating_sub(1));
    } else if let Some(text) = rest.strip_prefix('=') {
        // A number, a truth value and quoted text are what they are in JSON; the rest is text.
        let plain = || serde_json::Value::String(text.to_owned());
        let json = serde_json::from_str(text).ok();
        test.is =
            Some(json.filter(|value: &serde_json::Value| !value.is_null()).unwrap_or_else(plain));
    }
    Ok(test)
}

/// A name as people read it in listings, with or without what it is the name of.
pub(crate) fn bare<'t>(text: &'t str, prefix: &str) -> &'t str {
    text.strip_prefix(prefix).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tests_of_fields_are_read() {
        let entry = json!({ "body": { "n": 5, "s": "failed", "t": "12" } });
        for (text, holds) in [
            ("n", true),
            ("n=5", true),
            ("n>=5", true),
            ("n>5", false),
            ("n<6", true),
            ("n<=4", false),
            ("s=failed", true),
            ("s=fail", false),
            ("t=12", false),
            ("t=\"12\"", true),
            ("/body/s=failed", true),
        ] {
            assert_eq!(field_test(text).unwrap().holds(&entry), holds, "{text}");
        }
        for bad in ["", "=5", "n>x", "a b=1", "n>=1.5"] {
            assert!(field_test(bad).is_err(), "{bad}");
        }
    }
}
