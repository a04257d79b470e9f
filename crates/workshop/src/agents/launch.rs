//! From an agent and a brief to a process to start.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::custom::CustomAgent;
use super::handover::{self, Moment};
use super::table::{Adapter, Prompt};
use crate::error::WorkshopError;
use crate::process::{GRACE, LOG_BYTES_MAX, Spec};

/// The longest prompt that is given as an argument. Linux ends an argument at 128 KiB.
const ARGUMENT_MAX: usize = 96 << 10;

/// Variables of the caller that would lead an agent astray: those of git, which name another
/// repository when Althing was started by a hook, and those by which an agent knows that it runs
/// inside another one.
const ENV_REMOVE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "GEMINI_CLI",
    "QWEN_CODE_CLI",
];

/// An agent: one that is known by name, or a program from the settings.
#[derive(Clone, Copy, Debug)]
pub enum Agent<'a> {
    /// A row of the table.
    Known(&'static Adapter),
    /// Any program.
    Custom(&'a CustomAgent),
}

/// What an agent is to do.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The key of the task.
    pub task: &'a str,
    /// The workspace of the attempt.
    pub workspace: &'a str,
    /// The worktree, which is its working folder.
    pub folder: &'a Path,
    /// The file with the brief.
    pub brief: &'a Path,
    /// A folder for files that this start needs, outside the worktree. It may be there already.
    pub files: &'a Path,
    /// The agent's program, if it was found; else it is looked for on `PATH`.
    pub program: Option<&'a Path>,
    /// The model; the agent's own choice if left out.
    pub model: Option<&'a str>,
    /// A new session or an earlier one.
    pub session: Session<'a>,
    /// Hooks and tools of Althing's for this run.
    pub wiring: Option<Wiring<'a>>,
    /// More arguments, such as `--max-turns`.
    pub extra: &'a [String],
    /// Variables of the attempt: `ALTHING_AGENT`, `ALTHING_TASK` and so on.
    pub env: &'a BTreeMap<String, String>,
    /// Reads a variable of the caller's environment, which the agent inherits.
    pub inherited: fn(&str) -> Option<String>,
    /// Whether there is no network but the model. Plugins of `opencode` and `kilo` then start in
    /// seconds instead of a minute; `npm install` in the agent's shell does not work, either.
    pub is_offline: bool,
}

/// The conversation that an agent works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Session<'a> {
    /// A new one. An agent that lets its sessions be named gets this UUID.
    New(Option<&'a str>),
    /// An earlier one, with everything said in it.
    Resume(&'a str),
}

/// What Althing gives an agent for one run.
#[derive(Clone, Copy, Debug)]
pub struct Wiring<'a> {
    /// The program `althing`.
    pub althing: &'a Path,
    /// The moments at which `althing hook MOMENT --agent NAME` is called.
    pub hooks: &'a [Moment],
    /// Whether `althing mcp` is among the agent's tools.
    pub mcp: bool,
}

/// A process to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables to add.
    pub env: BTreeMap<String, String>,
    /// Variables to take out.
    pub env_remove: Vec<String>,
    /// The file to give on standard input.
    pub stdin: Option<PathBuf>,
    /// The session, if it is known before the agent says it.
    pub session: Option<String>,
}

impl Launch {
    /// The process as its supervisor wants it.
    pub fn spec(self, workspace: &str, turn: u32, folder: &Path) -> Spec {
        Spec {
            workspace: workspace.to_owned(),
            turn,
            program: self.program,
            args: self.args,
            env: self.env,
            env_remove: self.env_remove,
            folder: folder.to_owned(),
            stdin: self.stdin,
            timeout_ms: None,
            grace_ms: u64::try_from(GRACE.as_millis()).unwrap_or(u64::MAX),
            log_bytes_max: LOG_BYTES_MAX,
        }
    }
}

impl Agent<'_> {
    /// Its name in plans and settings.
    pub fn name(&self) -> &str {
        match self {
            Agent::Known(adapter) => adapter.name,
            Agent::Custom(custom) => &custom.name,
        }
    }

    /// The form of its output.
    pub fn format(&self) -> super::Format {
        match self {
            Agent::Known(adapter) => adapter.format,
            Agent::Custom(custom) => custom.format(),
        }
    }

    /// Whether an earlier session can be resumed.
    pub fn can_resume(&self) -> bool {
        matches!(self, Agent::Known(adapter) if !adapter.resume.is_empty())
    }

    /// Whether a session that is resumed still has the brief in it.
    pub fn remembers_brief(&self) -> bool {
        matches!(self, Agent::Known(adapter) if !adapter.forgets_prompts) && self.can_resume()
    }

    /// Prepares a start: writes the files it needs and returns what to run. Repeating it does no
    /// harm.
    pub fn launch(&self, request: &Request<'_>) -> Result<Launch, WorkshopError> {
        let mut launch = match self {
            Agent::Known(adapter) => known(adapter, request)?,
            Agent::Custom(custom) => custom.launch(request)?,
        };
        launch.env.extend(request.env.iter().map(|(name, value)| (name.clone(), value.clone())));
        launch.env_remove.extend(ENV_REMOVE.iter().map(|name| (*name).to_owned()));
        Ok(launch)
    }
}

