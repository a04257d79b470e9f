//! The agents there are, one row each.
//!
//! The rows say what was seen of the programs themselves, in the versions named there. Arguments
//! come in this order: those that are always given, the model, hooks and tools, extra ones, the
//! session, the prompt.

use super::parser::Format;

/// How one kind of agent is started, spoken to and understood.
#[derive(Debug)]
pub struct Adapter {
    /// The name in plans and settings.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// The name people know it by.
    pub title: &'static str,
    /// Its programs, the preferred one first.
    pub programs: &'static [&'static str],
    /// The version that was seen working; none if only its documents were read.
    pub seen: Option<&'static str>,
    /// Arguments that are always given: one prompt, nothing asked, events as output.
    pub args: &'static [&'static str],
    /// How the brief reaches it.
    pub prompt: Prompt,
    /// Arguments that choose a model; `{}` is its name.
    pub model: &'static [&'static str],
    /// Arguments that name a new session; `{}` is a UUID. Without them the agent names it.
    pub new_session: &'static [&'static str],
    /// Arguments that resume a session; `{}` is its name. Without them it cannot be resumed.
    pub resume: &'static [&'static str],
    /// Whether a resumed session lacks prompts. Gemini CLI leaves out those that a hook added to.
    pub forgets_prompts: bool,
    /// Variables that are always set.
    pub env: &'static [(&'static str, &'static str)],
    /// Variables that are set for the superuser.
    pub env_for_root: &'static [(&'static str, &'static str)],
    /// How hooks are handed over for one run.
    pub hooks: HookWay,
    /// How the MCP server is handed over for one run.
    pub mcp: McpWay,
    /// The form of its output.
    pub format: Format,
    /// Where it keeps what it used, if it does not print it.
    pub recorded_usage: Option<Recorded>,
}

/// How a brief reaches an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// On standard input, with these arguments.
    Stdin(&'static [&'static str]),
    /// As the last argument. A brief that is too long for one is named by its file.
    Argument,
    /// As a file after this argument.
    File(&'static str),
}

/// How hooks that can refuse an edit reach an agent for one run, without touching its own files or
/// the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookWay {
    /// `--settings FILE`.
    ClaudeSettings,
    /// `-c hooks.EVENT=[…]`, with trust for this run.
    CodexOptions,
    /// A file of system settings, named by this variable. What the system has there is kept.
    SystemSettings(SystemSettings),
    /// A folder in the place of the person's home, named by this variable, with settings of its own
    /// and links to everything else there. Gemini CLI skips system settings that are not the
    /// superuser's.
    GeminiHome {
        /// The variable.
        variable: &'static str,
    },
    /// `--plugin-dir FOLDER`.
    CopilotPlugin,
    /// A plugin named in the configuration that this variable holds.
    OpencodePlugin {
        /// The variable.
        variable: &'static str,
    },
    /// `--extension FILE`.
    PiExtension,
    /// It has hooks in files of the project only.
    ProjectFilesOnly,
    /// It has none: edits are caught at the commit and at the merge.
    None,
}

/// A file of system settings in the manner of Qwen Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemSettings {
    /// The variable that names another file.
    pub variable: &'static str,
    /// The file on Linux.
    pub linux: &'static str,
    /// The file on macOS.
    pub macos: &'static str,
}

/// How the MCP server reaches an agent for one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpWay {
    /// An option with a file; the prefix stands before the file's name.
    File {
        /// The option.
        option: &'static str,
        /// What stands before the name.
        prefix: &'static str,
    },
    /// `-c mcp_servers.althing={…}`.
    CodexOptions,
    /// In the settings that the hooks are in.
    GeminiHome,
    /// In the configuration that the variable of the plugin holds.
    OpencodeConfig,
    /// It reads them from its own files only.
    OwnFilesOnly,
}

/// Where an agent keeps what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// In a file of events per session, in GitHub Copilot's folder.
    Copilot,
    /// In a file per session, in Continue's folder.
    Continue,
}

