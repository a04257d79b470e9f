//! Hosts that speak the Model Context Protocol, as real processes see the server.

use crate::support::{BINARY, Sandbox};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A host with the server it started.
pub(crate) struct Host {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Host {
    /// Starts a server and says nothing yet. It speaks the frugal dialect unless told otherwise.
    pub(crate) fn silent(project: &Sandbox, args: &[&str]) -> Self {
        let spoken: &[&str] =
            if args.contains(&"--dialect") { &[] } else { &["--dialect", "frugal"] };
        Host::started(project.command().arg("mcp").args(spoken).args(args))
    }

    /// The same with a command of one's own.
    pub(crate) fn started(command: &mut Command) -> Self {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().unwrap());
        Host { server, input, output, next_id: 0 }
    }

    /// Starts a server and introduces itself.
    pub(crate) fn named(project: &Sandbox, name: &str) -> Self {
        let mut host = Host::silent(project, &[]);
        host.introduce(name, "2025-11-25");
        host
    }

    pub(crate) fn introduce(&mut self, name: &str, revision: &str) -> Value {
        let client = json!({ "name": name, "version": "1.2.3" });
        let params =
            json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", params);
        self.say(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn say(&mut self, line: &[u8]) {
        self.send(&[line, b"\n"].concat());
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Asks, and returns the whole answer.
    #[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.say(request.to_string().as_bytes());
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and returns the result.
    #[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        answer["result"].clone()
    }

    /// Calls a tool, which is the server's end: nothing is answered.
    #[expect(clippy::needless_pass_by_value, reason = "callers write it down where they ask")]
    #[track_caller]
    pub(crate) fn killed(mut self, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        let request =
            json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        self.say(request.to_string().as_bytes());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert!(!self.server.wait().unwrap().success());
    }

    /// The same, and it works. Returns the payload, after checking that the text says the same.
    #[track_caller]
    pub(crate) fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        let text: Value = serde_json::from_str(text(&result)).unwrap();
        assert_eq!(text, result["structuredContent"]);
        text
    }

    /// The same, and it fails. Returns what the text says, and the error object.
    #[track_caller]
    pub(crate) fn failed(&mut self, tool: &str, arguments: Value) -> (Value, Value) {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let error = result["structuredContent"]["error"].clone();
        for field in ["kind", "rule", "message", "way_out"] {
            assert!(error[field].is_string(), "{result}");
        }
        (serde_json::from_str(text(&result)).unwrap(), error)
    }

    /// Kills the server, which cannot say goodbye.
    pub(crate) fn kill(mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Closes the stream. Returns how the server ended and how long that took.
    pub(crate) fn end(mut self) -> Duration {
        drop(self.input.take());
        let closed = Instant::now();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        assert!(self.server.wait().unwrap().success());
        closed.elapsed()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.input.take());
        // It is gone already if the test came to its end.
        let _ = self.server.wait();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn each_revision_is_agreed_on() {
    let project = Sandbox::new();
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2025-03-26", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut host = Host::silent(&project, &[]);
        let result = host.introduce("cursor", asked)["result"].clone();
        assert_eq!(result["protocolVersion"], agreed, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "heimdall-ledger-mcp");
        assert_eq!(result["serverInfo"]["version"], "1.0.0");
        assert_eq!(result["capabilities"], json!({ "tools": { "listChanged": false } }));
        assert!(result["instructions"].is_string());
        let tools = host.ask("tools/list", json!({}))["result"].clone();
        assert_eq!(tools["tools"].as_array().unwrap().len(), 6);
        assert_eq!(tools["resultType"], Value::Null, "{asked} does not know it");
        assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
        host.end();
    }
}

#[test]
fn the_newest_revision_needs_no_introduction() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "zed", "version": "1" },
    });
    let found = host.ask("server/discover", json!({ "_meta": meta }))["result"].clone();
    assert_eq!(
        found["supportedVersions"],
        json!(["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
    );
    let tools = host.ask("tools/list", json!({ "_meta": meta }))["result"].clone();
    assert_eq!(tools["resultType"], "complete");
    let params = json!({ "_meta": meta, "name": "read_claims" });
    let read = host.ask("tools/call", params)["result"].clone();
    assert!(read["structuredContent"]["haid"].as_str().unwrap().ends_with("/zed"), "{read}");
    // A request says which revision it speaks, and is told which ones there are.
    let mut odd = meta.clone();
    odd["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let refused = host.ask("tools/list", json!({ "_meta": odd }));
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    host.end();
}

/// Whoever introduced itself is held to it: a request does not make it another.
#[test]
fn a_request_does_not_say_who_asks_once_that_is_settled() {
    let project = Sandbox::new();
    let mut claude = Host::named(&project, "claude");
    claude.done("make_claim", json!({ "surfaces": ["src"], "task": "T" }));
    let mut cursor = Host::named(&project, "cursor");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2025-11-25",
        "io.modelcontextprotocol/clientInfo": { "name": "claude", "version": "1" },
    });
    let params =
        json!({ "_meta": meta, "name": "release_claim", "arguments": { "surfaces": ["src"] } });
    let released = cursor.ask("tools/call", params)["result"].clone();
    assert!(!released.to_string().contains("/claude"), "{released}");
    let held = project.json(&["claims"]);
    assert_eq!(held[0]["surfaces"], json!(["src"]), "{held}");
}

