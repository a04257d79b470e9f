//! The events of `codex exec --json`.

use serde_json::Value;

use super::State;
use crate::agents::event::Usage;
use crate::agents::json::{items, number, text};

pub(super) fn read(line: &Value, state: &mut State) {
    match text(line, "/type") {
        Some("thread.started") => state.started(text(line, "/thread_id")),
        Some("item.started") => begun(line, state),
        Some("item.completed") => completed(line, state),
        Some("turn.completed") => {
            // On resume this counts the whole session.
            state.used(Usage {
                input: number(line, "/usage/input_tokens"),
                cached: number(line, "/usage/cached_input_tokens"),
                output: number(line, "/usage/output_tokens"),
                cost_microdollars: None,
            });
            state.finished(None, true);
        }
        Some("turn.failed") => {
            let reason = text(line, "/error/message").unwrap_or("the turn failed");
            state.trouble(None, reason);
            state.finished(Some(reason), false);
        }
        // Also attempts that it repeats by itself.
        Some("error") => state.trouble(None, text(line, "/message").unwrap_or("an error")),
        _ => {}
    }
}

fn begun(line: &Value, state: &mut State) {
    match text(line, "/item/type") {
        Some("command_execution") => {
            state.tool("Bash", None, text(line, "/item/command").map(command));
        }
        Some("file_change") => {
            for change in items(line, "/item/changes") {
                let kind = text(change, "/kind").unwrap_or("change");
                state.tool(kind, text(change, "/path"), None);
            }
        }
        Some("mcp_tool_call") => {
            let server = text(line, "/item/server").unwrap_or("mcp");
            let tool = text(line, "/item/tool").unwrap_or("tool");
            state.tool(&format!("{server}.{tool}"), None, None);
        }
        Some("web_search") => state.tool("web_search", None, text(line, "/item/query")),
        _ => {}
    }
}

fn completed(line: &Value, state: &mut State) {
    match text(line, "/item/type") {
        Some("agent_message") => state.text(text(line, "/item/text").unwrap_or_default()),
        Some("file_change") if text(line, "/item/status") == Some("completed") => {
            for path in items(line, "/item/changes").filter_map(|change| text(change, "/path")) {
                state.changed(path);
            }
        }
        _ => {}
    }
}

/// A command without the shell that it is wrapped in.
fn command(command: &str) -> &str {
    let inner = command.split_once(" -lc ").map_or(command, |(_, inner)| inner);
    inner.trim_matches(['\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::event::Event;
    use crate::agents::{Format, Parser};

    fn events(before: Usage, lines: &[&str]) -> Vec<Event> {
        let mut parser = Parser::new(Format::Codex, before);
        let mut events = parser.take(lines.join("\n").as_bytes());
        events.extend(parser.finish());
        events
    }

    const RUN: &[&str] = &[
        "Reading additional input from stdin...",
        r#"{"type":"thread.started","thread_id":"019e-7"}"#,
        r#"{"type":"turn.started"}"#,
        concat!(
            r#"{"type":"item.started","item":{"type":"command_execution","#,
            r#""command":"/bin/bash -lc 'cargo test'"}}"#,
        ),
        r#"{"type":"item.completed","item":{"type":"command_execution","exit_code":0}}"#,
        concat!(
            r#"{"type":"item.started","item":{"type":"file_change","changes":[{"#,
            r#""path":"/w/a","kind":"update"}]}}"#,
        ),
        concat!(
            r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"#,
            r#""path":"/w/a","kind":"update"}],"status":"completed"}}"#,
        ),
        concat!(
            r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"#,
            r#""path":"/w/no","kind":"add"}],"status":"failed"}}"#,
        ),
        r#"{"type":"item.completed","item":{"type":"agent_message","text":"It is done."}}"#,
        concat!(
            r#"{"type":"turn.completed","usage":{"input_tokens":5000,"#,
            r#""cached_input_tokens":1000,"output_tokens":250}}"#,
        ),
    ];

    #[test]
    fn a_run_is_read() {
        let tool = |name: &str, path: Option<&str>, summary: &str| Event::Tool {
            name: name.to_owned(),
            path: path.map(str::to_owned),
            summary: summary.to_owned(),
        };
        let usage = Usage { input: 5000, cached: 1000, output: 250, cost_microdollars: None };
        let expected = [
            Event::Note("Reading additional input from stdin...".to_owned()),
            Event::Started { session: "019e-7".to_owned() },
            tool("Bash", None, "Bash cargo test"),
            tool("update", Some("/w/a"), "update /w/a"),
            Event::FileChanged { path: "/w/a".to_owned() },
            Event::Text("It is done.".to_owned()),
            Event::Usage(usage),
            Event::Finished { text: Some("It is done.".to_owned()), ok: true },
        ];
        assert_eq!(events(Usage::default(), RUN), expected);
    }

    #[test]
    fn a_resumed_session_counts_from_its_beginning() {
        let before = Usage { input: 3000, cached: 600, output: 150, cost_microdollars: None };
        let usage = Usage { input: 2000, cached: 400, output: 100, cost_microdollars: None };
        assert!(events(before, RUN).contains(&Event::Usage(usage)));
    }

    #[test]
    fn limits_and_logins_are_recognised() {
        let found = events(
            Usage::default(),
            &[
                concat!(
                    r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected statu"#,
                    r#"s 429 Too Many Requests)"}"#,
                ),
                concat!(
                    r#"{"type":"turn.failed","error":{"message":"exceeded retry limit,"#,
                    r#" last status: 429 Too Many Requests"}}"#,
                ),
            ],
        );
        assert_eq!(found[0], Event::RateLimited { retry: None });
        assert_eq!(found[1], Event::RateLimited { retry: None });
        assert!(matches!(found[2], Event::Finished { ok: false, .. }));
        let found = events(
            Usage::default(),
            &[r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#],
        );
        assert!(matches!(found[0], Event::AuthFailed { .. }));
    }
}
