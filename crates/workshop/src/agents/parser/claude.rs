//! Claude Code's events, and those of Qwen Code and Cursor, which follow them.

use serde_json::Value;
use std::time::Duration;

use super::{Format, State, about_in, path_in};
use crate::agents::event::{Event, Retry, Usage};
use crate::agents::json::{items, maybe_number, microdollars, number, text};
use crate::agents::trouble::as_seconds;

pub(super) fn read(format: Format, line: &Value, state: &mut State) {
    state.started(text(line, "/session_id"));
    match text(line, "/type") {
        Some("system") => system(line, state),
        Some("assistant") => assistant(format, line, state),
        Some("user") => user(line, state),
        Some("tool_call") => call_of_cursor(line, state),
        Some("rate_limit_event") => limit(line, state),
        Some("result") => result(format, line, state),
        _ => {}
    }
}

/// Attempts that the agent repeats by itself.
fn system(line: &Value, state: &mut State) {
    match text(line, "/subtype") {
        Some("api_retry") => {
            let message = text(line, "/error").unwrap_or("the request failed");
            state.trouble(maybe_number(line, "/error_status"), message);
            let wait = maybe_number(line, "/retry_delay_ms").map(Duration::from_millis);
            if let (Some(Event::RateLimited { retry }), Some(wait)) =
                (state.events.last_mut(), wait)
            {
                *retry = Some(Retry::After(wait));
            }
        }
        // Qwen says why on standard error only.
        Some("retry") => {
            if let Some(wait) = maybe_number(line, "/data/delayMs") {
                let retry = Some(Retry::After(Duration::from_millis(wait)));
                state.events.push(Event::RateLimited { retry });
            }
        }
        _ => {}
    }
}

fn assistant(format: Format, line: &Value, state: &mut State) {
    // A message that the agent made up to report an error.
    let error = text(line, "/error");
    for part in items(line, "/message/content") {
        match text(part, "/type") {
            Some("text") => match (text(part, "/text"), error) {
                (Some(message), Some(kind)) => state.trouble(None, &format!("{kind}: {message}")),
                (Some(message), None) => state.text(message),
                (None, _) => {}
            },
            Some("tool_use") => {
                let arguments = part.get("input").unwrap_or(&Value::Null);
                let name = text(part, "/name").unwrap_or("tool");
                state.tool(name, path_in(arguments), about_in(arguments));
                if matches!(name, "write_file" | "edit" | "notebook_edit") {
                    state.call(text(part, "/id"), path_in(arguments));
                }
            }
            _ => {}
        }
    }
    let Some(id) = text(line, "/message/id") else { return };
    // A message comes once per part, each time with all that it used so far.
    let used = usage(format, line, "/message/usage");
    if used != Usage::default() {
        state.messages.insert(id.to_owned(), used);
        let all = state.messages.values().fold(Usage::default(), |sum, one| sum.plus(*one));
        state.usage = all;
        state.events.push(Event::Usage(all));
    }
}

fn user(line: &Value, state: &mut State) {
    // Reading a file reports it one level deeper.
    if let Some(path) = text(line, "/tool_use_result/filePath") {
        state.changed(path);
    }
    for path in items(line, "/tool_use_result/bashEditDiff/changedFiles").filter_map(Value::as_str)
    {
        state.changed(path);
    }
    // Qwen reports only whether the call went well.
    for part in items(line, "/message/content") {
        let failed = part.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        state.called(text(part, "/tool_use_id"), !failed);
    }
}

/// Cursor wraps each call in an object named after the tool.
fn call_of_cursor(line: &Value, state: &mut State) {
    let Some(calls) = line.get("tool_call").and_then(Value::as_object) else { return };
    for (name, call) in calls {
        let name = name.trim_end_matches("ToolCall");
        let arguments = call.get("args").unwrap_or(&Value::Null);
        match text(line, "/subtype") {
            Some("started") => state.tool(name, path_in(arguments), about_in(arguments)),
            Some("completed") if matches!(name, "write" | "edit" | "delete") => {
                if let Some(path) =
                    path_in(arguments).filter(|_| call.pointer("/result/success").is_some())
                {
                    state.changed(path);
                }
            }
            _ => {}
        }
    }
}

/// News of a subscription's limits. Most of them say that all is well.
fn limit(line: &Value, state: &mut State) {
    if text(line, "/rate_limit_info/status") == Some("rejected") {
        let at = maybe_number(line, "/rate_limit_info/resetsAt").and_then(as_seconds);
        state.events.push(Event::RateLimited { retry: at.map(Retry::At) });
    }
}