#[test]
fn tools_work_without_an_introduction_and_with_a_lax_one() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &[]);
    let read = host.done("read_claims", json!({}));
    assert!(read["haid"].as_str().unwrap().ends_with("/mcp-client"), "{read}");
    let lax = host.ask("initialize", json!({ "clientInfo": { "name": "Cursor" } }));
    assert_eq!(lax["result"]["protocolVersion"], "2024-11-05");
    let read = host.done("read_claims", json!({}));
    assert!(read["haid"].as_str().unwrap().ends_with("/cursor"), "{read}");
    let read = host.done("read_claims", json!({ "client_identity": "GitHub Copilot" }));
    assert!(read["haid"].as_str().unwrap().ends_with("/github-copilot"), "{read}");
    let (words, _) = host.failed("read_claims", json!({ "client_identity": "!!" }));
    assert!(words["error"].as_str().unwrap().contains("identity"), "{words}");
    host.end();
}

#[test]
fn the_server_survives_whatever_comes_in() {
    let project = Sandbox::new();
    let mut host = Host::named(&project, "cursor");
    let long = "x".repeat(10_000_000);
    let nested =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}"#, "[".repeat(200_000));
    let parse: [&[u8]; 6] = [
        b"nonsense",
        b"{\"jsonrpc\":",
        b"\xff\xfe\x00{}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}",
        long.as_bytes(),
        nested.as_bytes(),
    ];
    for bytes in parse {
        host.say(bytes);
        let answer = host.hear();
        assert_eq!(answer["error"], json!({ "code": -32700, "message": "Parse error" }));
        assert!(answer.as_object().unwrap()["id"].is_null());
    }
    let invalid = [
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#""text""#,
        "[]",
        "7",
    ];
    for line in invalid {
        host.say(line.as_bytes());
        let answer = host.hear();
        assert_eq!(answer["error"]["code"], -32600, "{line}");
        assert_eq!(answer["error"]["message"], "Invalid Request: not JSON-RPC 2.0");
        assert!(answer.as_object().unwrap()["id"].is_null());
    }
    let unknown = host.ask("resources/list", json!({}));
    let expected = json!({ "code": -32601, "message": "Method not found: resources/list" });
    assert_eq!(unknown["error"], expected);
    host.say(br#"{"jsonrpc":"2.0","method":"notifications/anything","params":{"a":[1]}}"#);
    host.say(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    host.say(b"");
    let padded = format!(r#"{{"client_identity":"{}"}}"#, "y".repeat(9_000_000));
    let huge = host.call("read_claims", serde_json::from_str(&padded).unwrap());
    assert_eq!(huge["isError"], false, "a slug of it does");
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    host.end();
}

#[test]
fn headers_are_read_by_bytes_and_answered_in_kind() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &[]);
    let body = json!({
        "jsonrpc": "2.0", "id": "é", "method": "tools/call",
        "params": { "name": "make_claim", "arguments": { "surfaces": ["src/é.rs"], "task": "ü" } },
    });
    let body = body.to_string();
    host.send(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    let mut header = String::new();
    host.output.read_line(&mut header).unwrap();
    let length: usize = header.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
    let mut blank = String::new();
    host.output.read_line(&mut blank).unwrap();
    assert_eq!(blank, "\r\n");
    let mut bytes = vec![0; length];
    host.output.read_exact(&mut bytes).unwrap();
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(answer["id"], "é");
    assert_eq!(answer["result"]["structuredContent"]["surfaces"], json!(["src/é.rs"]));
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}), "and a line with a line");
    host.end();
}

