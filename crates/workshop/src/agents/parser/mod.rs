//! From an agent's output to events, line by line.
//!
//! Every agent has a form of its own. Lines that are none of it, cut lines and fields that are
//! missing or of another type are never an error: output is evidence, not a contract.

mod aider;
mod claude;
mod cline;
mod codex;
mod copilot;
mod gemini;
mod json_lines;
mod opencode;
mod pi;
mod single;

use serde_json::Value;
use std::collections::BTreeMap;

use super::event::{Event, Usage};
use super::lines::{Lines, readable};
use crate::process::NOTE;

/// The longest text in an event.
const TEXT_MAX: usize = 64 << 10;
/// The longest summary of a tool call.
const SUMMARY_MAX: usize = 160;

/// The form of an agent's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Claude Code's `stream-json`.
    Claude,
    /// Qwen Code's, which follows Claude's but counts tokens differently.
    Qwen,
    /// Cursor's, which follows Claude's.
    Cursor,
    /// `codex exec --json`.
    Codex,
    /// Gemini CLI's `stream-json`.
    Gemini,
    /// `opencode run --format json`, also Kilo's.
    Opencode,
    /// GitHub Copilot CLI's JSON lines.
    Copilot,
    /// `cline --json`.
    Cline,
    /// `pi --mode json`.
    Pi,
    /// One JSON object at the end: Continue's `cn`.
    Single,
    /// Text with aider's phrases in it.
    Aider,
    /// Any program's lines such as `{"usage":{"input_tokens":1,"output_tokens":2}}`.
    JsonLines,
    /// Text.
    Plain,
}

impl Format {
    /// Whether success needs a final event. Without one, exit code 0 says nothing: several agents
    /// exit with 0 when they are interrupted.
    pub fn reports_its_end(self) -> bool {
        !matches!(self, Format::Aider | Format::JsonLines | Format::Plain)
    }

    /// Whether the agent counts the whole session when it is resumed, and not only this turn.
    fn session_totals(self) -> Totals {
        match self {
            Format::Claude => Totals::Cost,
            Format::Codex | Format::Qwen => Totals::All,
            _ => Totals::None,
        }
    }
}

/// Which counts go on when a session is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Totals {
    None,
    Cost,
    All,
}

/// Reads one agent's output in one turn.
#[derive(Debug)]
pub struct Parser {
    format: Format,
    lines: Lines,
    state: State,
}

impl Parser {
    /// A parser for a turn. `before` is what the same session used in earlier turns: some agents
    /// count the whole session when they are resumed.
    pub fn new(format: Format, before: Usage) -> Self {
        let before = match format.session_totals() {
            Totals::None => Usage::default(),
            Totals::Cost => {
                Usage { cost_microdollars: before.cost_microdollars, ..Usage::default() }
            }
            Totals::All => before,
        };
        Parser { format, lines: Lines::default(), state: State { before, ..State::default() } }
    }

    /// Takes a piece of output and returns what it says.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let lines = self.lines.take(bytes);
        for line in lines {
            self.line(&line);
        }
        std::mem::take(&mut self.state.events)
    }

    /// Takes note that some output is missing here.
    pub fn skip(&mut self) {
        self.lines.skip();
    }

    /// Takes the last line, which may have no end.
    pub fn finish(&mut self) -> Vec<Event> {
        if let Some(line) = self.lines.finish() {
            self.line(&line);
        }
        std::mem::take(&mut self.state.events)
    }

    fn line(&mut self, line: &str) {
        if line.starts_with(NOTE) {
            return;
        }
        let state = &mut self.state;
        if matches!(self.format, Format::Plain | Format::Aider) {
            return match self.format {
                Format::Aider => aider::read(line, state),
                _ => state.text(line),
            };
        }
        let value: Option<Value> =
            line.trim_start().starts_with('{').then(|| serde_json::from_str(line).ok()).flatten();
        let Some(value) = value else { return self.note(line) };
        match self.format {
            Format::Claude | Format::Qwen | Format::Cursor => {
                claude::read(self.format, &value, state);
            }
            Format::Codex => codex::read(&value, state),
            Format::Gemini => gemini::read(&value, state),
            Format::Opencode => opencode::read(&value, state),
            Format::Copilot => copilot::read(&value, state),
            Format::Cline => cline::read(&value, state),
            Format::Pi => pi::read(&value, state),
            Format::Single => single::read(&value, state),
            Format::JsonLines => json_lines::read(&value, line, state),
            Format::Plain | Format::Aider => {}
        }
    }

    /// A line that is no JSON. Qwen reports limits only here.
    fn note(&mut self, line: &str) {
        let state = &mut self.state;
        match self.format {
            Format::JsonLines => state.text(line),
            Format::Qwen if line.contains("[API Error:") => state.trouble(None, line),
            _ => state.events.push(Event::Note(cut(line))),
        }
    }
}