fn result(format: Format, line: &Value, state: &mut State) {
    let total = usage(format, line, "/usage");
    if total != Usage::default() {
        let cost = microdollars(line, "/total_cost_usd");
        state.used(Usage { cost_microdollars: cost, ..total });
    }
    let failed = line.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    let subtype = text(line, "/subtype").unwrap_or_default();
    let ok = subtype == "success" && !failed;
    let said = text(line, "/result").or_else(|| text(line, "/error/message"));
    if !ok {
        let errors: Vec<&str> = items(line, "/errors").filter_map(Value::as_str).collect();
        let reason = said.map_or_else(|| errors.join("; "), str::to_owned);
        let reason = if reason.is_empty() { subtype.to_owned() } else { reason };
        state.trouble(maybe_number(line, "/api_error_status"), &reason);
    }
    state.finished(said, ok);
}

/// Claude counts tokens from the cache apart, Qwen counts them in.
fn usage(format: Format, line: &Value, at: &str) -> Usage {
    let count = |name: &str| number(line, &format!("{at}/{name}"));
    let cached = count("cache_read_input_tokens");
    let fresh = count("input_tokens");
    let apart = cached.saturating_add(count("cache_creation_input_tokens"));
    Usage {
        input: if format == Format::Qwen { fresh } else { fresh.saturating_add(apart) },
        cached,
        output: count("output_tokens"),
        cost_microdollars: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::Parser;

    const SESSION: &str = "0b6f3c52-0000-4000-8000-000000000001";
    /// What all of a run used, and how it ended.
    const USED: &str = concat!(
        r#"{"input_tokens":2000,"output_tokens":100,"#,
        r#""cache_read_input_tokens":400,"cache_creation_input_tokens":50}"#
    );
    const END: &str = r#""subtype":"success","result":"It is done.""#;

    /// The fields that every line has.
    fn of_session(kind: &str) -> String {
        format!(r#""type":"{kind}","session_id":"{SESSION}""#)
    }

    fn events(format: Format, before: Usage, lines: &[String]) -> Vec<Event> {
        let mut parser = Parser::new(format, before);
        let mut events = parser.take(lines.join("\n").as_bytes());
        events.extend(parser.finish());
        events
    }

    fn message(id: &str, content: &str, usage: &str) -> String {
        format!(
            r#"{{"message":{{"id":"{id}","content":[{content}],"usage":{usage}}},{}}}"#,
            of_session("assistant")
        )
    }

    fn the_run(cost: &str) -> Vec<String> {
        let used = r#"{"input_tokens":1000,"output_tokens":1,"cache_read_input_tokens":200}"#;
        vec![
            format!(r#"{{"type":"system","subtype":"init","session_id":"{SESSION}","tools":[]}}"#),
            message("m1", r#"{"type":"text","text":"I look at it."}"#, used),
            message(
                "m1",
                r#"{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/w/a.rs"}}"#,
                used,
            ),
            format!(r#"{{"tool_use_result":{{"filePath":"/w/a.rs"}},{}}}"#, of_session("user")),
            message(
                "m2",
                r#"{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"make\nx"}}"#,
                used,
            ),
            format!(
                r#"{{"tool_use_result":{{"bashEditDiff":{{"changedFiles":["/w/o"]}}}},{}}}"#,
                of_session("user")
            ),
            format!(
                r#"{{"total_cost_usd":{cost},"usage":{USED},"is_error":false,{END},{}}}"#,
                of_session("result")
            ),
        ]
    }

    #[test]
    fn a_run_is_read() {
        let found = events(Format::Claude, Usage::default(), &the_run("0.0252"));
        let tool = |name: &str, path: Option<&str>, summary: &str| Event::Tool {
            name: name.to_owned(),
            path: path.map(str::to_owned),
            summary: summary.to_owned(),
        };
        let used = |input, cached, output, cost_microdollars| {
            Event::Usage(Usage { input, cached, output, cost_microdollars })
        };
        let expected = [
            Event::Started { session: SESSION.to_owned() },
            Event::Text("I look at it.".to_owned()),
            used(1200, 200, 1, None),
            tool("Edit", Some("/w/a.rs"), "Edit /w/a.rs"),
            used(1200, 200, 1, None),
            Event::FileChanged { path: "/w/a.rs".to_owned() },
            tool("Bash", None, "Bash make"),
            used(2400, 400, 2, None),
            Event::FileChanged { path: "/w/o".to_owned() },
            used(2450, 400, 100, Some(25_200)),
            Event::Finished { text: Some("It is done.".to_owned()), ok: true },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_resumed_session_counts_its_cost_again_and_its_tokens_not() {
        let before =
            Usage { input: 9000, cached: 0, output: 9000, cost_microdollars: Some(20_000) };
        let found = events(Format::Claude, before, &the_run("0.0252"));
        let expected =
            Usage { input: 2450, cached: 400, output: 100, cost_microdollars: Some(5200) };
        assert!(found.contains(&Event::Usage(expected)), "{found:#?}");
    }

    #[test]
    fn a_limit_is_no_success() {
        let lines = [
            concat!(
                r#"{"type":"system","subtype":"api_retry","attempt":1,"#,
                r#""retry_delay_ms":1500,"error_status":429,"error":"rate_limit"}"#,
            ),
            concat!(
                r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","#,
                r#""resetsAt":1794990000}}"#,
            ),
            concat!(
                r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","#,
                r#""resetsAt":1794998000}}"#,
            ),
            concat!(
                r#"{"type":"assistant","message":{"id":"x","content":[{"type":"text","#,
                r#""text":"API Error: (429)"}]},"error":"rate_limit"}"#,
            ),
            concat!(
                r#"{"subtype":"success","is_error":true,"terminal_reason":"api_error","#,
                r#""api_error_status":429,"result":"API Error","type":"result"}"#,
            ),
        ];
        let found = events(Format::Claude, Usage::default(), &lines.map(str::to_owned));
        let limited = |retry| Event::RateLimited { retry };
        let expected = [
            limited(Some(Retry::After(Duration::from_millis(1500)))),
            limited(Some(Retry::At(1_794_998_000))),
            limited(None),
            limited(None),
            Event::Finished { text: Some("API Error".to_owned()), ok: false },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_login_and_a_limit_of_turns_are_told_apart() {
        let login = concat!(
            r#"{"subtype":"success","is_error":true,"api_error_status":401,"#,
            r#""result":"no","type":"result"}"#,
        );
        let found = events(Format::Claude, Usage::default(), &[login.to_owned()]);
        assert!(matches!(found[0], Event::AuthFailed { .. }), "{found:?}");
        let turns = r#"{"subtype":"error_max_turns","is_error":true,"type":"result"}"#;
        let found = events(Format::Claude, Usage::default(), &[turns.to_owned()]);
        assert_eq!(found[0], Event::Failed { reason: "error_max_turns".to_owned() });
    }

    #[test]
    fn qwen_counts_what_comes_from_the_cache_in() {
        let used = r#"{"input_tokens":1000,"output_tokens":50,"cache_read_input_tokens":300}"#;
        let write =
            r#"{"type":"tool_use","id":"c1","name":"write_file","input":{"file_path":"/w/n"}}"#;
        let lines = [
            message("m", write, used),
            concat!(
                r#"{"type":"user","message":{"content":[{"type":"tool_result","#,
                r#""tool_use_id":"c1","is_error":false}]}}"#,
            )
            .to_owned(),
            "Retrying in 60s (attempt 1/10): [API Error: 429 later]".to_owned(),
            r#"{"type":"system","subtype":"retry","data":{"delayMs":60000}}"#.to_owned(),
            concat!(
                r#"{"type":"result","subtype":"error_during_execution","is_error":true,"#,
                r#""error":{"message":"[API Error: 401 no]"}}"#,
            )
            .to_owned(),
        ];
        let found = events(Format::Qwen, Usage::default(), &lines);
        let minute = Event::RateLimited { retry: Some(Retry::After(Duration::from_mins(1))) };
        let usage = Usage { input: 1000, cached: 300, output: 50, cost_microdollars: None };
        assert!(found.contains(&Event::Usage(usage)), "{found:#?}");
        assert!(found.contains(&Event::FileChanged { path: "/w/n".to_owned() }));
        assert_eq!(found.iter().filter(|event| **event == minute).count(), 2);
        assert!(found.iter().any(|event| matches!(event, Event::AuthFailed { .. })));
        assert!(matches!(found.last(), Some(Event::Finished { ok: false, .. })));
    }

    #[test]
    fn cursors_calls_are_read() {
        let lines = [
            concat!(
                r#"{"type":"tool_call","subtype":"started","tool_call":{"#,
                r#""writeToolCall":{"args":{"path":"a"}}},"session_id":"s"}"#,
            ),
            concat!(
                r#"{"type":"tool_call","subtype":"completed","tool_call":{"#,
                r#""writeToolCall":{"args":{"path":"a"},"result":{"success":{}}}},"#,
                r#""session_id":"s"}"#,
            ),
            concat!(
                r#"{"type":"result","subtype":"success","is_error":false,"#,
                r#""result":"done","session_id":"s"}"#,
            ),
        ];
        let found = events(Format::Cursor, Usage::default(), &lines.map(str::to_owned));
        assert!(found.contains(&Event::FileChanged { path: "a".to_owned() }), "{found:?}");
        assert_eq!(found.last().unwrap(), &Event::Finished { text: Some("done".into()), ok: true });
    }
}
