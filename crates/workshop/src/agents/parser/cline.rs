//! The events of `cline --json`.

use serde_json::Value;

use super::{State, about_in, path_in};
use crate::agents::event::Usage;
use crate::agents::json::{microdollars, number, text};

pub(super) fn read(line: &Value, state: &mut State) {
    match text(line, "/type") {
        Some("agent_event") => event(line.get("event").unwrap_or(&Value::Null), state),
        Some("run_result") => {
            let cached = number(line, "/usage/cacheReadTokens");
            state.used(Usage {
                input: number(line, "/usage/inputTokens"),
                cached,
                output: number(line, "/usage/outputTokens"),
                cost_microdollars: microdollars(line, "/usage/totalCost"),
            });
            let ok = text(line, "/finishReason") == Some("completed");
            state.finished(text(line, "/text"), ok);
        }
        // On standard error, after the result.
        Some("error") if !state.has_finished => {
            state.trouble(None, text(line, "/message").unwrap_or("an error"));
        }
        _ => {}
    }
}

fn event(event: &Value, state: &mut State) {
    let is_tool = text(event, "/contentType") == Some("tool");
    match text(event, "/type") {
        Some("content_start") if is_tool => {
            let arguments = event.get("input").unwrap_or(&Value::Null);
            let name = text(event, "/toolName").unwrap_or("tool");
            state.tool(name, path_in(arguments), about_in(arguments));
            if name == "editor" {
                state.call(text(event, "/toolCallId"), path_in(arguments));
            }
        }
        Some("content_end") if is_tool => {
            let went_well =
                event.pointer("/output/success").and_then(Value::as_bool).unwrap_or(false);
            state.called(text(event, "/toolCallId"), went_well);
        }
        Some("content_end") => state.text(text(event, "/text").unwrap_or_default()),
        // The totals of the run so far.
        Some("usage") => state.used(Usage {
            input: number(event, "/totalInputTokens"),
            cached: 0,
            output: number(event, "/totalOutputTokens"),
            cost_microdollars: microdollars(event, "/totalCost"),
        }),
        Some("error") => {
            let message = text(event, "/error/message").unwrap_or("an error");
            let status = (text(event, "/errorClass") == Some("auth")).then_some(401);
            state.trouble(status, message);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::event::Event;
    use crate::agents::{Format, Parser};

    #[test]
    fn a_run_is_read() {
        let lines = [
            concat!(
                r#"{"type":"agent_event","event":{"type":"usage","#,
                r#""totalInputTokens":1000,"totalOutputTokens":50,"totalCost":0.5}}"#,
            ),
            concat!(
                r#"{"type":"agent_event","event":{"type":"content_start","#,
                r#""contentType":"tool","toolName":"editor","toolCallId":"c","input":{"#,
                r#""path":"/w/a"}}}"#,
            ),
            concat!(
                r#"{"type":"agent_event","event":{"type":"content_end","#,
                r#""contentType":"tool","toolName":"editor","toolCallId":"c","output":{"#,
                r#""success":true}}}"#,
            ),
            concat!(
                r#"{"type":"agent_event","event":{"type":"content_start","#,
                r#""contentType":"tool","toolName":"run_commands","input":{"#,
                r#""commands":["ls"]}}}"#,
            ),
            concat!(
                r#"{"type":"agent_event","event":{"type":"content_end","#,
                r#""contentType":"text","text":"It is done."}}"#,
            ),
            concat!(
                r#"{"type":"run_result","finishReason":"completed","usage":{"#,
                r#""inputTokens":5000,"outputTokens":250,"cacheReadTokens":3,"#,
                r#""totalCost":1},"text":"It is done."}"#,
            ),
        ];
        let mut parser = Parser::new(Format::Cline, Usage::default());
        let found = parser.take(format!("{}\n", lines.join("\n")).as_bytes());
        assert!(found.contains(&Event::FileChanged { path: "/w/a".to_owned() }), "{found:#?}");
        let usage =
            Usage { input: 5000, cached: 3, output: 250, cost_microdollars: Some(1_000_000) };
        assert!(found.contains(&Event::Usage(usage)));
        let done = Event::Finished { text: Some("It is done.".to_owned()), ok: true };
        assert_eq!(found.last(), Some(&done));
    }

    #[test]
    fn an_error_says_its_class() {
        let lines = [
            concat!(
                r#"{"type":"agent_event","event":{"type":"error","error":{"#,
                r#""message":"no"},"errorClass":"auth"}}"#,
            ),
            r#"{"type":"run_result","finishReason":"error","text":"no"}"#,
            r#"{"type":"error","message":"no"}"#,
        ];
        let mut parser = Parser::new(Format::Cline, Usage::default());
        let found = parser.take(format!("{}\n", lines.join("\n")).as_bytes());
        assert!(matches!(found[0], Event::AuthFailed { .. }));
        assert!(matches!(found.last(), Some(Event::Finished { ok: false, .. })));
    }
}
