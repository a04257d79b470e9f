//! Lines of any program that wants to be counted. Everything in them is optional:
//!
//! ```json
//! {"session":"S"}
//! {"text":"I look at it."}
//! {"usage":{"input_tokens":1000,"output_tokens":50,"cost_usd":"0.01"}}
//! {"rate_limited":{"retry_after_seconds":30}}
//! {"failed":"why"}
//! {"done":"what"}
//! ```
//!
//! Each `usage` is added to those before it.

use serde_json::Value;
use std::time::Duration;

use super::State;
use crate::agents::event::{Event, Retry, Usage};
use crate::agents::json::{maybe_number, microdollars, number, text};

pub(super) fn read(line: &Value, printed: &str, state: &mut State) {
    let known = ["session", "text", "usage", "rate_limited", "failed", "done"];
    if !known.iter().any(|name| line.get(name).is_some()) {
        return state.text(printed);
    }
    state.started(text(line, "/session"));
    state.text(text(line, "/text").unwrap_or_default());
    if line.get("usage").is_some_and(Value::is_object) {
        state.used_more(Usage {
            input: number(line, "/usage/input_tokens"),
            cached: number(line, "/usage/cached_input_tokens"),
            output: number(line, "/usage/output_tokens"),
            cost_microdollars: microdollars(line, "/usage/cost_usd"),
        });
    }
    if line.get("rate_limited").is_some() {
        let wait = maybe_number(line, "/rate_limited/retry_after_seconds");
        let retry = wait.map(|seconds| Retry::After(Duration::from_secs(seconds)));
        state.events.push(Event::RateLimited { retry });
    }
    if let Some(reason) = text(line, "/failed") {
        state.trouble(None, reason);
        state.finished(Some(reason), false);
    }
    if let Some(said) = text(line, "/done") {
        state.finished(Some(said), true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{Format, Parser};

    #[test]
    fn usage_is_added_up_and_other_lines_are_text() {
        let lines = [
            "compiling",
            r#"{"usage":{"input_tokens":10,"output_tokens":5,"cost_usd":"0.01"}}"#,
            r#"{"usage":{"input_tokens":10,"output_tokens":5,"cost_usd":0.02}}"#,
            r#"{"anything":1}"#,
            r#"{"rate_limited":{"retry_after_seconds":30}}"#,
            r#"{"rate_limited":{"retry_after_seconds":null}}"#,
            r#"{"done":"all of it"}"#,
        ];
        let mut parser = Parser::new(Format::JsonLines, Usage::default());
        let found = parser.take(format!("{}\n", lines.join("\n")).as_bytes());
        let used = |input, output, cost| {
            let cost_microdollars = Some(cost);
            Event::Usage(Usage { input, cached: 0, output, cost_microdollars })
        };
        let expected = [
            Event::Text("compiling".to_owned()),
            used(10, 5, 10_000),
            used(20, 10, 30_000),
            Event::Text(r#"{"anything":1}"#.to_owned()),
            Event::RateLimited { retry: Some(Retry::After(Duration::from_secs(30))) },
            Event::RateLimited { retry: None },
            Event::Finished { text: Some("all of it".to_owned()), ok: true },
        ];
        assert_eq!(found, expected);
    }
}
