//! A host of agents, as a measurement plays one: it starts a server and calls its tools.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};

use super::failed;
use crate::Error;

/// A host and the server process it started.
pub(super) struct Host {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Host {
    /// Starts a server for a dialect in a folder, and introduces itself.
    pub(super) fn start(
        program: &Path,
        folder: &Path,
        dialect: &str,
        name: &str,
    ) -> Result<Self, Error> {
        let mut server = Process::new(program)
            .args(["mcp", "--dialect", dialect])
            .current_dir(folder)
            .env("ALTHING_HOME", folder.join(".althing"))
            .env_remove("ALTHING_AGENT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
            return Err(failed("a process without pipes"));
        };
        let mut host = Host { server, input, output: BufReader::new(output), next_id: 0 };
        let client = json!({ "name": name, "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        host.ask("initialize", &params)?;
        Ok(host)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Error> {
        self.next_id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        let mut line = request.to_string();
        line.push('\n');
        self.input.write_all(line.as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).map_err(failed)?;
        let answer: Value = serde_json::from_str(&answer).map_err(failed)?;
        Ok(answer["result"].clone())
    }

    /// Calls a tool, and returns the whole result.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Error> {
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        if result["isError"] == json!(false) { Ok(result) } else { Err(failed(result)) }
    }

    /// Hangs up and waits for the server to end.
    pub(super) fn end(self) -> Result<(), Error> {
        let Host { mut server, input, .. } = self;
        drop(input);
        let status = server.wait().map_err(failed)?;
        if status.success() { Ok(()) } else { Err(failed(status)) }
    }
}
