//! The hooks of coding agents: what they send, and the answers they take.
//!
//! One row of [`SHAPES`] per agent says everything that differs between them: where the payload has
//! the tool, its arguments, the session and the folder; which tools write files, and which field names
//! them; the form of a refusal, of text for the conversation, and of an end that is put off. Nothing
//! here decides anything.

mod answer;
mod patch;
mod payload;
mod shell;

pub use answer::{Answer, Moment};
pub use payload::{PAYLOAD_BYTES_MAX, Payload, PayloadError};

/// A coding agent that calls hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot CLI.
    Copilot,
    /// Qwen Code.
    Qwen,
    /// opencode.
    Opencode,
    /// Kilo Code.
    Kilo,
    /// Cline.
    Cline,
    /// pi.
    Pi,
    /// Cursor.
    Cursor,
}

/// What an argument of a tool says about files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The path of the file that is written, in one of these fields.
    Path(&'static [&'static str]),
    /// A patch in one of these fields, or the arguments are the patch.
    Patch(&'static [&'static str]),
    /// A shell command, or a list of them, in this field.
    Shell(&'static str),
}

/// The form in which an agent takes a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalForm {
    /// `hookSpecificOutput` with a permission decision, which may also be to ask.
    HookSpecific {
        /// Whether the agent can ask its person instead.
        asks: bool,
    },
    /// `{"decision":"deny","reason":…}`.
    Decision,
    /// `{"permissionDecision":"deny",…}`, which may also be to ask.
    Permission,
    /// `{"permission":"deny",…}`, which may also be to ask.
    Messages,
    /// Arguments that fail harmlessly, with the reason beside them: anything else ends the run.
    OverrideInput,
    /// Exit code 2 with the reason on standard error.
    Exit,
}

/// The form in which an agent takes text for its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextForm {
    /// `hookSpecificOutput` with `additionalContext`.
    HookSpecific,
    /// `{"additionalContext":…}`.
    Additional,
    /// `{"additional_context":…}`.
    Snake,
    /// `{"contextModification":…}`.
    Modification,
    /// Plain text, which the plugin that Althing wrote hands on.
    Text,
}

/// The form in which an agent takes that it must not end yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockForm {
    /// `{"decision":"block","reason":…}`.
    Decision,
    /// `{"followup_message":…}`.
    Followup,
    /// It cannot be kept from ending.
    None,
}

/// The names of an agent's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events {
    /// Before a tool runs.
    pub edit: &'static str,
    /// When a session begins.
    pub session: Option<&'static str>,
    /// When a session ends.
    pub end: Option<&'static str>,
    /// With a prompt.
    pub prompt: Option<&'static str>,
    /// Before the agent ends its turn.
    pub stop: Option<&'static str>,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The agent.
    pub agent: Agent,
    /// Its name on the command line and in names of agents.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The programs that show that it is installed.
    pub programs: &'static [&'static str],
    /// The events it has.
    pub events: Events,
    /// Where the payload has the tool's name, as JSON pointers.
    pub tool: &'static [&'static str],
    /// Where it has the tool's arguments.
    pub input: &'static [&'static str],
    /// Where it has the session's id.
    pub session: &'static [&'static str],
    /// Where it has the folder that the agent works in.
    pub folder: &'static [&'static str],
    /// The tools that write files.
    pub tools: &'static [(&'static str, Reads)],
    /// How it is refused.
    pub refusal: RefusalForm,
    /// How it is told something.
    pub context: ContextForm,
    /// How it is kept from ending.
    pub block: BlockForm,
    /// Whether one process is one agent, with whatever it starts. An editor has several at once.
    pub is_one_process: bool,
}

const CLAUDE_EVENTS: Events = Events {
    edit: "PreToolUse",
    session: Some("SessionStart"),
    end: Some("SessionEnd"),
    prompt: Some("UserPromptSubmit"),
    stop: Some("Stop"),
};

