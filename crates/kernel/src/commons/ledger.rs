//! The ledger of tokens: what messages cost, by whom and for what, beside what they cost before.
//!
//! The trail has every line; the state has sums. A line either says which tokenizer counted it,
//! or it was reported by whoever logged it, and the sums keep the two apart.

use imbl::OrdMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

use super::view::{BaselineView, CommonsReply, SumView};
use super::{Commons, Label, record, room};
use crate::event::{Event, Stamped};
use crate::principal::{Actor, Caller, Principal};
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::State;
use crate::time::JSON_INTEGER_MAX;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::meter::Amount;

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
struct Line {
    tokens: u64,
    messages: u64,
    counted: bool,
    tools: bool,
}

impl Line {
    fn of(body: &Log) -> Self {
        let tools = body.tool.is_some() || body.kind.as_str().starts_with(TOOL_KINDS);
        let messages = body.messages.map_or(1, |messages| messages.get().into());
        let counted = body.tokenizer.as_ref().is_some_and(|own| own.as_str() == TOKENIZER);
        Line { tokens: body.tokens.get(), messages, counted, tools }
    }
}

impl Sum {
    /// Whether a line can be added and the sum stays exact.
    fn takes(&self, line: Line) -> bool {
        let fits =
            |sum: u64, more: u64| sum.checked_add(more).is_some_and(|sum| sum <= JSON_INTEGER_MAX);
        fits(self.tokens, line.tokens) && fits(self.messages, line.messages)
    }

    fn add(&mut self, Line { tokens, messages, counted, tools }: Line) {
        let plus = |sum: u64, more: u64| sum.saturating_add(more).min(JSON_INTEGER_MAX);
        self.tokens = plus(self.tokens, tokens);
        self.counted = plus(self.counted, if counted { tokens } else { 0 });
        self.tools = plus(self.tools, if tools { tokens } else { 0 });
        self.messages = plus(self.messages, messages);
    }
}

/// Sums of tokens by names of one sort.
type Sums = OrdMap<Label, Sum>;

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    #[serde(with = "crate::ordered::map")]
    roles: Sums,
    #[serde(with = "crate::ordered::map")]
    agents: Sums,
    #[serde(with = "crate::ordered::map")]
    tasks: Sums,
    #[serde(with = "crate::ordered::map")]
    tools: Sums,
    #[serde(with = "crate::ordered::map")]
    kinds: Sums,
    all: Sum,
    #[serde(with = "crate::ordered::map")]
    baselines: OrdMap<Label, u64>,
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

    pub(super) fn size(&self) -> usize {
        let sorts = [By::Role, By::Agent, By::Task, By::Tool, By::Kind];
        sorts.into_iter().map(|by| self.by(by).len()).sum::<usize>() + self.baselines.len()
    }
}

fn count(sums: &mut Sums, name: Option<&Label>, line: Line) {
    let Some(name) = name else { return };
    if let Some(sum) = sums.get_mut(name) {
        return sum.add(line);
    }
    let other = || Label::new(OTHER).unwrap_or_else(|_| name.clone());
    let name = if sums.len() < NAMES_MAX { name.clone() } else { other() };
    let mut sum = sums.get(&name).copied().unwrap_or_default();
    sum.add(line);
    sums.insert(name, sum);
}

pub(super) fn decide_log(turn: &mut Turn<'_>, caller: &Caller, args: &Log) -> Result<Reply, Halt> {
    let line = Line::of(args);
    if line.tokens > LINE_TOKENS_MAX || line.messages > LINE_MESSAGES_MAX.into() {
        let message = format!(
            "a line of the ledger has at most {LINE_TOKENS_MAX} tokens and {LINE_MESSAGES_MAX} \
             messages"
        );
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    // No other sum is greater than that of everything.
    if !turn.state().commons.ledger.all.takes(line) {
        let message = format!("with these the ledger's sum would be over {JSON_INTEGER_MAX}");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    record(turn, caller, Event::LedgerLogged(args.clone()))?;
    let sum = turn.state().commons.ledger.roles.get(&args.role).copied().unwrap_or_default();
    Ok(CommonsReply::Sum(SumView::of(&args.role, sum)).into())
}

pub(super) fn decide_baseline(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Baseline,
) -> Result<Reply, Halt> {
    if args.tokens.get() == 0 {
        let message = "a baseline of nothing is none: there is nothing to compare with";
        return Err(Refusal::denied(Rule::SaySomething, message.to_owned()).into());
    }
    check(&turn.state().commons, args)?;
    record(turn, caller, Event::LedgerBaselined(args.clone()))?;
    let view = BaselineView { role: args.role.clone(), tokens: args.tokens.get() };
    Ok(CommonsReply::Baseline(view).into())
}

/// Whether there is room for it.
pub(crate) fn check(commons: &Commons, args: &Baseline) -> Result<(), Refusal> {
    let known = &commons.ledger.baselines;
    if known.contains_key(&args.role) {
        return Ok(());
    }
    room(known.len(), BASELINES_MAX, "baselines", "give one of those roles a new one")
}

pub(super) fn apply_logged(state: &mut State, entry: &Stamped, body: &Log) {
    let own = match &entry.draft.actor {
        Actor::Principal(Principal::Agent(name)) => Label::new(name.as_str()).ok(),
        Actor::Principal(other) => Label::new(&other.to_string()).ok(),
        Actor::Protocol => None,
    };
    let line = Line::of(body);
    // Whose tokens they are is hearsay if it is another who says so.
    let is_own = body.agent.is_none() || body.agent == own;
    let of_agent = Line { counted: line.counted && is_own, ..line };
    let ledger = &mut state.commons.ledger;
    count(&mut ledger.roles, Some(&body.role), line);
    count(&mut ledger.kinds, Some(&body.kind), line);
    count(&mut ledger.agents, body.agent.as_ref().or(own.as_ref()), of_agent);
    count(&mut ledger.tasks, body.task.as_ref(), line);
    count(&mut ledger.tools, body.tool.as_ref(), line);
    ledger.all.add(line);
}

pub(super) fn apply_baselined(state: &mut State, body: &Baseline) {
    state.commons.ledger.baselines.insert(body.role.clone(), body.tokens.get());
}
