//! The token ledger: reported token use, summed by role, agent, task, tool and kind.

use imbl::OrdMap;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::num::NonZeroU32;

use crate::model::runs::workspace::meter::Amount;
use crate::values::label::Label;
use crate::values::time::JSON_INTEGER_MAX;

/// The most names per grouping with sums of their own; further names are summed as [`OTHER`].
pub const NAMES_MAX: usize = 5_000;

/// The name under which further names are summed.
pub const OTHER: &str = "(other)";

/// The most roles with a baseline.
pub(crate) const BASELINES_MAX: usize = 1_000;

/// `ledger.log` and `ledger.logged`: reports the use of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The agent that used them; the caller by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Label>,
    /// The kind of message.
    pub kind: Label,
    /// The number of messages; one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<NonZeroU32>,
    /// The id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msg_id: Option<Label>,
    /// The role.
    pub role: Label,
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    /// The tokenizer that counted them; without one the number is the caller's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<Label>,
    /// The number of tokens.
    pub tokens: Amount,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Label>,
}

/// `ledger.baseline` and `ledger.baselined`: sets the tokens that a role used before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The role.
    pub role: Label,
    /// The number of tokens.
    pub tokens: Amount,
}

/// The grouping of a token report.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The role.
    #[default]
    Role,
    /// The agent.
    Agent,
    /// The task.
    Task,
    /// The tool.
    Tool,
    /// The kind of message.
    Kind,
}

/// The most tokens of a line. No message is that large, and a larger limit would let one line fill
/// the ledger up for everybody.
pub(crate) const LINE_TOKENS_MAX: u64 = 1_000_000_000;

/// The most messages of a line.
pub(crate) const LINE_MESSAGES_MAX: u32 = 1_000_000;

/// The tokenizer whose counts are trusted; counts by others are taken as reported by the caller.
const TOKENIZER: &str = "o200k_base";

/// The prefix of kinds that are counted as tool overhead.
const TOOL_KINDS: &str = "tool_";

/// A sum of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// All tokens.
    pub tokens: u64,
    /// The tokens that a trusted tokenizer counted.
    pub counted: u64,
    /// The tokens that are tool overhead.
    pub tools: u64,
    /// The number of messages.
    pub messages: u64,
}

/// A ledger line, in the form in which it is added to a sum.
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
    /// Whether a line can be added without the sum exceeding exact JSON integers.
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

/// Sums by name, within one grouping.
pub(crate) type Sums = OrdMap<Label, Sum>;

/// The token ledger.
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
    /// The sums of one grouping, sorted by name.
    pub fn by(&self, by: By) -> &Sums {
        match by {
            By::Role => &self.roles,
            By::Agent => &self.agents,
            By::Task => &self.tasks,
            By::Tool => &self.tools,
            By::Kind => &self.kinds,
        }
    }

    /// The sum over everything.
    pub fn all(&self) -> Sum {
        self.all
    }

    /// The baselines, sorted by role.
    pub fn baselines(&self) -> impl Iterator<Item = (&Label, u64)> {
        self.baselines.iter().map(|(role, tokens)| (role, *tokens))
    }

    /// The baseline of a role, if set.
    pub fn baseline(&self, role: &Label) -> Option<u64> {
        self.baselines.get(role).copied()
    }

    pub(crate) fn size(&self) -> usize {
        let sorts = [By::Role, By::Agent, By::Task, By::Tool, By::Kind];
        sorts.into_iter().map(|by| self.by(by).len()).sum::<usize>() + self.baselines.len()
    }
}