/// Claude Code, and the base of those that follow it.
const CLAUDE: Shape = Shape {
    agent: Agent::Claude,
    name: "claude",
    title: "Claude Code",
    programs: &["claude"],
    events: CLAUDE_EVENTS,
    tool: &["/tool_name"],
    input: &["/tool_input"],
    session: &["/session_id"],
    folder: &["/cwd"],
    // Copilot runs the hooks of Claude Code too, with a field of its own.
    tools: &[
        ("Write", Reads::Path(&["file_path", "path"])),
        ("Edit", Reads::Path(&["file_path", "path"])),
        ("MultiEdit", Reads::Path(&["file_path", "path"])),
        ("NotebookEdit", Reads::Path(&["notebook_path", "path"])),
        ("Bash", Reads::Shell("command")),
    ],
    refusal: RefusalForm::HookSpecific { asks: true },
    context: ContextForm::HookSpecific,
    block: BlockForm::Decision,
    is_one_process: true,
};

/// The payload of plugins that Althing writes: opencode, Kilo and pi hand it on like Claude Code.
const PLUGIN: Shape = Shape {
    events: Events {
        edit: "tool.before",
        session: Some("session.start"),
        end: None,
        prompt: Some("prompt"),
        stop: None,
    },
    refusal: RefusalForm::Exit,
    context: ContextForm::Text,
    block: BlockForm::None,
    ..CLAUDE
};

const OPENCODE_TOOLS: &[(&str, Reads)] = &[
    ("edit", Reads::Path(&["filePath"])),
    ("write", Reads::Path(&["filePath"])),
    ("multiedit", Reads::Path(&["filePath"])),
    ("patch", Reads::Patch(&["patchText"])),
    ("apply_patch", Reads::Patch(&["patchText"])),
    ("bash", Reads::Shell("command")),
];