fn known(adapter: &Adapter, request: &Request<'_>) -> Result<Launch, WorkshopError> {
    let mut launch = Launch {
        program: request.program.map_or_else(
            || adapter.programs.first().copied().unwrap_or(adapter.name).into(),
            Path::to_owned,
        ),
        args: adapter.args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: variables(adapter.env),
        env_remove: Vec::new(),
        stdin: None,
        session: None,
    };
    if is_root() {
        launch.env.extend(variables(adapter.env_for_root));
    }
    if let Some(model) = request.model {
        launch.args.extend(filled(adapter.model, model));
    }
    if let Some(wiring) = request.wiring {
        handover::add(adapter, request, &wiring, &mut launch)?;
    }
    launch.args.extend(request.extra.iter().cloned());
    match request.session {
        Session::New(id) => {
            if let Some(id) = id.filter(|_| !adapter.new_session.is_empty()) {
                launch.args.extend(filled(adapter.new_session, id));
                launch.session = Some(id.to_owned());
            }
        }
        Session::Resume(id) if adapter.resume.is_empty() => {
            let name = adapter.title;
            let message = format!("{name} cannot resume the session {id}; start it with a brief");
            return Err(WorkshopError::new(message));
        }
        Session::Resume(id) => {
            launch.args.extend(filled(adapter.resume, id));
            launch.session = Some(id.to_owned());
        }
    }
    give_brief(adapter.prompt, request, &mut launch)?;
    Ok(launch)
}

fn give_brief(
    prompt: Prompt,
    request: &Request<'_>,
    launch: &mut Launch,
) -> Result<(), WorkshopError> {
    match prompt {
        Prompt::Stdin(args) => {
            launch.args.extend(args.iter().map(|arg| (*arg).to_owned()));
            launch.stdin = Some(request.brief.to_owned());
        }
        Prompt::File(option) => {
            launch.args.push(option.to_owned());
            launch.args.push(utf8(request.brief)?);
        }
        Prompt::Argument => launch.args.push(prompt_of(request.brief)?),
    }
    Ok(())
}

/// The brief as an argument, or its file if it is too long for one. A prompt never begins with a
/// dash, and never is a single word, which `cline` takes for a command.
fn prompt_of(brief: &Path) -> Result<String, WorkshopError> {
    let file = utf8(brief)?;
    let text = std::fs::read_to_string(brief)
        .map_err(|error| WorkshopError::new(format!("cannot read {file}: {error}")))?;
    let text = text.trim();
    if text.len() > ARGUMENT_MAX || text.contains('\0') {
        return Ok(format!("Read the file {file}: it is your task. Do all that it says."));
    }
    Ok(format!("Your task:\n\n{text}"))
}

fn variables(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Arguments with a value in the place of `{}`.
fn filled(template: &[&str], value: &str) -> Vec<String> {
    template.iter().map(|arg| arg.replace("{}", value)).collect()
}

pub(super) fn utf8(path: &Path) -> Result<String, WorkshopError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        WorkshopError::new(format!("{} is no UTF-8, which agents need", path.display()))
    })
}

fn is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}

