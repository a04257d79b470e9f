//! Types of `ledger`: state, arguments of commands and bodies of events.

use imbl::OrdMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::num::NonZeroU32;

use crate::model::runs::workspace::meter::Amount;
use crate::values::label::Label;
use crate::values::time::JSON_INTEGER_MAX;

/// The most names of one sort with sums of their own; what comes after is added up as [`OTHER`].
pub const NAMES_MAX: usize = 5_000;

/// The name that stands for those beyond.
pub const OTHER: &str = "(other)";

/// The most roles with a baseline.
pub const BASELINES_MAX: usize = 1_000;

/// `ledger.log`, and `ledger.logged`: counts tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Whose tokens they are; the caller's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Label>,
    /// What sort of message they were.
    pub kind: Label,
    /// How many messages they were in; one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<NonZeroU32>,
    /// Which message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<Label>,
    /// In which role.
    pub role: Label,
    /// For which task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    /// What counted them; if left out, the caller reports a number of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<Label>,
    /// How many.
    pub tokens: Amount,
    /// For which tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
}

/// `ledger.baseline`, and `ledger.baselined`: says what a role used before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Which role.
    pub role: Label,
    /// How many tokens.
    pub tokens: Amount,
}

/// By what tokens are summed up.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The role.
    #[default]
    Role,
    /// Whose they are.
    Agent,
    /// The task.
    Task,
    /// The tool.
    Tool,
    /// The sort of message.
    Kind,
}

/// The most tokens of a line. No message is that large, and a ledger that somebody fills to the
/// brim with one line would be closed to everybody.
pub const LINE_TOKENS_MAX: u64 = 1_000_000_000;

/// The most messages of a line.
pub const LINE_MESSAGES_MAX: u32 = 1_000_000;

/// What counts tokens here. Whatever else counted them, the number is what the caller says.
const TOKENIZER: &str = "o200k_base";

/// How kinds of lines begin that cost tokens only because there are tools.
const TOOL_KINDS: &str = "tool_";

/// A sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// All tokens.
    pub tokens: u64,
    /// Those among them that a tokenizer counted.
    pub counted: u64,
    /// Those among them that are spent only because there are tools.
    pub tools: u64,
    /// In how many messages.
    pub messages: u64,
}

/// What one line adds to a sum.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) tokens: u64,
    pub(crate) messages: u64,
    pub(crate) counted: bool,
    pub(crate) tools: bool,
}

impl Line {
    pub(crate) fn of(body: &Log) -> Self {
        let tools = body.tool.is_some() || body.kind.as_str().starts_with(TOOL_KINDS);
        let messages = body.messages.map_or(1, |messages| messages.get().into());
        let counted = body.tokenizer.as_ref().is_some_and(|own| own.as_str() == TOKENIZER);
        Line { tokens: body.tokens.get(), messages, counted, tools }
    }
}

impl Sum {
    /// Whether a line can be added and the sum stays exact.
    pub(crate) fn takes(&self, line: Line) -> bool {
        let fits =
            |sum: u64, more: u64| sum.checked_add(more).is_some_and(|sum| sum <= JSON_INTEGER_MAX);
        fits(self.tokens, line.tokens) && fits(self.messages, line.messages)
    }

    pub(crate) fn add(&mut self, Line { tokens, messages, counted, tools }: Line) {
        let plus = |sum: u64, more: u64| sum.saturating_add(more).min(JSON_INTEGER_MAX);
        self.tokens = plus(self.tokens, tokens);
        self.counted = plus(self.counted, if counted { tokens } else { 0 });
        self.tools = plus(self.tools, if tools { tokens } else { 0 });
        self.messages = plus(self.messages, messages);
    }
}

/// Sums of tokens by names of one sort.
pub(crate) type Sums = OrdMap<Label, Sum>;

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) roles: Sums,
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) agents: Sums,
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) tasks: Sums,
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) tools: Sums,
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) kinds: Sums,
    pub(crate) all: Sum,
    #[serde(with = "crate::values::ordered::map")]
    pub(crate) baselines: OrdMap<Label, u64>,
}

impl Ledger {
    /// The sums by one sort of name, in the order of the names.
    pub fn by(&self, by: By) -> &Sums {
        match by {
            By::Role => &self.roles,
            By::Agent => &self.agents,
            By::Task => &self.tasks,
            By::Tool => &self.tools,
            By::Kind => &self.kinds,
        }
    }

    /// Everything that was counted.
    pub fn all(&self) -> Sum {
        self.all
    }

    /// What roles used before, in the order of their names.
    pub fn baselines(&self) -> impl Iterator<Item = (&Label, u64)> {
        self.baselines.iter().map(|(role, tokens)| (role, *tokens))
    }

    /// What a role used before.
    pub fn baseline(&self, role: &Label) -> Option<u64> {
        self.baselines.get(role).copied()
    }

    pub(crate) fn size(&self) -> usize {
        let sorts = [By::Role, By::Agent, By::Task, By::Tool, By::Kind];
        sorts.into_iter().map(|by| self.by(by).len()).sum::<usize>() + self.baselines.len()
    }
}
