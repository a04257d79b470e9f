//! What is written for each agent: its hooks, the MCP server and the primer, in its own files.

use std::path::Path;

use super::blocks::Marks;
use super::json::Json;
use crate::hook_shapes::{Agent, Shape};

/// The primer: what an agent has to know, in at most 300 tokens.
pub const PRIMER: &str = "\
## Several agents work here (Althing)

Agents and people change this repository at the same time. Althing keeps them apart.

- A file you edit is claimed for you. An edit or commit of a file that somebody else holds is refused, \
with the holder and the time it ends. Then work on something else, or ask: `althing send agent:NAME 'TEXT'`. \
Do not go around a refusal with another tool, the shell or `--no-verify`.
- Take work with `althing next`, hand it in with `althing done` or `althing blocked 'WHY'`.
- Before a large change: `althing claim PATH -m 'WHY'`. Release what you no longer need: `althing release PATH`.
- `althing claims` shows who holds what, `althing inbox` your messages, `althing ask 'WORDS'` what others \
learnt; `althing remember 'TEXT'` tells them.

Commands take `--as NAME`; you are told your name when a session starts. Over MCP the tools `next`, `claim`, \
`done`, `blocked`, `inbox`, `send`, `ask` and `remember` do the same.
";

/// How long an agent waits for a hook, in seconds.
const PATIENCE_SECS: u64 = 10;

/// Something to be in a file.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A file of our own.
    Own {
        /// Its content.
        content: String,
        /// Whether it is a program.
        is_program: bool,
    },
    /// Members and elements of a JSON file.
    Json(Vec<Op>),
    /// A marked block.
    Block {
        /// How it is marked.
        marks: Marks,
        /// Its lines.
        body: String,
    },
}

/// One thing to be in a JSON file.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// A member of the object at a path.
    Member(&'static [&'static str], &'static str, Json),
    /// An element of the array that is a member of the object at a path.
    Element(&'static [&'static str], &'static str, Json),
}

/// A file and what is to be in it.
pub(super) struct Wanted {
    /// The path from the project's root.
    pub(super) path: &'static str,
    pub(super) change: Change,
}

/// Settings that change what is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    /// Whether an agent is refused if Althing is missing or broken.
    pub closed: bool,
}

/// What is to be in the files of a project for an agent.
pub(super) fn wanted(agent: Agent, root: &Path, choice: Choice) -> Vec<Wanted> {
    let json = |path, ops| Wanted { path, change: Change::Json(ops) };
    let own =
        |path, content: String| Wanted { path, change: Change::Own { content, is_program: false } };
    let server = Op::Member(&["mcpServers"], "althing", server());
    let mut list = match agent {
        Agent::Claude => vec![
            json(".claude/settings.json", hooks(agent, choice)),
            json(".mcp.json", vec![server]),
        ],
        Agent::Codex => vec![
            json(".codex/hooks.json", hooks(agent, choice)),
            Wanted {
                path: ".codex/config.toml",
                change: Change::Block { marks: Marks::Hash, body: CODEX_SERVER.to_owned() },
            },
        ],
        Agent::Gemini => {
            vec![json(".gemini/settings.json", [hooks(agent, choice), vec![server]].concat())]
        }
        Agent::Qwen => {
            vec![json(".qwen/settings.json", [hooks(agent, choice), vec![server]].concat())]
        }
        Agent::Copilot => vec![
            own(".github/hooks/althing.json", copilot_hooks(choice)),
            json(".mcp.json", vec![server]),
        ],
        Agent::Opencode => {
            let settings = first_of(root, &["opencode.jsonc", "opencode.json"]);
            vec![
                own(".opencode/plugins/althing.js", plugin(agent, choice)),
                json(settings, vec![local_server()]),
            ]
        }
        Agent::Kilo => {
            let settings = first_of(root, &["kilo.jsonc", "kilo.json"]);
            vec![
                own(".kilo/plugins/althing.js", plugin(agent, choice)),
                json(settings, vec![local_server()]),
            ]
        }
        Agent::Cline => cline(choice),
        Agent::Pi => vec![own(".pi/extensions/althing.js", extension(choice))],
        Agent::Cursor => vec![
            json(".cursor/hooks.json", cursor_hooks(choice)),
            json(".cursor/mcp.json", vec![server]),
        ],
    };
    let primer = Change::Block { marks: Marks::Markdown, body: PRIMER.to_owned() };
    list.push(Wanted { path: primer_file(agent, root), change: primer });
    list
}