/// A UUID for the session of a turn. It follows from both, so a caller that was killed after a
/// start knows it again.
pub fn session_id(workspace: &str, turn: u32) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(format!("althing session {workspace} {turn}"));
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    // The version and the variant of a random UUID.
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{UsageReport, find};

    const ID: &str = "11111111-2222-4333-8444-555555555555";

    struct Setting {
        folder: tempfile::TempDir,
        env: BTreeMap<String, String>,
    }

    impl Setting {
        fn new(brief: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("brief.md"), brief).unwrap();
            let env = BTreeMap::from([("ALTHING_AGENT".to_owned(), "alice".to_owned())]);
            Setting { folder, env }
        }

        fn launch(&self, agent: Agent<'_>, session: Session<'_>) -> Result<Launch, WorkshopError> {
            agent.launch(&Request {
                task: "lexer",
                workspace: "ws-1",
                folder: Path::new("/w"),
                brief: &self.folder.path().join("brief.md"),
                files: &self.folder.path().join("files"),
                program: None,
                model: Some("big"),
                session,
                wiring: None,
                extra: &["--extra".to_owned()],
                env: &self.env,
                inherited: |_| None,
                is_offline: false,
            })
        }

        fn args(&self, name: &str, session: Session<'_>) -> String {
            let launch = self.launch(Agent::Known(find(name).unwrap()), session).unwrap();
            launch.args.join(" ").replace(self.folder.path().to_str().unwrap(), "DIR")
        }
    }

    #[test]
    fn every_agent_gets_its_own_arguments() {
        let setting = Setting::new("Do it.\n");
        let expected = [
            (
                "claude",
                "-p --output-format stream-json --verbose --dangerously-skip-permissions \
              --model big --extra --session-id ID",
            ),
            (
                "codex",
                "exec --json --dangerously-bypass-approvals-and-sandbox \
              --skip-git-repo-check --model big --extra -",
            ),
            ("gemini", "--yolo -o stream-json --model big --extra --session-id ID"),
            ("opencode", "run --auto --format json --model big --extra"),
            ("copilot", "--allow-all --output-format json --model big --extra --session-id ID"),
            ("qwen", "--yolo -o stream-json --model big --extra --session-id ID"),
            ("cline", "--json --model big --extra Your task:\n\nDo it."),
            ("pi", "--mode json -p --model big --extra"),
            ("cn", "--auto --format json -p --model big --extra Your task:\n\nDo it."),
            ("kilo", "run --auto --format json --model big --extra"),
            (
                "cursor",
                "-p --trust --force --output-format stream-json --model big --extra \
              Your task:\n\nDo it.",
            ),
            (
                "aider",
                "--yes-always --no-pretty --no-gitignore --git-commit-verify \
              --no-check-update --analytics-disable --model big --extra \
              --message-file DIR/brief.md",
            ),
        ];
        assert_eq!(expected.len(), super::super::ADAPTERS.len());
        for (name, args) in expected {
            assert_eq!(setting.args(name, Session::New(Some(ID))), args.replace("ID", ID));
        }
    }

    #[test]
    fn sessions_are_resumed_as_each_agent_wants_it() {
        let setting = Setting::new("Go on.");
        for (name, end) in [
            ("claude", "--extra --resume S"),
            ("codex", "--extra resume S -"),
            ("gemini", "--extra --resume S"),
            ("opencode", "--extra --session S"),
            ("copilot", "--extra --resume=S"),
            ("pi", "--extra --session S"),
        ] {
            let args = setting.args(name, Session::Resume("S"));
            assert!(args.ends_with(end), "{name}: {args}");
            let remembers = Agent::Known(find(name).unwrap()).remembers_brief();
            assert_eq!(remembers, name != "gemini", "{name}");
        }
        for name in ["cline", "cn", "aider"] {
            let agent = Agent::Known(find(name).unwrap());
            assert!(!agent.can_resume() && !agent.remembers_brief());
            assert!(setting.launch(agent, Session::Resume("S")).is_err(), "{name}");
        }
    }

    #[test]
    fn briefs_come_on_standard_input_or_in_a_file_that_is_named() {
        let setting = Setting::new(&"x".repeat(ARGUMENT_MAX + 1));
        let brief = setting.folder.path().join("brief.md");
        let claude = Agent::Known(find("claude").unwrap());
        let launch = setting.launch(claude, Session::New(None)).unwrap();
        assert_eq!((launch.stdin, launch.session), (Some(brief.clone()), None));
        let cline = Agent::Known(find("cline").unwrap());
        let launch = setting.launch(cline, Session::New(None)).unwrap();
        let prompt = launch.args.last().unwrap();
        assert!(prompt.contains(brief.to_str().unwrap()) && prompt.len() < 1000, "{prompt}");
    }

    #[test]
    fn variables_are_set_and_taken_out() {
        let setting = Setting::new("x");
        let gemini = Agent::Known(find("gemini").unwrap());
        let launch = setting.launch(gemini, Session::New(None)).unwrap();
        assert_eq!(launch.env["GEMINI_CLI_TRUST_WORKSPACE"], "true");
        assert_eq!(launch.env["ALTHING_AGENT"], "alice");
        assert!(launch.env_remove.iter().any(|name| name == "GIT_DIR"));
        let claude = Agent::Known(find("claude").unwrap());
        let launch = setting.launch(claude, Session::New(None)).unwrap();
        assert_eq!(launch.env.contains_key("IS_SANDBOX"), is_root());
    }

    #[test]
    fn any_program_is_an_agent() {
        let setting = Setting::new("x");
        let mut custom = CustomAgent {
            name: "scripted".to_owned(),
            command: ["./agent.sh", "{task}", "{workspace}:{model}", "{brief_file}"]
                .map(str::to_owned)
                .to_vec(),
            usage: UsageReport::JsonLines,
            env: BTreeMap::from([("MODE".to_owned(), "test".to_owned())]),
        };
        let launch = setting.launch(Agent::Custom(&custom), Session::New(Some(ID))).unwrap();
        let brief = setting.folder.path().join("brief.md");
        assert_eq!(launch.program, Path::new("./agent.sh"));
        let brief_name = brief.to_str().unwrap();
        assert_eq!(launch.args, ["lexer", "ws-1:big", brief_name, "--extra"]);
        assert_eq!(launch.stdin.as_deref(), Some(brief.as_path()));
        assert_eq!((launch.env["MODE"].as_str(), launch.session), ("test", None));
        custom.command.clear();
        assert!(setting.launch(Agent::Custom(&custom), Session::New(None)).is_err());
    }

    #[test]
    fn names_of_sessions_follow_from_the_turn() {
        let first = session_id("ws-1", 1);
        assert_eq!(first, session_id("ws-1", 1));
        assert_ne!(first, session_id("ws-1", 2));
        let parts: Vec<usize> = first.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(&first[14..15], "4");
    }
}
