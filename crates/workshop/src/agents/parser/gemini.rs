//! The events of Gemini CLI's `stream-json`.

use serde_json::Value;

use super::{State, about_in, path_in};
use crate::agents::event::Usage;
use crate::agents::json::{number, text};

pub(super) fn read(line: &Value, state: &mut State) {
    match text(line, "/type") {
        Some("init") => state.started(text(line, "/session_id")),
        Some("message") if text(line, "/role") == Some("assistant") => message(line, state),
        Some("tool_use") => {
            let arguments = line.get("parameters").unwrap_or(&Value::Null);
            let name = text(line, "/tool_name").unwrap_or("tool");
            state.tool(name, path_in(arguments), about_in(arguments));
            if matches!(name, "write_file" | "replace") {
                state.call(text(line, "/tool_id"), path_in(arguments));
            }
        }
        Some("tool_result") => {
            let went_well = text(line, "/status") == Some("success");
            state.called(text(line, "/tool_id"), went_well);
        }
        Some("error") => state.trouble(None, text(line, "/message").unwrap_or("an error")),
        Some("result") => result(line, state),
        _ => {}
    }
}

/// A message comes in pieces, which belong together.
fn message(line: &Value, state: &mut State) {
    let piece = text(line, "/content").unwrap_or_default();
    let is_piece = line.get("delta").and_then(Value::as_bool).unwrap_or(false);
    let before = state.last_text.take().filter(|_| is_piece).unwrap_or_default();
    state.text(piece);
    state.last_text = Some(super::cut(&format!("{before}{piece}")));
}

fn result(line: &Value, state: &mut State) {
    state.used(Usage {
        input: number(line, "/stats/input_tokens"),
        cached: number(line, "/stats/cached"),
        output: number(line, "/stats/output_tokens"),
        cost_microdollars: None,
    });
    let ok = text(line, "/status") == Some("success");
    let reason = text(line, "/error/message");
    if !ok {
        state.trouble(None, reason.unwrap_or("the run failed"));
    }
    state.finished(reason, ok);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::event::Event;
    use crate::agents::{Format, Parser};

    fn events(lines: &[&str]) -> Vec<Event> {
        let mut parser = Parser::new(Format::Gemini, Usage::default());
        let mut events = parser.take(lines.join("\n").as_bytes());
        events.extend(parser.finish());
        events
    }

    #[test]
    fn a_run_is_read() {
        let found = events(&[
            "YOLO mode is enabled.",
            r#"{"type":"init","session_id":"978e"}"#,
            r#"{"type":"message","role":"user","content":"the brief"}"#,
            concat!(
                r#"{"type":"tool_use","tool_name":"replace","tool_id":"r1","#,
                r#""parameters":{"file_path":"/w/a"}}"#,
            ),
            r#"{"type":"tool_result","tool_id":"r1","status":"success"}"#,
            concat!(
                r#"{"type":"tool_use","tool_name":"write_file","tool_id":"w1","#,
                r#""parameters":{"file_path":"/w/b"}}"#,
            ),
            r#"{"type":"tool_result","tool_id":"w1","status":"error"}"#,
            concat!(
                r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"s","#,
                r#""parameters":{"command":"ls"}}"#,
            ),
            r#"{"type":"message","role":"assistant","content":"It is ","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"done.","delta":true}"#,
            concat!(
                r#"{"type":"result","status":"success","stats":{"input_tokens":5000,"#,
                r#""output_tokens":250,"cached":7}}"#,
            ),
        ]);
        let changed: Vec<&Event> =
            found.iter().filter(|event| matches!(event, Event::FileChanged { .. })).collect();
        assert_eq!(changed, [&Event::FileChanged { path: "/w/a".to_owned() }]);
        assert_eq!(found[1], Event::Started { session: "978e".to_owned() });
        let usage = Usage { input: 5000, cached: 7, output: 250, cost_microdollars: None };
        assert!(found.contains(&Event::Usage(usage)), "{found:#?}");
        let done = Event::Finished { text: Some("It is done.".to_owned()), ok: true };
        assert_eq!(found.last(), Some(&done));
    }

    #[test]
    fn errors_are_in_the_result() {
        let found = events(&[concat!(
            r#"{"type":"result","status":"error","error":{"#,
            r#""message":"[API Error: later]\nrequest a quota increase"}}"#,
        )]);
        assert_eq!(found[0], Event::RateLimited { retry: None });
        assert!(matches!(found[1], Event::Finished { ok: false, .. }));
    }
}