/// The file that the primer goes into: the one the agent reads at its start.
fn primer_file(agent: Agent, root: &Path) -> &'static str {
    match agent {
        Agent::Gemini => "GEMINI.md",
        // Claude Code reads AGENTS.md only if there is no CLAUDE.md, or if that names it.
        Agent::Claude => match std::fs::read_to_string(root.join("CLAUDE.md")) {
            Ok(text) if text.contains("@AGENTS.md") => "AGENTS.md",
            Ok(_) => "CLAUDE.md",
            Err(_) => "AGENTS.md",
        },
        _ => "AGENTS.md",
    }
}

/// The first of some files that exists, or else the last.
fn first_of(root: &Path, names: &[&'static str]) -> &'static str {
    let there = names.iter().find(|name| root.join(name).exists());
    there.or(names.last()).copied().unwrap_or_default()
}

/// Something to know once an agent is wired.
pub fn note(agent: Agent) -> Option<&'static str> {
    Some(match agent {
        Agent::Codex => {
            "Codex runs project hooks only after you trusted them: start `codex` here once and confirm. \
             Headless runs take `--dangerously-bypass-hook-trust`."
        }
        Agent::Gemini => {
            "Gemini CLI loads project hooks only in a trusted folder: confirm when it asks."
        }
        Agent::Copilot => {
            "Copilot CLI loads project hooks only in a trusted folder: confirm, or pass `--trust-folder`."
        }
        Agent::Cline => {
            "Cline reads MCP servers from your own settings only: add `althing mcp` there if you want it."
        }
        Agent::Cursor => "The hooks of Cursor follow its documentation; they were not tried here.",
        _ => return None,
    })
}

/// The MCP server, as most agents write it.
fn server() -> Json {
    Json::Object(vec![
        ("command", Json::text("althing")),
        ("args", Json::Array(vec![Json::text("mcp")])),
    ])
}

/// The MCP server for opencode and Kilo.
fn local_server() -> Op {
    let command = Json::Array(vec![Json::text("althing"), Json::text("mcp")]);
    let server = Json::Object(vec![("type", Json::text("local")), ("command", command)]);
    Op::Member(&["mcp"], "althing", server)
}

/// Codex starts servers without the environment, so the variables are named.
const CODEX_SERVER: &str = "\
[mcp_servers.althing]
command = \"althing\"
args = [\"mcp\"]
env_vars = [\"ALTHING_AGENT\", \"ALTHING_RUN\", \"ALTHING_TASK\", \"ALTHING_WORKSPACE\", \"ALTHING_HOME\"]
default_tools_approval_mode = \"approve\"
";

/// The command of a hook. Where an agent takes a missing program for a refusal, the program is looked
/// for first, so that the project stays usable for those who do not have it.
fn command(shape: &Shape, word: &str, choice: Choice) -> String {
    let command = format!("althing hook {word} --agent {}", shape.name);
    let refuses = matches!(shape.agent, Agent::Gemini | Agent::Copilot | Agent::Cline);
    if refuses && !choice.closed {
        format!("command -v althing >/dev/null 2>&1 || exit 0; {command}")
    } else {
        command
    }
}

/// The hooks of an agent that follows Claude Code, as one JSON object: for files, or to be handed
/// over when the agent is started.
pub fn hooks_object(agent: Agent, choice: Choice) -> Json {
    let mut events: Vec<(&'static str, Json)> = Vec::new();
    for (event, group) in groups(agent.shape(), choice) {
        events.push((event, Json::Array(vec![group])));
    }
    Json::Object(vec![("hooks", Json::Object(events))])
}

fn hooks(agent: Agent, choice: Choice) -> Vec<Op> {
    let groups = groups(agent.shape(), choice).into_iter();
    groups.map(|(event, group)| Op::Element(&["hooks"], event, group)).collect()
}

/// The matcher of the tools that write: their names.
fn matcher(shape: &Shape) -> String {
    let mut names: Vec<&str> = shape.tools.iter().map(|(name, _)| *name).collect();
    // For Codex these also match patches.
    names.retain(|name| !(shape.agent == Agent::Codex && *name == "apply_patch"));
    names.join("|")
}

fn groups(shape: &Shape, choice: Choice) -> Vec<(&'static str, Json)> {
    // Gemini CLI counts milliseconds.
    let patience = if shape.agent == Agent::Gemini { PATIENCE_SECS * 1000 } else { PATIENCE_SECS };
    let hook = |word: &str| {
        let mut hook = vec![
            ("type", Json::text("command")),
            ("command", Json::text(command(shape, word, choice))),
            ("timeout", Json::Number(patience)),
        ];
        if shape.agent == Agent::Claude && choice.closed && word == "edit" {
            hook.push(("onFailure", Json::text("block")));
        }
        Json::Array(vec![Json::Object(hook)])
    };
    let plain = |word: &str| Json::Object(vec![("hooks", hook(word))]);
    let edit = Json::Object(vec![("matcher", Json::text(matcher(shape))), ("hooks", hook("edit"))]);
    let mut groups = vec![(shape.events.edit, edit)];
    groups.extend(shape.events.session.map(|event| (event, plain("session"))));
    groups.extend(shape.events.prompt.map(|event| (event, plain("prompt"))));
    groups.extend(shape.events.stop.map(|event| (event, plain("stop"))));
    groups.extend(shape.events.end.map(|event| (event, plain("session"))));
    groups
}

fn copilot_hooks(choice: Choice) -> String {
    let shape = Agent::Copilot.shape();
    let hook = |word: &str| {
        let plain = format!("althing hook {word} --agent {}", shape.name);
        let hook = Json::Object(vec![
            ("type", Json::text("command")),
            ("bash", Json::text(command(shape, word, choice))),
            ("powershell", Json::text(plain)),
            ("timeoutSec", Json::Number(PATIENCE_SECS)),
        ]);
        Json::Array(vec![hook])
    };
    let mut events = vec![(shape.events.edit, hook("edit"))];
    events.extend(shape.events.session.map(|event| (event, hook("session"))));
    events.extend(shape.events.prompt.map(|event| (event, hook("prompt"))));
    events.extend(shape.events.stop.map(|event| (event, hook("stop"))));
    events.extend(shape.events.end.map(|event| (event, hook("session"))));
    let all = Json::Object(vec![("version", Json::Number(1)), ("hooks", Json::Object(events))]);
    format!("{}\n", all.pretty(&super::json::Style::default(), ""))
}

fn cursor_hooks(choice: Choice) -> Vec<Op> {
    let shape = Agent::Cursor.shape();
    let hook = |word: &str, more: Vec<(&'static str, Json)>| {
        let command = Json::text(command(shape, word, choice));
        Json::Object([vec![("command", command)], more].concat())
    };
    let mut edit = vec![("matcher", Json::text(matcher(shape)))];
    if choice.closed {
        edit.push(("failClosed", Json::Bool(true)));
    }
    let mut ops = vec![
        Op::Member(&[], "version", Json::Number(1)),
        Op::Element(&["hooks"], shape.events.edit, hook("edit", edit)),
    ];
    for (event, word) in [(shape.events.session, "session"), (shape.events.stop, "stop")] {
        ops.extend(event.map(|event| Op::Element(&["hooks"], event, hook(word, Vec::new()))));
    }
    ops
}

fn cline(choice: Choice) -> Vec<Wanted> {
    let shape = Agent::Cline.shape();
    let script = |path, word: &str| {
        let command = command(shape, word, choice).replace("; ", "\n");
        let content = format!(
            "#!/bin/sh\n# Written by `althing init`; `althing uninit` removes it.\n{command}\n"
        );
        Wanted { path, change: Change::Own { content, is_program: true } }
    };
    vec![
        script(".clinerules/hooks/PreToolUse", "edit"),
        script(".clinerules/hooks/TaskStart", "session"),
        script(".clinerules/hooks/UserPromptSubmit", "prompt"),
    ]
}

/// What a plugin does if the program is missing.
fn if_missing(choice: Choice) -> &'static str {
    if choice.closed {
        "return 'Althing is missing or broken, and this project asks for it.';"
    } else {
        "return;"
    }
}

/// The part that plugins in JavaScript share: they ask the program and hand its answer on.
fn bridge(shape: &Shape, choice: Choice) -> String {
    let tools: Vec<String> =
        shape.tools.iter().map(|(name, _)| super::json::quoted(name)).collect();
    format!(
        "// Written by `althing init`; `althing uninit` removes it.\n\
         import {{ spawnSync }} from 'node:child_process';\n\n\
         const WRITES = new Set([{tools}]);\n\n\
         const call = (word, about) => spawnSync('althing', ['hook', word, '--agent', '{name}'],\n\
         \x20 {{ input: JSON.stringify(about), timeout: {patience}, encoding: 'utf8', cwd: about.cwd }});\n\n\
         // The reason why a tool must not run, if there is one.\n\
         const refusal = (about) => {{\n\
         \x20 if (!WRITES.has(about.tool_name)) return;\n\
         \x20 const said = call('edit', about);\n\
         \x20 if (said.status === 2) return said.stderr.trim();\n\
         \x20 if (said.status !== 0) {missing}\n\
         }};\n\n\
         // A text for the conversation, if there is one.\n\
         const told = (word, about) => {{\n\
         \x20 const said = call(word, about);\n\
         \x20 return said.status === 0 ? said.stdout.trim() : '';\n\
         }};\n\n",
        tools = tools.join(", "),
        name = shape.name,
        patience = PATIENCE_SECS * 1000,
        missing = if_missing(choice),
    )
}

/// The plugin of opencode and Kilo.
fn plugin(agent: Agent, choice: Choice) -> String {
    let own = "\
export const Althing = async ({ directory }) => {
  const about = (session, more) => ({ session_id: session, cwd: directory, ...more });
  const begun = new Map();
  return {
    'tool.execute.before': async (input, output) => {
      const why = refusal(about(input.sessionID, { tool_name: input.tool, tool_input: output.args }));
      if (why) throw new Error(why);
    },
    // The same text with every request of a session, so that caches stay valid.
    'experimental.chat.system.transform': async (input, output) => {
      if (!input.sessionID) return;
      if (!begun.has(input.sessionID)) begun.set(input.sessionID, told('session', about(input.sessionID)));
      if (begun.get(input.sessionID)) output.system.push(begun.get(input.sessionID));
    },
    'chat.message': async (input, output) => {
      const text = told('prompt', about(input.sessionID));
      if (!text) return;
      const id = 'prt_' + Date.now().toString(16).padStart(12, '0') + 'althing';
      output.parts.push({
        id, sessionID: input.sessionID, messageID: output.message.id, type: 'text', text, synthetic: true,
      });
    },
  };
};
";
    format!("{}{own}", bridge(agent.shape(), choice))
}

/// The extension of pi.
fn extension(choice: Choice) -> String {
    let own = "\
export default (pi) => {
  const about = (ctx, more) => ({
    session_id: ctx?.sessionManager?.getSessionId?.(), cwd: ctx?.cwd ?? process.cwd(), ...more,
  });
  let begun = false;
  pi.on('tool_call', async (event, ctx) => {
    const reason = refusal(about(ctx, { tool_name: event.toolName, tool_input: event.input }));
    if (reason) return { block: true, reason };
  });
  pi.on('before_agent_start', async (_, ctx) => {
    const texts = [begun ? '' : told('session', about(ctx)), told('prompt', about(ctx))];
    begun = true;
    const content = texts.filter(Boolean).join('\\n\\n');
    if (content) return { message: { customType: 'althing', content, display: true } };
  });
};
";
    format!("{}{own}", bridge(Agent::Pi.shape(), choice))
}

/// Whether a hook in a file is one of ours.
pub(super) fn is_own_command(command: &str) -> bool {
    let words: Vec<&str> = command.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    words.windows(2).any(|pair| {
        let program = pair[0].rsplit(['/', '\\']).next().unwrap_or(pair[0]);
        matches!(program, "althing" | "althing.exe") && pair[1] == "hook"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_shapes::SHAPES;

    /// An agent reads it in every session, so it has to stay short.
    #[test]
    fn the_primer_has_at_most_300_tokens() {
        let tokens = althing_dialects::frugal::tokens::count(PRIMER);
        assert!(tokens <= 300, "{tokens}");
    }

    #[test]
    fn every_agent_gets_a_hook_before_edits_and_the_primer() {
        let root = std::env::temp_dir().join("no such project");
        for shape in SHAPES {
            let list = wanted(shape.agent, &root, Choice::default());
            let has =
                |text: &str| list.iter().any(|own| format!("{:?}", own.change).contains(text));
            assert!(has("edit") && has("hook"), "{}", shape.name);
            assert!(has("Several agents work here"), "{}", shape.name);
            assert!(list.iter().all(|own| Path::new(own.path).is_relative()));
        }
    }

    #[test]
    fn our_commands_are_told_from_others() {
        for own in [
            "althing hook edit --agent claude",
            "/usr/local/bin/althing hook stop",
            "command -v althing >/dev/null 2>&1 || exit 0; althing hook edit --agent gemini",
        ] {
            assert!(is_own_command(own), "{own}");
        }
        for other in ["", "echo althing", "my-althing hook", "althing claims", "hook althing"] {
            assert!(!is_own_command(other), "{other}");
        }
    }
}
