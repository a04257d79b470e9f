//! Real agents through the binary: Claude Code, Codex and Gemini CLI themselves, with a model that
//! follows a script on this machine. No account, no network, the same answers every time.
//!
//! `scripts/test` installs them under `target/`. Where they are not, these tests say so; with
//! `ALTHING_AGENT_CLIS=required`, which that script sets once it has installed them, they fail.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::Ran;
use crate::workshop::{Finished, Task, Workshop};

/// The tokens that the model counts for each of its answers.
const TOKENS: u64 = 1050;

/// An agent's program, and how it is led to the model.
struct Cli {
    name: &'static str,
    /// Its variables, with its own folder for settings and the address of the model.
    variables: fn(&Path, &str) -> Vec<(&'static str, String)>,
}

const CLAUDE: Cli = Cli {
    name: "claude",
    variables: |home, model| {
        vec![
            ("ANTHROPIC_BASE_URL", model.to_owned()),
            ("ANTHROPIC_API_KEY", "none".to_owned()),
            ("CLAUDE_CONFIG_DIR", home.display().to_string()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ]
    },
};

const CODEX: Cli = Cli {
    name: "codex",
    variables: |home, model| {
        let settings = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{model}/v1\"\n\
             wire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\nsupports_websockets = false\n"
        );
        std::fs::write(home.join("config.toml"), settings).unwrap();
        vec![("CODEX_HOME", home.display().to_string()), ("SCRIPTED_KEY", "none".to_owned())]
    },
};

const GEMINI: Cli = Cli {
    name: "gemini",
    variables: |home, model| {
        let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
        std::fs::create_dir_all(home.join(".gemini")).unwrap();
        std::fs::write(home.join(".gemini/settings.json"), settings.to_string()).unwrap();
        vec![
            ("GEMINI_API_KEY", "none".to_owned()),
            ("GEMINI_CLI_HOME", home.display().to_string()),
            ("GEMINI_MODEL", "gemini-2.5-pro".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", model.to_owned()),
        ]
    },
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The folder of the agents' programs, if the installation is complete and up to date.
fn programs() -> Option<PathBuf> {
    let folder = root().join("target/agents");
    let marker = std::fs::read_to_string(folder.join(".done")).unwrap_or_default();
    let lock = root().join("tests/agents/package-lock.json");
    let ran = Command::new("git").args(["hash-object", "--no-filters"]).arg(lock).output().unwrap();
    let digest = String::from_utf8(ran.stdout).unwrap();
    if !marker.trim().is_empty() && marker.trim() == digest.trim() {
        return Some(folder.join("node_modules/.bin"));
    }
    let required = std::env::var_os("ALTHING_AGENT_CLIS").is_some_and(|value| value == "required");
    let folder = folder.display();
    assert!(!required, "{folder} is not installed");
    let said =
        format!("skipped: {folder} is not installed from its list; scripts/test does that\n");
    std::io::stderr().write_all(said.as_bytes()).unwrap();
    None
}

/// The model. It ends with this.
struct Model {
    process: Child,
    address: String,
}

impl Model {
    fn start(script: &Path) -> Self {
        let mut command = Command::new("node");
        command.arg(root().join("tests/agents/model.mjs")).arg(script);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Model { process, address: address.trim().to_owned() }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A repository, an agent and its model.
struct Lab {
    cli: &'static Cli,
    programs: PathBuf,
    home: tempfile::TempDir,
    own: Workshop,
}

impl Lab {
    /// None if the agents are not installed.
    fn new(cli: &'static Cli) -> Option<Self> {
        let programs = programs()?;
        Some(Lab { cli, programs, home: tempfile::tempdir().unwrap(), own: Workshop::new() })
    }

    /// Runs a plan with agents whose model follows a script.
    #[track_caller]
    fn run(&self, tasks: &[Task<'_>], agents: usize, script: &Value) -> Finished {
        let plan = self.own.plan(tasks);
        let file = self.home.path().join("script.json");
        std::fs::write(&file, script.to_string()).unwrap();
        let model = Model::start(&file);
        let settings = self.home.path().join("settings");
        std::fs::create_dir_all(&settings).unwrap();
        let mut command = self.own.sandbox.command();
        // Nothing of whoever runs the tests leads the agent elsewhere.
        command.env_clear().env("HOME", self.home.path()).env("PATH", self.path());
        command.envs((self.cli.variables)(&settings, &model.address));
        command.args(["run", &plan, "--agents", &format!("{}:{agents}", self.cli.name), "--json"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        Finished::of(Ran::of(&output))
    }

    fn path(&self) -> std::ffi::OsString {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.programs.clone()).chain(std::env::split_paths(&rest));
        std::env::join_paths(folders).unwrap()
    }

    /// What the agents said, for the messages of tests that fail.
    fn logs(&self, keys: &[&str]) -> String {
        keys.iter().map(|key| self.own.sandbox.run(&["logs", key, "--raw"]).out).collect()
    }
}

/// Two tasks, one after the other: a new file, and a change of one that is there.
#[track_caller]
fn completes_a_plan(cli: &'static Cli) {
    let Some(lab) = Lab::new(cli) else { return };
    let tasks = [
        ("first", "touches = [\"out/**\"]\nproduces = [\"out/first.txt\"]"),
        ("second", "depends_on = [\"first\"]\ncheck = \"grep -q second shared.txt\""),
    ];
    let script = json!({
        "first": [{ "write": "out/first.txt", "content": "the first\n" }, { "say": "Done." }],
        "second": [
            { "shell": "cp out/first.txt out/copy.txt" },
            { "read": "shared.txt" },
            { "edit": "shared.txt", "old": "the first line", "new": "the second line" },
            { "say": "Done." },
        ],
    });
    let finished = lab.run(&tasks, 2, &script);
    let logs = lab.logs(&["first", "second"]);
    assert_eq!(finished.code, Some(0), "{finished:?}\n{logs}");
    assert_eq!(finished.merged(), ["first", "second"]);
    let file = |path: &str| lab.own.file(finished.branch(), path).unwrap_or_default();
    assert_eq!(file("out/first.txt"), "the first\n");
    assert_eq!(file("out/copy.txt"), "the first\n");
    assert_eq!(file("shared.txt"), "the second line\n");
    assert_eq!(finished.last()["tokens"], 6 * TOKENS, "{logs}");
    assert!(finished.about("task.returned", "first").is_empty(), "{finished:?}");
    assert!(finished.about("task.returned", "second").is_empty(), "{finished:?}");
    lab.own.is_sound();
}

/// Somebody holds a file. The agent's own tools cannot change it, and the model reads why.
#[track_caller]
fn is_refused_what_another_holds(cli: &'static Cli) {
    let Some(lab) = Lab::new(cli) else { return };
    lab.own.sandbox.ok(&["init"]);
    lab.own.sandbox.claim("bob", "shared.txt");
    let script = json!({
        "held": [
            { "read": "shared.txt" },
            { "edit": "shared.txt", "old": "the first line", "new": "taken" },
            { "write": "out/edit.txt", "content": "$HEARD\n" },
            { "shell": "echo taken >> shared.txt" },
            { "write": "out/shell.txt", "content": "$HEARD\n" },
            { "say": "Done." },
        ],
    });
    let finished = lab.run(&[("held", "")], 1, &script);
    let logs = lab.logs(&["held"]);
    assert_eq!(finished.code, Some(0), "{finished:?}\n{logs}");
    let file = |path: &str| lab.own.file(finished.branch(), path).unwrap_or_default();
    assert_eq!(file("shared.txt"), "the first line\n", "{logs}");
    for path in ["out/edit.txt", "out/shell.txt"] {
        let heard = file(path);
        assert!(heard.contains("bob") && heard.contains("shared.txt"), "{path}: {heard}\n{logs}");
    }
    let agent = format!("agent:{}-1", cli.name);
    let is_so = |entry: &&Value| entry["kind"] == "command.refused" && entry["door"] == "hook";
    let entries = lab.own.sandbox.entries();
    let refused: Vec<&Value> = entries.iter().filter(is_so).collect();
    assert_eq!(refused.len(), 2, "{refused:?}\n{logs}");
    for entry in refused {
        assert_eq!(entry["body"]["rule"], "A-LEASE-01", "{entry}");
        assert_eq!(entry["actor"], agent, "{entry}");
    }
    assert_eq!(finished.last()["tokens"], 6 * TOKENS, "{logs}");
    lab.own.is_sound();
}

/// An agent that says too early that it is done goes on in the same conversation. What it used is
/// counted once.
#[track_caller]
fn goes_on_until_its_task_is_done(cli: &'static Cli) {
    let Some(lab) = Lab::new(cli) else { return };
    let script = json!({
        "late": [
            { "say": "Done." },
            { "write": "out/late.txt", "content": "late\n" },
            { "say": "Now it is." },
        ],
    });
    let finished = lab.run(&[("late", "produces = [\"out/late.txt\"]")], 1, &script);
    let logs = lab.logs(&["late"]);
    assert_eq!(finished.code, Some(0), "{finished:?}\n{logs}");
    assert_eq!(finished.about("task.returned", "late").len(), 1, "{finished:?}");
    assert_eq!(lab.own.file(finished.branch(), "out/late.txt").as_deref(), Some("late\n"));
    assert_eq!(finished.last()["tokens"], 3 * TOKENS, "{logs}");
    lab.own.is_sound();
}

#[test]
fn claude_code_completes_a_plan() {
    completes_a_plan(&CLAUDE);
}

#[test]
fn codex_completes_a_plan() {
    completes_a_plan(&CODEX);
}

#[test]
fn gemini_completes_a_plan() {
    completes_a_plan(&GEMINI);
}

#[test]
fn claude_code_is_refused_what_another_holds() {
    is_refused_what_another_holds(&CLAUDE);
}

#[test]
fn codex_is_refused_what_another_holds() {
    is_refused_what_another_holds(&CODEX);
}

#[test]
fn gemini_is_refused_what_another_holds() {
    is_refused_what_another_holds(&GEMINI);
}

#[test]
fn claude_code_goes_on_until_its_task_is_done() {
    goes_on_until_its_task_is_done(&CLAUDE);
}

#[test]
fn codex_goes_on_until_its_task_is_done() {
    goes_on_until_its_task_is_done(&CODEX);
}

#[test]
fn gemini_goes_on_until_its_task_is_done() {
    goes_on_until_its_task_is_done(&GEMINI);
}
