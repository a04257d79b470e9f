//! A project that speakers of all dialects work in.

use super::Pair;
use crate::mcp::Host;
use crate::support::{Ran, Sandbox};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Who coordinates the run, where a dialect needs one.
const LEAD: &str = "lead";

/// A project, the tools of the frugal dialect, and the hosts that are connected.
pub(super) struct Scene {
    pub(super) project: Sandbox,
    bin: tempfile::TempDir,
    hosts: BTreeMap<(&'static str, String), Host>,
    /// Whether the run has begun.
    runs: bool,
}

impl Scene {
    pub(super) fn new() -> Self {
        let project = Sandbox::new();
        let bin = tempfile::tempdir().unwrap();
        project.ok(&["shims", bin.path().to_str().unwrap()]);
        Scene { project, bin, hosts: BTreeMap::new(), runs: false }
    }

    /// A host of its own, as another window of an agent would be.
    pub(super) fn window(&self, dialect: &str, who: &str) -> Host {
        let mut host = Host::silent(&self.project, &["--dialect", dialect, "--as", who]);
        host.introduce(who, "2025-11-25");
        host
    }

    /// The host through which an agent speaks a dialect, started when it is first needed.
    fn host(&mut self, dialect: &'static str, who: &str) -> &mut Host {
        let key = (dialect, who.to_owned());
        if !self.hosts.contains_key(&key) {
            let host = self.window(dialect, who);
            self.hosts.insert(key.clone(), host);
        }
        self.hosts.get_mut(&key).unwrap()
    }

    /// Calls a tool, which works.
    #[track_caller]
    pub(super) fn call(
        &mut self,
        dialect: &'static str,
        who: &str,
        tool: &str,
        args: Value,
    ) -> Value {
        let result = self.host(dialect, who).call(tool, args);
        assert_eq!(result["isError"], false, "{who} {tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool, which is refused. Returns the error.
    #[track_caller]
    pub(super) fn refused(
        &mut self,
        dialect: &'static str,
        who: &str,
        tool: &str,
        args: Value,
    ) -> Value {
        let result = self.host(dialect, who).call(tool, args);
        assert_eq!(result["isError"], true, "{who} {tool}: {result}");
        result["structuredContent"]["error"].clone()
    }

    /// Orders something of the coordinator of the run, which begins when it is first needed.
    #[track_caller]
    pub(super) fn order(&mut self, tool: &str, args: Value) -> Value {
        self.lead();
        self.call("wacp", LEAD, tool, args)
    }

    /// The same, which is refused.
    #[track_caller]
    pub(super) fn order_refused(&mut self, tool: &str, args: Value) -> Value {
        self.lead();
        self.refused("wacp", LEAD, tool, args)
    }

    fn lead(&mut self) {
        if !self.runs {
            self.call("wacp", LEAD, "wacp_run_start", json!({}));
            self.runs = true;
        }
    }

    /// Lets an agent be known to the project, as every agent is that did something.
    pub(super) fn meet(&self, who: &str) {
        self.project.ok(&["agents", "register", "--as", who]);
    }

    /// Runs a tool of the frugal dialect as an agent.
    pub(super) fn heimdall(&self, who: &str, tool: &str, args: &[&str], input: &str) -> Ran {
        let mut command = Command::new(self.bin.path().join(tool));
        for (name, _) in std::env::vars_os() {
            let own = name.to_string_lossy().into_owned();
            if own.starts_with("ALTHING_") || own.starts_with("HEIMDALL_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.project.path()).args(args).env("ALTHING_AGENT", who);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A tool that takes nothing may be gone before it is told something.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::of(&child.wait_with_output().unwrap())
    }

    /// The same, which works. Returns what it prints.
    #[track_caller]
    pub(super) fn heimdall_ok(&self, who: &str, tool: &str, args: &[&str], input: &str) -> String {
        let ran = self.heimdall(who, tool, args, input);
        assert_eq!(ran.code, Some(0), "{tool} {args:?}: {ran:?}");
        ran.out
    }

    /// Calls a tool through a window that is opened for it, and so sees what is true now. Servers
    /// that go on notice the end of others within seconds only.
    #[track_caller]
    pub(super) fn glance(&self, dialect: &str, who: &str, tool: &str, args: Value) -> Value {
        let mut window = self.window(dialect, who);
        let result = window.call(tool, args);
        window.kill();
        assert_eq!(result["isError"], false, "{who} {tool}: {result}");
        result["structuredContent"].clone()
    }

    /// Ends the hosts of those who are of one pair only. They are killed: one that ends by itself
    /// first counts what it handed out, which takes its time.
    pub(super) fn leave(&mut self, pair: &Pair) {
        let leaves = |who: &String| *who == pair.own_actor() || *who == pair.own_other();
        self.end(leaves);
    }

    fn end(&mut self, leaves: impl Fn(&String) -> bool) {
        let gone: Vec<_> = self.hosts.keys().filter(|(_, who)| leaves(who)).cloned().collect();
        for host in gone.iter().filter_map(|key| self.hosts.remove(key)).collect::<Vec<Host>>() {
            host.kill();
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.end(|_| true);
    }
}

/// The items of a list that have this value in a field.
pub(super) fn having(list: &Value, field: &str, value: &str) -> Vec<Value> {
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().filter(|item| item[field] == value).cloned().collect()
}