/// The agents, one row each.
pub const SHAPES: &[Shape] = &[
    CLAUDE,
    Shape {
        agent: Agent::Codex,
        name: "codex",
        title: "Codex",
        programs: &["codex"],
        events: Events { end: None, ..CLAUDE_EVENTS },
        tools: &[
            ("apply_patch", Reads::Patch(&["command", "input", "patch"])),
            ("Edit", Reads::Patch(&["command", "input", "patch"])),
            ("Write", Reads::Patch(&["command", "input", "patch"])),
            ("Bash", Reads::Shell("command")),
        ],
        refusal: RefusalForm::HookSpecific { asks: false },
        ..CLAUDE
    },
    Shape {
        agent: Agent::Gemini,
        name: "gemini",
        title: "Gemini CLI",
        programs: &["gemini"],
        events: Events {
            edit: "BeforeTool",
            session: Some("SessionStart"),
            end: Some("SessionEnd"),
            prompt: Some("BeforeAgent"),
            stop: Some("AfterAgent"),
        },
        tools: &[
            ("write_file", Reads::Path(&["file_path"])),
            ("replace", Reads::Path(&["file_path"])),
            ("run_shell_command", Reads::Shell("command")),
        ],
        refusal: RefusalForm::Decision,
        ..CLAUDE
    },
    Shape {
        agent: Agent::Copilot,
        name: "copilot",
        title: "GitHub Copilot CLI",
        programs: &["copilot"],
        events: Events {
            edit: "preToolUse",
            session: Some("sessionStart"),
            end: Some("sessionEnd"),
            prompt: Some("userPromptSubmitted"),
            stop: Some("agentStop"),
        },
        tool: &["/toolName", "/tool_name"],
        input: &["/toolArgs", "/tool_input"],
        session: &["/sessionId", "/session_id"],
        tools: &[
            ("edit", Reads::Path(&["path"])),
            ("create", Reads::Path(&["path"])),
            ("str_replace", Reads::Path(&["path"])),
            ("insert", Reads::Path(&["path"])),
            ("apply_patch", Reads::Patch(&["patch", "input"])),
            ("bash", Reads::Shell("command")),
        ],
        refusal: RefusalForm::Permission,
        context: ContextForm::Additional,
        ..CLAUDE
    },
    Shape {
        agent: Agent::Qwen,
        name: "qwen",
        title: "Qwen Code",
        programs: &["qwen"],
        tools: &[
            ("edit", Reads::Path(&["file_path"])),
            ("replace", Reads::Path(&["file_path"])),
            ("write_file", Reads::Path(&["file_path"])),
            ("run_shell_command", Reads::Shell("command")),
        ],
        ..CLAUDE
    },
    Shape {
        agent: Agent::Opencode,
        name: "opencode",
        title: "opencode",
        programs: &["opencode"],
        tools: OPENCODE_TOOLS,
        ..PLUGIN
    },
    Shape {
        agent: Agent::Kilo,
        name: "kilo",
        title: "Kilo Code",
        programs: &["kilo"],
        tools: OPENCODE_TOOLS,
        ..PLUGIN
    },
    Shape {
        agent: Agent::Cline,
        name: "cline",
        title: "Cline",
        programs: &["cline"],
        events: Events {
            edit: "PreToolUse",
            session: Some("TaskStart"),
            end: None,
            prompt: Some("UserPromptSubmit"),
            stop: None,
        },
        tool: &["/tool_call/name", "/preToolUse/toolName"],
        input: &["/tool_call/input", "/preToolUse/parameters"],
        session: &["/taskId", "/task_id", "/sessionId"],
        folder: &["/workspaceRoots/0"],
        tools: &[
            ("editor", Reads::Path(&["path"])),
            ("write_to_file", Reads::Path(&["path"])),
            ("replace_in_file", Reads::Path(&["path"])),
            ("apply_patch", Reads::Patch(&["patch", "input"])),
            ("run_commands", Reads::Shell("commands")),
            ("execute_command", Reads::Shell("command")),
        ],
        refusal: RefusalForm::OverrideInput,
        context: ContextForm::Modification,
        block: BlockForm::None,
        // Its hooks are started by a service that all its windows share.
        is_one_process: false,
    },
    Shape {
        agent: Agent::Pi,
        name: "pi",
        title: "pi",
        programs: &["pi"],
        tools: &[
            ("edit", Reads::Path(&["path"])),
            ("write", Reads::Path(&["path"])),
            ("bash", Reads::Shell("command")),
        ],
        ..PLUGIN
    },
    Shape {
        agent: Agent::Cursor,
        name: "cursor",
        title: "Cursor",
        programs: &["cursor-agent", "cursor"],
        events: Events {
            edit: "preToolUse",
            session: Some("sessionStart"),
            end: None,
            prompt: None,
            stop: Some("stop"),
        },
        session: &["/conversation_id", "/session_id"],
        folder: &["/cwd", "/workspace_roots/0"],
        tools: &[
            ("Write", Reads::Path(&["file_path", "path"])),
            ("Edit", Reads::Path(&["file_path", "path"])),
            ("StrReplace", Reads::Path(&["file_path", "path"])),
            ("Delete", Reads::Path(&["file_path", "path"])),
            ("Shell", Reads::Shell("command")),
        ],
        refusal: RefusalForm::Messages,
        context: ContextForm::Snake,
        block: BlockForm::Followup,
        is_one_process: false,
        ..CLAUDE
    },
];

impl Agent {
    /// The agent of a name.
    pub fn named(name: &str) -> Option<Self> {
        SHAPES.iter().find(|shape| shape.name == name).map(|shape| shape.agent)
    }

    /// The row of the table.
    pub fn shape(self) -> &'static Shape {
        // The table has a row for each; a test says so.
        SHAPES.iter().find(|shape| shape.agent == self).unwrap_or(&CLAUDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_one_row_and_is_found_by_its_name() {
        for shape in SHAPES {
            assert_eq!(Agent::named(shape.name), Some(shape.agent));
            assert_eq!(shape.agent.shape().name, shape.name);
            assert!(!shape.tools.is_empty(), "{}", shape.name);
        }
        let mut agents: Vec<Agent> = SHAPES.iter().map(|shape| shape.agent).collect();
        agents.sort_unstable();
        agents.dedup();
        assert_eq!(agents.len(), SHAPES.len());
        assert_eq!(Agent::named("nobody"), None);
    }
}
