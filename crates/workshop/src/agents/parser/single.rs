//! One JSON object at the end, as Continue's `cn` prints it. Errors come on standard error.

use serde_json::Value;

use super::State;
use crate::agents::json::text;

pub(super) fn read(line: &Value, state: &mut State) {
    match text(line, "/status") {
        Some("error") => {
            let message = text(line, "/message").unwrap_or("an error");
            state.trouble(None, message);
            state.finished(Some(message), false);
        }
        // An answer of the model that is JSON itself is printed as it is.
        Some("success") | None => {
            let said = text(line, "/response").map_or_else(|| line.to_string(), str::to_owned);
            state.text(&said);
            state.finished(Some(&said), true);
        }
        Some(other) => state.finished(Some(other), false),
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::event::{Event, Usage};
    use crate::agents::{Format, Parser};

    fn last(line: &str) -> Vec<Event> {
        Parser::new(Format::Single, Usage::default()).take(format!("{line}\n").as_bytes())
    }

    #[test]
    fn the_answer_is_the_end() {
        let done = Event::Finished { text: Some("It is done.".to_owned()), ok: true };
        let found = last(r#"{"response":"It is done.","status":"success","note":"wrapped"}"#);
        assert_eq!(found.last(), Some(&done));
        assert!(matches!(last(r#"{"a":1}"#).last(), Some(Event::Finished { ok: true, .. })));
        let found = last(r#"{"status":"error","message":"429 later"}"#);
        assert_eq!(found[0], Event::RateLimited { retry: None });
        assert!(matches!(found[1], Event::Finished { ok: false, .. }));
    }
}
