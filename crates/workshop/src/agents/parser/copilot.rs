//! The events of GitHub Copilot CLI. Its usage is in a file of its own, see `recorded_usage`.

use serde_json::Value;

use super::{State, about_in, path_in};
use crate::agents::json::{items, maybe_number, number, text};

pub(super) fn read(line: &Value, state: &mut State) {
    match text(line, "/type") {
        Some("assistant.message") => state.text(text(line, "/data/content").unwrap_or_default()),
        Some("tool.execution_start") => {
            let arguments = line.pointer("/data/arguments").unwrap_or(&Value::Null);
            let name = text(line, "/data/toolName").unwrap_or("tool");
            state.tool(name, path_in(arguments), about_in(arguments));
        }
        Some("tool.execution_complete") => {
            for path in items(line, "/data/fileEdits").filter_map(|edit| text(edit, "/path")) {
                state.changed(path);
            }
        }
        Some("session.error") => {
            let message = text(line, "/data/message").or_else(|| text(line, "/data/errorType"));
            state.trouble(maybe_number(line, "/data/statusCode"), message.unwrap_or("an error"));
        }
        Some("result") => {
            state.started(text(line, "/sessionId"));
            state.finished(None, number(line, "/exitCode") == 0 && line.get("exitCode").is_some());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::event::{Event, Usage};
    use crate::agents::{Format, Parser};

    fn events(lines: &[&str]) -> Vec<Event> {
        let mut parser = Parser::new(Format::Copilot, Usage::default());
        let mut events = parser.take(lines.join("\n").as_bytes());
        events.extend(parser.finish());
        events
    }

    #[test]
    fn a_run_is_read() {
        let found = events(&[
            r#"{"type":"user.message","data":{"content":"the brief"}}"#,
            r#"{"type":"assistant.message","data":{"content":"","toolRequests":[]}}"#,
            concat!(
                r#"{"type":"tool.execution_start","data":{"toolName":"edit","#,
                r#""arguments":{"path":"/w/a"}}}"#,
            ),
            concat!(
                r#"{"type":"tool.execution_complete","data":{"success":true,"#,
                r#""fileEdits":[{"path":"/w/a","kind":"edit"}]}}"#,
            ),
            concat!(
                r#"{"type":"tool.execution_start","data":{"toolName":"apply_patch","#,
                r#""arguments":"*** Begin Patch"}}"#,
            ),
            r#"{"type":"assistant.message","data":{"content":"It is done."}}"#,
            r#"{"type":"result","sessionId":"9c28","exitCode":0}"#,
        ]);
        assert!(found.contains(&Event::FileChanged { path: "/w/a".to_owned() }), "{found:#?}");
        assert!(found.contains(&Event::Started { session: "9c28".to_owned() }));
        let done = Event::Finished { text: Some("It is done.".to_owned()), ok: true };
        assert_eq!(found.last(), Some(&done));
    }

    #[test]
    fn an_error_has_its_status() {
        let found = events(&[
            concat!(
                r#"{"type":"session.error","data":{"errorType":"rate_limit","#,
                r#""message":"later","statusCode":429}}"#,
            ),
            r#"{"type":"session.error","data":{"errorType":"authentication","statusCode":401}}"#,
            r#"{"type":"result","sessionId":"5","exitCode":1}"#,
        ]);
        assert_eq!(found[0], Event::RateLimited { retry: None });
        assert!(matches!(found[1], Event::AuthFailed { .. }));
        assert!(matches!(found.last(), Some(Event::Finished { ok: false, .. })));
    }
}
