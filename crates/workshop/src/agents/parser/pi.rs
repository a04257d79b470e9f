//! The events of `pi --mode json`. It exits with 0 whatever happens.

use serde_json::Value;

use super::{State, about_in, path_in};
use crate::agents::event::Usage;
use crate::agents::json::{items, microdollars, number, text};

pub(super) fn read(line: &Value, state: &mut State) {
    match text(line, "/type") {
        Some("session") => state.started(text(line, "/id")),
        Some("tool_execution_start") => {
            let arguments = line.get("args").unwrap_or(&Value::Null);
            let name = text(line, "/toolName").unwrap_or("tool");
            state.tool(name, path_in(arguments), about_in(arguments));
            if matches!(name, "write" | "edit") {
                state.call(text(line, "/toolCallId"), path_in(arguments));
            }
        }
        Some("tool_execution_end") => {
            let failed = line.get("isError").and_then(Value::as_bool).unwrap_or(true);
            state.called(text(line, "/toolCallId"), !failed);
        }
        Some("turn_end") => turn(line, state),
        Some("agent_end") => {
            let last = items(line, "/messages").last().unwrap_or(&Value::Null);
            let ok = text(last, "/stopReason") == Some("stop");
            state.finished(text(last, "/errorMessage"), ok);
        }
        _ => {}
    }
}

fn turn(line: &Value, state: &mut State) {
    for part in items(line, "/message/content") {
        state.text(text(part, "/text").unwrap_or_default());
    }
    let count = |name: &str| number(line, &format!("/message/usage/{name}"));
    let cached = count("cacheRead");
    let input = count("input").saturating_add(cached).saturating_add(count("cacheWrite"));
    let output = count("output");
    if input > 0 || output > 0 {
        let cost = microdollars(line, "/message/usage/cost/total");
        state.used_more(Usage { input, cached, output, cost_microdollars: cost });
    }
    if text(line, "/message/stopReason") == Some("error") {
        state.trouble(None, text(line, "/message/errorMessage").unwrap_or("an error"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::event::Event;
    use crate::agents::{Format, Parser};

    fn events(lines: &[&str]) -> Vec<Event> {
        let mut parser = Parser::new(Format::Pi, Usage::default());
        parser.take(format!("{}\n", lines.join("\n")).as_bytes())
    }

    #[test]
    fn turns_are_added_up() {
        let found = events(&[
            r#"{"type":"session","version":3,"id":"01a1"}"#,
            concat!(
                r#"{"type":"tool_execution_start","toolCallId":"c","toolName":"write","#,
                r#""args":{"path":"/w/a"}}"#,
            ),
            r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"write","isError":false}"#,
            concat!(
                r#"{"type":"turn_end","message":{"content":[{"type":"toolCall"}],"#,
                r#""usage":{"input":1000,"output":50,"cacheRead":10,"cacheWrite":0,"#,
                r#""cost":{"total":0.001}},"stopReason":"toolUse"}}"#,
            ),
            concat!(
                r#"{"type":"turn_end","message":{"content":[{"type":"text","#,
                r#""text":"It is done."}],"usage":{"input":1000,"output":50,"cost":{"#,
                r#""total":0.001}},"stopReason":"stop"}}"#,
            ),
            concat!(
                r#"{"type":"agent_end","messages":[{"role":"user"},{"role":"assistant","#,
                r#""stopReason":"stop"}]}"#,
            ),
        ]);
        assert_eq!(found[0], Event::Started { session: "01a1".to_owned() });
        assert!(found.contains(&Event::FileChanged { path: "/w/a".to_owned() }), "{found:#?}");
        let usage = Usage { input: 2010, cached: 10, output: 100, cost_microdollars: Some(2000) };
        assert!(found.contains(&Event::Usage(usage)));
        let done = Event::Finished { text: Some("It is done.".to_owned()), ok: true };
        assert_eq!(found.last(), Some(&done));
    }

    #[test]
    fn an_error_is_a_reason_to_stop() {
        let found = events(&[
            concat!(
                r#"{"type":"turn_end","message":{"content":[],"stopReason":"error","#,
                r#""errorMessage":"429 later"}}"#,
            ),
            concat!(
                r#"{"type":"agent_end","messages":[{"stopReason":"error","#,
                r#""errorMessage":"429 later"}]}"#,
            ),
        ]);
        assert_eq!(found[0], Event::RateLimited { retry: None });
        assert!(matches!(found[1], Event::Finished { ok: false, .. }));
    }
}
