//! The events of `opencode run --format json`, also those of Kilo.

use serde_json::Value;

use super::{State, about_in, path_in};
use crate::agents::event::Usage;
use crate::agents::json::{maybe_number, microdollars, number, text};

pub(super) fn read(line: &Value, state: &mut State) {
    state.started(text(line, "/sessionID"));
    match text(line, "/type") {
        Some("text") => state.text(text(line, "/part/text").unwrap_or_default()),
        Some("tool_use") => tool(line, state),
        Some("step_finish") => step(line, state),
        Some("error") => {
            let message = text(line, "/error/data/message").or_else(|| text(line, "/error/name"));
            let message = message.unwrap_or("an error");
            state.trouble(maybe_number(line, "/error/data/statusCode"), message);
            state.finished(Some(message), false);
        }
        _ => {}
    }
}

/// A call is reported when it is over.
fn tool(line: &Value, state: &mut State) {
    let name = text(line, "/part/tool").unwrap_or("tool");
    let arguments = line.pointer("/part/state/input").unwrap_or(&Value::Null);
    let path = path_in(arguments);
    state.tool(name, path, about_in(arguments));
    let is_done = text(line, "/part/state/status") == Some("completed");
    if !is_done || !matches!(name, "write" | "edit" | "patch" | "apply_patch" | "multiedit") {
        return;
    }
    if let Some(path) = path {
        state.changed(path);
    }
    for file in crate::agents::json::items(line, "/part/state/metadata/files") {
        if let Some(path) = text(file, "/filePath").or_else(|| file.as_str()) {
            state.changed(path);
        }
    }
}

/// Each step reports what it alone used; tokens of the cache and of reasoning are counted apart.
fn step(line: &Value, state: &mut State) {
    let tokens = |name: &str| number(line, &format!("/part/tokens/{name}"));
    let cached = tokens("cache/read");
    let input = tokens("input").saturating_add(cached).saturating_add(tokens("cache/write"));
    state.used_more(Usage {
        input,
        cached,
        output: tokens("output").saturating_add(tokens("reasoning")),
        cost_microdollars: microdollars(line, "/part/cost"),
    });
    match text(line, "/part/reason") {
        Some("stop") => state.finished(None, true),
        Some("tool-calls") | None => {}
        Some(reason) => {
            state.trouble(None, &format!("the model stopped: {reason}"));
            state.finished(None, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::event::Event;
    use crate::agents::{Format, Parser};

    fn events(lines: &[&str]) -> Vec<Event> {
        let mut parser = Parser::new(Format::Opencode, Usage::default());
        let mut events = parser.take(lines.join("\n").as_bytes());
        events.extend(parser.finish());
        events
    }

    #[test]
    fn steps_are_added_up() {
        let found = events(&[
            r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#,
            concat!(
                r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"edit","#,
                r#""state":{"status":"completed","input":{"filePath":"/w/a"}}}}"#,
            ),
            concat!(
                r#"{"type":"step_finish","sessionID":"ses_1","part":{"#,
                r#""reason":"tool-calls","cost":0.0011,"tokens":{"input":1000,"#,
                r#""output":50,"reasoning":5,"cache":{"read":100,"write":10}}}}"#,
            ),
            concat!(
                r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"write","#,
                r#""state":{"status":"error","input":{"filePath":"/w/b"},"#,
                r#""error":"held"}}}"#,
            ),
            r#"{"type":"text","sessionID":"ses_1","part":{"text":"It is done."}}"#,
            concat!(
                r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","#,
                r#""cost":0.0011,"tokens":{"input":1000,"output":50,"cache":{"read":0,"#,
                r#""write":0}}}}"#,
            ),
        ]);
        assert_eq!(found[0], Event::Started { session: "ses_1".to_owned() });
        assert!(found.contains(&Event::FileChanged { path: "/w/a".to_owned() }));
        assert!(!found.contains(&Event::FileChanged { path: "/w/b".to_owned() }));
        let usage = Usage { input: 2110, cached: 100, output: 105, cost_microdollars: Some(2200) };
        assert!(found.contains(&Event::Usage(usage)), "{found:#?}");
        let done = Event::Finished { text: Some("It is done.".to_owned()), ok: true };
        assert_eq!(found.last(), Some(&done));
    }

    #[test]
    fn an_error_comes_at_the_end_with_its_status() {
        let found = events(&[concat!(
            r#"{"type":"error","sessionID":"ses_1","error":{"name":"APIError","#,
            r#""data":{"message":"later","statusCode":429}}}"#,
        )]);
        assert_eq!(found[1], Event::RateLimited { retry: None });
        assert!(matches!(found[2], Event::Finished { ok: false, .. }));
        let found =
            events(&[r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"length"}}"#]);
        assert!(matches!(found.last(), Some(Event::Finished { ok: false, .. })));
    }
}