const QWEN_SETTINGS: SystemSettings = SystemSettings {
    variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
    linux: "/etc/qwen-code/settings.json",
    macos: "/Library/Application Support/QwenCode/settings.json",
};

/// A row with nothing in it, for rows to begin with.
const BLANK: Adapter = Adapter {
    name: "",
    aliases: &[],
    title: "",
    programs: &[],
    seen: None,
    args: &[],
    prompt: Prompt::Stdin(&[]),
    model: &["--model", "{}"],
    new_session: &[],
    resume: &[],
    forgets_prompts: false,
    env: &[],
    env_for_root: &[],
    hooks: HookWay::None,
    mcp: McpWay::OwnFilesOnly,
    format: Format::Plain,
    recorded_usage: None,
};

/// All agents that are known by name.
pub static ADAPTERS: &[Adapter] = &[
    Adapter {
        name: "claude",
        aliases: &["claude-code"],
        title: "Claude Code",
        programs: &["claude"],
        seen: Some("2.1.325"),
        args: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
        ],
        new_session: &["--session-id", "{}"],
        resume: &["--resume", "{}"],
        env: &[("DISABLE_AUTOUPDATER", "1")],
        // Without it the superuser may not skip permissions.
        env_for_root: &[("IS_SANDBOX", "1")],
        hooks: HookWay::ClaudeSettings,
        mcp: McpWay::File { option: "--mcp-config", prefix: "" },
        format: Format::Claude,
        ..BLANK
    },
    Adapter {
        name: "codex",
        aliases: &["codex-cli"],
        title: "Codex CLI",
        programs: &["codex"],
        seen: Some("0.166.0"),
        args: &[
            "exec",
            "--json",
            "--dangerously-bypass-approvals-and-sandbox",
            "--skip-git-repo-check",
        ],
        prompt: Prompt::Stdin(&["-"]),
        resume: &["resume", "{}"],
        hooks: HookWay::CodexOptions,
        mcp: McpWay::CodexOptions,
        format: Format::Codex,
        ..BLANK
    },
    Adapter {
        name: "gemini",
        aliases: &["gemini-cli"],
        title: "Gemini CLI",
        programs: &["gemini"],
        seen: Some("0.61.0"),
        args: &["--yolo", "-o", "stream-json"],
        new_session: &["--session-id", "{}"],
        resume: &["--resume", "{}"],
        forgets_prompts: true,
        // Untrusted folders have no hooks; a relaunched agent may outlive its launcher.
        env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")],
        hooks: HookWay::GeminiHome { variable: "GEMINI_CLI_HOME" },
        mcp: McpWay::GeminiHome,
        format: Format::Gemini,
        ..BLANK
    },
    Adapter {
        name: "opencode",
        title: "OpenCode",
        programs: &["opencode"],
        seen: Some("1.18.33"),
        args: &["run", "--auto", "--format", "json"],
        resume: &["--session", "{}"],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        hooks: HookWay::OpencodePlugin { variable: "OPENCODE_CONFIG_CONTENT" },
        mcp: McpWay::OpencodeConfig,
        format: Format::Opencode,
        ..BLANK
    },
    Adapter {
        name: "copilot",
        aliases: &["copilot-cli", "github-copilot"],
        title: "GitHub Copilot CLI",
        programs: &["copilot"],
        seen: Some("1.0.102"),
        args: &["--allow-all", "--output-format", "json"],
        new_session: &["--session-id", "{}"],
        resume: &["--resume={}"],
        // Exactly "true" also trusts the folder; the option for that is refused with a session.
        env: &[("COPILOT_ALLOW_ALL", "true"), ("COPILOT_AUTO_UPDATE", "false")],
        hooks: HookWay::CopilotPlugin,
        mcp: McpWay::File { option: "--additional-mcp-config", prefix: "@" },
        format: Format::Copilot,
        recorded_usage: Some(Recorded::Copilot),
        ..BLANK
    },
    Adapter {
        name: "qwen",
        aliases: &["qwen-code"],
        title: "Qwen Code",
        programs: &["qwen"],
        seen: Some("0.24.4"),
        args: &["--yolo", "-o", "stream-json"],
        new_session: &["--session-id", "{}"],
        resume: &["--resume", "{}"],
        env: &[("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")],
        hooks: HookWay::SystemSettings(QWEN_SETTINGS),
        mcp: McpWay::File { option: "--mcp-config", prefix: "" },
        format: Format::Qwen,
        ..BLANK
    },
    Adapter {
        name: "cline",
        title: "Cline",
        programs: &["cline"],
        seen: Some("3.0.65"),
        args: &["--json"],
        prompt: Prompt::Argument,
        hooks: HookWay::ProjectFilesOnly,
        format: Format::Cline,
        ..BLANK
    },
    Adapter {
        name: "pi",
        title: "pi",
        programs: &["pi"],
        seen: Some("0.73.1"),
        args: &["--mode", "json", "-p"],
        resume: &["--session", "{}"],
        hooks: HookWay::PiExtension,
        format: Format::Pi,
        ..BLANK
    },
    Adapter {
        name: "cn",
        aliases: &["continue"],
        title: "Continue",
        programs: &["cn"],
        seen: Some("1.5.47"),
        args: &["--auto", "--format", "json", "-p"],
        prompt: Prompt::Argument,
        format: Format::Single,
        recorded_usage: Some(Recorded::Continue),
        ..BLANK
    },
    Adapter {
        name: "kilo",
        aliases: &["kilocode"],
        title: "Kilo Code",
        programs: &["kilo", "kilocode"],
        seen: Some("7.7.7"),
        args: &["run", "--auto", "--format", "json"],
        resume: &["--session", "{}"],
        hooks: HookWay::OpencodePlugin { variable: "KILO_CONFIG_CONTENT" },
        mcp: McpWay::OpencodeConfig,
        format: Format::Opencode,
        ..BLANK
    },
    Adapter {
        name: "cursor",
        aliases: &["cursor-agent"],
        title: "Cursor",
        programs: &["cursor-agent"],
        args: &["-p", "--trust", "--force", "--output-format", "stream-json"],
        prompt: Prompt::Argument,
        resume: &["--resume", "{}"],
        hooks: HookWay::ProjectFilesOnly,
        format: Format::Cursor,
        ..BLANK
    },
    Adapter {
        name: "aider",
        title: "aider",
        programs: &["aider"],
        seen: Some("0.86.2"),
        // It would skip git's hooks unless told otherwise.
        args: &[
            "--yes-always",
            "--no-pretty",
            "--no-gitignore",
            "--git-commit-verify",
            "--no-check-update",
            "--analytics-disable",
        ],
        prompt: Prompt::File("--message-file"),
        format: Format::Aider,
        ..BLANK
    },
];

/// The agent with a name.
pub fn find(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.name == name || adapter.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_stands_for_one_agent() {
        let names = ADAPTERS
            .iter()
            .flat_map(|adapter| [adapter.name].into_iter().chain(adapter.aliases.iter().copied()));
        let all: Vec<&str> = names.collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
        assert_eq!(find("continue").unwrap().name, "cn");
        assert!(find("command").is_none() && find("").is_none());
    }

    #[test]
    fn rows_are_complete() {
        for adapter in ADAPTERS {
            assert!(!adapter.programs.is_empty() && !adapter.title.is_empty(), "{}", adapter.name);
            for template in [adapter.model, adapter.new_session, adapter.resume] {
                let holes = template.iter().filter(|arg| arg.contains("{}")).count();
                assert_eq!(holes, usize::from(!template.is_empty()), "{}", adapter.name);
            }
        }
    }
}
