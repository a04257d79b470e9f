//! Plugins for agents whose hooks are JavaScript. They ask `althing hook` and do nothing else.

use super::handover::Moment;
use std::fmt::Write as _;

/// The program that answers, and the agent that asks.
pub(super) struct HookCommand {
    pub(super) program: String,
    pub(super) agent: &'static str,
}

/// Asks `althing hook`. Exit code 2 refuses, with the reason on standard error. Anything else that
/// goes wrong lets the call through: the commit and the merge still refuse it.
const ASK: &str = r#"import { spawnSync } from "node:child_process";

const ask = (moment, payload) => {
  const ran = spawnSync(PROGRAM, ["hook", moment, "--agent", AGENT], {
    input: JSON.stringify(payload), encoding: "utf8", timeout: 10000, maxBuffer: 1 << 24,
  });
  if (ran.error) return {};
  if (ran.status === 2) return { refused: ran.stderr.trim() || "refused by Althing" };
  const text = ran.status === 0 ? ran.stdout.trim() : "";
  if (!text) return {};
  try {
    const answer = JSON.parse(text);
    const own = answer.hookSpecificOutput ?? answer;
    return { context: own.additionalContext ?? answer.additionalContext };
  } catch {
    return { context: text };
  }
};
"#;

/// Tools that only read. Asking costs the start of a process.
const READERS: &str = r#"
const READERS = new Set(["read", "grep", "glob", "list", "ls", "find", "webfetch", "websearch",
  "todowrite", "todoread", "skill", "question"]);
"#;

fn begin(command: &HookCommand) -> String {
    let ask = ASK.replace("PROGRAM", &quoted(&command.program));
    format!("{}{READERS}", ask.replace("AGENT", &quoted(command.agent)))
}

/// The plugin of `opencode` and `kilo`.
pub(super) fn for_opencode(command: &HookCommand, moments: &[Moment]) -> String {
    let mut text = begin(command);
    // The system prompt is made anew for every request; what it is told stays the same.
    text.push_str("\nconst told = new Map();\n");
    text.push_str("\nexport const Althing = async ({ directory }) => ({\n");
    if moments.contains(&Moment::Edit) {
        text.push_str(
            r#"  "tool.execute.before": async (input, output) => {
    if (READERS.has(input.tool)) return;
    const { refused } = ask("edit", {
      tool: input.tool, args: output.args, cwd: directory, session_id: input.sessionID,
    });
    if (refused) throw new Error(refused);
  },
"#,
        );
    }
    if moments.contains(&Moment::Session) {
        text.push_str(
            r#"  "experimental.chat.system.transform": async (input, output) => {
    const session = input?.sessionID;
    if (!told.has(session)) {
      told.set(session, ask("session", { cwd: directory, session_id: session }).context);
    }
    if (told.get(session)) output.system.push(told.get(session));
  },
"#,
        );
    }
    text.push_str("});\n");
    text
}

/// The extension of `pi`.
pub(super) fn for_pi(command: &HookCommand, moments: &[Moment]) -> String {
    let mut text = begin(command);
    text.push_str("\nexport default (pi) => {\n");
    if moments.contains(&Moment::Edit) {
        text.push_str(
            r#"  pi.on("tool_call", async (call) => {
    if (READERS.has(call.toolName)) return;
    const { refused } = ask("edit", { toolName: call.toolName, input: call.input, cwd: process.cwd() });
    if (refused) return { block: true, reason: refused };
  });
"#,
        );
    }
    if moments.contains(&Moment::Session) {
        text.push_str(
            r#"  pi.on("before_agent_start", async () => {
    const { context } = ask("session", { cwd: process.cwd() });
    if (context) return { message: { customType: "althing", content: context, display: true } };
  });
"#,
        );
    }
    text.push_str("};\n");
    text
}

/// A text as JavaScript reads it.
fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A path in a URL.
pub(super) fn escaped(path: &str) -> String {
    let mut url = String::with_capacity(path.len());
    for byte in path.bytes() {
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || "/._-~".contains(character) {
            url.push(character);
        } else {
            // Writing to a string does not fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}