#[test]
fn a_bad_header_swallows_no_request() {
    let project = Sandbox::new();
    let mut host = Host::silent(&project, &["--drop-in"]);
    for (bad, code) in [
        ("content-nonsense", -32700),
        ("content-nonsense: 7", -32700),
        ("Content-Length: nine", -32700),
        ("Content-Length: 99999999999\r\n", -32600),
        ("Content-Length: 99999999999999999999999999999999\r\n", -32600),
    ] {
        host.say(bad.as_bytes());
        host.say(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        host.say(br#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
        assert_eq!(host.hear()["error"]["code"], code, "{bad}");
        for id in [1, 2] {
            assert_eq!(host.hear(), json!({ "jsonrpc": "2.0", "id": id, "result": {} }), "{bad}");
        }
    }
    host.end();
}

#[test]
fn requests_before_the_end_of_input_are_answered_in_order() {
    let project = Sandbox::new();
    let mut input = String::new();
    for n in 0..50 {
        let arguments = json!({ "surfaces": [format!("f{n}")], "task": "T" });
        let params = json!({ "name": "make_claim", "arguments": arguments });
        let request =
            json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params });
        input.push_str(&request.to_string());
        input.push('\n');
    }
    // The last line has no end of its own.
    input.push_str(r#"{"jsonrpc":"2.0","id":50,"method":"ping"}"#);
    let started = Instant::now();
    let ran = project.run_with(&["mcp", "--dialect", "frugal"], input.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ids: Vec<u64> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, (0..=50).collect::<Vec<u64>>());
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 50);
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_idle_server_ends_with_its_stream() {
    let project = Sandbox::new();
    let took = Host::named(&project, "cursor").end();
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// The name that hosts of the original have in their settings.
#[cfg(unix)]
#[test]
fn the_old_name_serves_without_setting_up_and_answers_in_lines() {
    let project = Sandbox::without_project();
    let name = project.path().join("heimdall-ledger-mcp");
    std::os::unix::fs::symlink(BINARY, &name).unwrap();
    let arguments = json!({ "surfaces": ["src/a/**"], "task": "T-9", "client_identity": "cursor" });
    let params = json!({ "name": "make_claim", "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let body = body.to_string();
    let input = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let mut server = Command::new(&name)
        .current_dir(project.path())
        .env_remove("ALTHING_AGENT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    server.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = server.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let held = project.json(&["claims"]);
    assert!(held[0]["holder"].as_str().unwrap().ends_with("+cursor"), "{held}");
}

#[test]
fn under_the_old_name_only_what_changes_something_sets_a_project_up() {
    let project = Sandbox::without_project();
    let mut host = Host::silent(&project, &["--drop-in"]);
    host.ask("tools/list", json!({}));
    assert_eq!(host.done("read_claims", json!({}))["count"], 0);
    assert_eq!(host.done("read_capsules", json!({}))["count"], 0);
    host.end();
    assert!(!project.store().exists(), "{:?}", project.store());
    let files = project.path().join(".planning");
    assert!(!files.exists(), "nothing was changed, so there is nothing to show");
    let mut host = Host::silent(&project, &["--drop-in"]);
    host.ask("tools/list", json!({}));
    host.done("make_claim", json!({ "surfaces": ["a"], "task": "T" }));
    assert_eq!(host.done("read_claims", json!({}))["count"], 1);
    host.end();
    assert!(project.store().exists());
    assert!(files.join("protocol/ledger.jsonl").is_file());
    assert_eq!(std::fs::read_dir(files.join("ledger/claims")).unwrap().count(), 1);
}

#[test]
fn without_a_project_tools_say_what_to_do() {
    let project = Sandbox::without_project();
    let mut host = Host::named(&project, "cursor");
    let (words, error) = host.failed("read_claims", json!({}));
    assert_eq!(error["kind"], "not_found");
    assert!(words["detail"].as_str().unwrap().contains("althing init"), "{words}");
    project.ok(&["init"]);
    host.done("read_claims", json!({}));
    host.end();
}
