//! What an error message means: a limit, a login, or something else.
//!
//! Only messages that agents report as errors are looked at, never what a model wrote.

use std::time::Duration;

use super::event::{Event, Retry};

/// The status of a response that says "too many requests".
const TOO_MANY: u64 = 429;
/// The status by which a provider says that it is overloaded.
const OVERLOADED: u64 = 529;

/// Words of a provider that refuses for a while.
const LIMIT: &[&str] = &[
    "too many requests",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "usage limit",
    "usage_limit",
    "hit your limit",
    "limit reached",
    "quota",
    "resource_exhausted",
    "overloaded",
];

/// Words of a provider that does not know the caller.
const LOGIN: &[&str] = &[
    "unauthorized",
    "authentication",
    "failed to authenticate",
    "invalid api key",
    "invalid_api_key",
    "incorrect api key",
    "not logged in",
    "please log in",
    "please run /login",
    "token has expired",
    "no auth",
    "auth method",
];

/// The event that an error is, with the status of the response if it is known.
pub(super) fn event(status: Option<u64>, message: &str) -> Event {
    let words = message.to_lowercase();
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let status = status.or_else(|| status_in(&words));
    match status {
        Some(TOO_MANY | OVERLOADED) => Event::RateLimited { retry: retry_in(&words) },
        Some(401 | 403) => Event::AuthFailed { reason: message.to_owned() },
        _ if has(LIMIT) => Event::RateLimited { retry: retry_in(&words) },
        _ if has(LOGIN) => Event::AuthFailed { reason: message.to_owned() },
        _ => Event::Failed { reason: message.to_owned() },
    }
}

/// A status that stands in a message as a word of its own.
fn status_in(words: &str) -> Option<u64> {
    let numbers = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == 3);
    numbers.filter_map(|word| word.parse().ok()).find(|n| matches!(n, 401 | 403 | 429 | 529))
}

/// When to try again, from words such as `try again in 2 hours 5 minutes`, `retry after 20s`,
/// `"resets_at":1777936568`, `limit reached|1777936568`.
fn retry_in(words: &str) -> Option<Retry> {
    for name in ["resets_at", "resetsat", "reached|", "reset_at"] {
        if let Some(at) = after(words, name).and_then(first_number).and_then(as_seconds) {
            return Some(Retry::At(at));
        }
    }
    let marks = [
        "try again in",
        "retry after",
        "retry-after",
        "retrying in",
        "retry in",
        "resets in",
        "resets_in_seconds",
        "available in",
        "wait",
    ];
    marks.iter().find_map(|mark| span(after(words, mark)?)).map(Retry::After)
}

fn after<'w>(words: &'w str, mark: &str) -> Option<&'w str> {
    words.find(mark).map(|at| &words[at + mark.len()..])
}

/// The number at the beginning of a text, if it stands within a few signs.
fn first_number(text: &str) -> Option<u64> {
    let text = text.trim_start_matches(['"', ':', ' ', '=', '|']);
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// A time in seconds or in milliseconds since 1970, in seconds.
pub(super) fn as_seconds(number: u64) -> Option<u64> {
    match number {
        1_000_000_000..100_000_000_000 => Some(number),
        1_000_000_000_000..100_000_000_000_000 => Some(number / 1000),
        _ => None,
    }
}

/// A span at the beginning of a text: `20`, `1.5s`, `60 seconds`, `2h 5m`, `3 days 4 hours`.
fn span(text: &str) -> Option<Duration> {
    let text = text.trim_start_matches(['"', ':', ' ', '=']);
    let mut rest = text;
    let (mut total, mut is_found) = (0.0, false);
    loop {
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let Ok(count) = number.trim_end_matches('.').parse::<f64>() else { break };
        rest = rest[number.len()..].trim_start();
        let unit: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let seconds = match unit.as_str() {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => 1.0,
        };
        total += count * seconds;
        is_found = true;
        rest = rest[unit.len()..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    // Nobody means longer than a month.
    (is_found && total < 31.0 * 86_400.0).then(|| Duration::from_secs_f64(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(message: &str) -> Option<Retry> {
        match event(None, message) {
            Event::RateLimited { retry } => retry,
            other => panic!("{message}: {other:?}"),
        }
    }

    #[test]
    fn limits_say_when_they_end() {
        let seconds = |n| Some(Retry::After(Duration::from_secs(n)));
        assert_eq!(retry("exceeded retry limit, last status: 429 Too Many Requests"), None);
        assert_eq!(retry("Rate limit reached. Please try again in 20s."), seconds(20));
        assert_eq!(retry("Retrying in 60s (attempt 1/10): [API Error: 429 no]"), seconds(60));
        let long = "You've hit your usage limit. Try again in 2 days 3 hours 5 minutes.";
        assert_eq!(retry(long), seconds(2 * 86_400 + 3 * 3600 + 300));
        assert_eq!(retry("Usage limit reached|1794998000"), Some(Retry::At(1_794_998_000)));
        let body = r#"{"error":{"type":"usage_limit_reached","resets_at":1794998000}}"#;
        assert_eq!(retry(body), Some(Retry::At(1_794_998_000)));
        assert_eq!(retry("429 wait 99999999999999 days"), None);
    }

    #[test]
    fn logins_and_other_failures_are_told_apart() {
        for message in [
            "unexpected status 401 Unauthorized: no, url: http://127.0.0.1:429x/v1",
            "Invalid API key · Please run /login",
            "[API Error: 401 no]",
        ] {
            assert!(matches!(event(None, message), Event::AuthFailed { .. }), "{message}");
        }
        for message in ["connection refused", "file 4290 is missing", "port 127.0.0.1:4291"] {
            assert!(matches!(event(None, message), Event::Failed { .. }), "{message}");
        }
        assert!(matches!(event(Some(401), "no"), Event::AuthFailed { .. }));
        assert!(matches!(event(Some(529), "no"), Event::RateLimited { retry: None }));
    }
}