/// What readers remember between lines, and the events they make.
#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    session: Option<String>,
    /// What the session had used before this turn, as far as the agent counts it again.
    before: Usage,
    /// What this turn used, for agents that report pieces.
    usage: Usage,
    /// What each message used, for agents that report a message several times.
    messages: BTreeMap<String, Usage>,
    /// Files that calls under way are about.
    calls: BTreeMap<String, String>,
    /// The last words of the model.
    last_text: Option<String>,
    has_finished: bool,
}

impl State {
    fn started(&mut self, session: Option<&str>) {
        let Some(session) = session else { return };
        if self.session.as_deref() != Some(session) {
            self.session = Some(session.to_owned());
            self.events.push(Event::Started { session: session.to_owned() });
        }
    }

    fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.last_text = Some(cut(text));
            self.events.push(Event::Text(cut(text)));
        }
    }

    fn tool(&mut self, name: &str, path: Option<&str>, about: Option<&str>) {
        let about = path.or(about).unwrap_or_default();
        let summary = readable(&format!("{name} {}", first_line(about)), SUMMARY_MAX);
        let (name, path) = (name.to_owned(), path.map(str::to_owned));
        self.events.push(Event::Tool { name, path, summary });
    }

    fn changed(&mut self, path: &str) {
        self.events.push(Event::FileChanged { path: path.to_owned() });
    }

    /// Remembers the file that a call is about, until its result comes.
    fn call(&mut self, id: Option<&str>, path: Option<&str>) {
        if let (Some(id), Some(path)) = (id, path) {
            self.calls.insert(id.to_owned(), path.to_owned());
        }
    }

    /// The result of a call: its file was changed, or not.
    fn called(&mut self, id: Option<&str>, is_changed: bool) {
        if let Some(path) = id.and_then(|id| self.calls.remove(id)).filter(|_| is_changed) {
            self.changed(&path);
        }
    }

    /// Reports what the turn used, from a count of the agent's own.
    fn used(&mut self, total: Usage) {
        let usage = total.since(self.before);
        if usage != Usage::default() {
            self.usage = usage;
            self.events.push(Event::Usage(usage));
        }
    }

    /// Adds what a step used.
    fn used_more(&mut self, piece: Usage) {
        if piece != Usage::default() {
            self.usage = self.usage.plus(piece);
            self.events.push(Event::Usage(self.usage));
        }
    }

    fn trouble(&mut self, status: Option<u64>, message: &str) {
        self.events.push(super::trouble::event(status, &cut(message)));
    }

    fn finished(&mut self, text: Option<&str>, ok: bool) {
        let text = text.map(cut).or_else(|| self.last_text.clone());
        self.has_finished = true;
        self.events.push(Event::Finished { text, ok });
    }
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_MAX);
    text[..end].to_owned()
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// The file that the arguments of a tool name, by whatever name they have for it.
fn path_in(arguments: &Value) -> Option<&str> {
    let names =
        ["/file_path", "/filePath", "/path", "/notebook_path", "/filepath", "/absolute_path"];
    names.iter().find_map(|name| super::json::text(arguments, name))
}

/// The command or the question in the arguments of a tool.
fn about_in(arguments: &Value) -> Option<&str> {
    let names = [
        "/command",
        "/commands/0",
        "/cmd",
        "/pattern",
        "/query",
        "/url",
        "/prompt",
        "/description",
    ];
    names.iter().find_map(|name| super::json::text(arguments, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [Format; 13] = [
        Format::Claude,
        Format::Qwen,
        Format::Cursor,
        Format::Codex,
        Format::Gemini,
        Format::Opencode,
        Format::Copilot,
        Format::Cline,
        Format::Pi,
        Format::Single,
        Format::Aider,
        Format::JsonLines,
        Format::Plain,
    ];

    #[test]
    fn nothing_an_agent_prints_is_an_error() {
        let deep = format!("{}{}", "{\"a\":".repeat(500), "}".repeat(500));
        let lines = [
            "",
            "{",
            "{}",
            "null",
            "[]",
            "{\"type\":7}",
            "{\"type\":\"result\"}",
            "\u{0}\u{1b}[2J",
            "{\"type\":\"assistant\",\"message\":[]}",
            "{\"type\":\"item.completed\",\"item\":1}",
            "{\"type\":\"result\",\"usage\":{\"input_tokens\":-1}}",
            "{\"usage\":[]}",
            "{\"type\":\"step_finish\",\"part\":{\"tokens\":\"x\",\"cost\":\"y\"}}",
            "{\"type\":\"turn_end\"}",
            "{\"type\":\"session.error\"}",
            &deep,
        ];
        for format in FORMATS {
            let mut parser = Parser::new(format, Usage::default());
            for line in lines {
                for piece in format!("{line}\n").as_bytes().chunks(3) {
                    parser.take(piece);
                }
            }
            parser.take(&[0xff, 0xfe, b'{', b'\n']);
            parser.finish();
        }
    }

    #[test]
    fn notes_of_our_own_are_nobodys_words() {
        for format in FORMATS {
            let mut parser = Parser::new(format, Usage::default());
            let events = parser.take(format!("{NOTE}the log continues at byte 7\n").as_bytes());
            assert_eq!(events, []);
        }
    }
}
