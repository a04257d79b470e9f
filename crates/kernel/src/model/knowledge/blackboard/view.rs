//! The blackboard, as shown to callers: replies, queries and their answers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::decision::{self, DECISIONS_LISTED};
use crate::model::knowledge::blackboard::dispute::Dispute;
use crate::model::knowledge::blackboard::ledger::{By, Sum};
use crate::model::knowledge::blackboard::{Blackboard, capsule, dispute, fact, symbol};
use crate::model::knowledge::records::{Body, Kind, Record, Status};
use crate::surfaces::Surface;
use crate::values::label::{Handle, Label};
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// The reply to a blackboard command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum BlackboardReply {
    /// The symbol that was set.
    Symbol(SymbolView),
    /// The fact that was set.
    Fact(FactView),
    /// The outcome of deleting a fact.
    Deleted {
        /// Whether the fact existed.
        deleted: bool,
        /// The key of the fact.
        key: Label,
    },
    /// The capsule that was written.
    Capsule(Box<CapsuleView>),
    /// The decision that was appended.
    Decision(Box<DecisionView>),
    /// The dispute that was raised.
    Dispute(Box<DisputeView>),
    /// The sum of the role so far.
    Sum(SumView),
    /// The baseline of a role.
    Baseline(BaselineView),
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SymbolView {
    /// The id of the symbol.
    pub id: Label,
    /// The text it stands for.
    pub value: symbol::Value,
    /// When it was set last.
    pub set_at: Timestamp,
    /// The principal who set it last.
    pub set_by: Principal,
}

impl SymbolView {
    pub(crate) fn of(own: &Record) -> Option<Self> {
        let (id, value) = (own.fields.key.clone()?, Text::lossy(own.text.as_str()));
        Some(SymbolView { id, value, set_at: own.updated_at, set_by: own.updated_by.clone() })
    }
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactView {
    /// The key.
    pub key: Label,
    /// The value.
    pub value: fact::Value,
    /// When it was set last.
    pub set_at: Timestamp,
    /// The principal who set it last.
    pub set_by: Principal,
}

impl FactView {
    pub(crate) fn of(own: &Record) -> Option<Self> {
        let (key, value) = (own.fields.key.clone()?, Text::lossy(own.text.as_str()));
        Some(FactView { key, value, set_at: own.updated_at, set_by: own.updated_by.clone() })
    }
}

/// A capsule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapsuleView {
    /// The id of the capsule.
    pub id: Handle,
    /// The change.
    pub what: String,
    /// The place of the change.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The decision that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// A warning to readers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gotcha: Option<String>,
    /// The capsules it depends on.
    pub depends: Vec<Handle>,
    /// The number of lines in its written form.
    pub lines: usize,
    /// When it was written last.
    pub written_at: Timestamp,
    /// The principal who wrote it last.
    pub written_by: Principal,
}

impl CapsuleView {
    pub(crate) fn of(own: &Record) -> Option<Self> {
        let text = |field: &Option<capsule::Field>| field.as_ref().map(ToString::to_string);
        let fields = &own.fields;
        Some(CapsuleView {
            id: Handle::new(fields.key.as_ref()?.as_str()).ok()?,
            what: own.text.to_string(),
            place: text(&fields.place),
            decision: text(&fields.decision),
            gotcha: text(&fields.gotcha),
            depends: fields.depends.to_vec(),
            lines: capsule::lines_of(own),
            written_at: own.updated_at,
            written_by: own.updated_by.clone(),
        })
    }
}

/// A decision that stands: an approved one, whichever way it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionView {
    /// The number of its record, from 1.
    pub number: u64,
    /// The title.
    pub title: String,
    /// The decision and its rationale.
    pub body: String,
    /// The dispute it reports, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Handle>,
    /// When it was decided.
    pub at: Timestamp,
    /// The author.
    pub by: Principal,
}

impl DecisionView {
    pub(crate) fn of(own: &Record) -> Self {
        let (title, body) = decision::parts(own.text.as_str());
        DecisionView {
            number: own.id.number,
            title: title.to_string(),
            body,
            dispute: own.fields.dispute.clone(),
            at: own.since(),
            by: own.author.clone(),
        }
    }
}

/// A dispute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DisputeView {
    /// The id of the dispute.
    pub id: Handle,
    /// The title.
    pub title: String,
    /// The surfaces in dispute.
    pub surfaces: Vec<Surface>,
    /// The party whose work is displaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displaced: Option<Label>,
    /// The intent of the party who raised it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overriding_intent: Option<String>,
    /// The intent of the displaced party.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displaced_intent: Option<String>,
    /// The branch that preserves the displaced work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserved_branch: Option<String>,
    /// Further such branches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_preserved: Vec<String>,
    /// Displaced work that is on none of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_preserved: Vec<String>,
    /// The branch with the record for review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_branch: Option<String>,
    /// The name of the server it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// The principal who raised it.
    pub raised_by: Principal,
}

impl DisputeView {
    pub(crate) fn of(id: &Handle, own: &Dispute) -> Self {
        let intent = |text: &Option<dispute::Intent>| text.as_ref().map(ToString::to_string);
        let branch = |text: &Option<dispute::Branch>| text.as_ref().map(ToString::to_string);
        DisputeView {
            id: id.clone(),
            title: own.title.to_string(),
            surfaces: own.surfaces.as_slice().to_vec(),
            displaced: own.displaced.clone(),
            overriding_intent: intent(&own.overriding_intent),
            displaced_intent: intent(&own.displaced_intent),
            preserved_branch: branch(&own.preserved_branch),
            also_preserved: own.also_preserved.iter().map(ToString::to_string).collect(),
            not_preserved: own.not_preserved.iter().map(ToString::to_string).collect(),
            conflict_branch: branch(&own.conflict_branch),
            via: own.via.clone(),
            raised_at: own.raised.at,
            raised_by: own.raised.by.clone(),
        }
    }
}

/// The tokens summed under one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SumView {
    /// The name.
    pub name: Label,
    /// All tokens.
    pub tokens: u64,
    /// The tokens that a trusted tokenizer counted.
    pub counted: u64,
    /// The tokens reported by callers without a trusted tokenizer.
    pub reported: u64,
    /// The tokens that are tool overhead.
    pub tools: u64,
    /// The number of messages.
    pub messages: u64,
}

impl SumView {
    pub(crate) fn of(name: &Label, sum: Sum) -> Self {
        let (tokens, counted, messages) = (sum.tokens, sum.counted, sum.messages);
        let reported = tokens.saturating_sub(counted);
        SumView { name: name.clone(), tokens, counted, reported, tools: sum.tools, messages }
    }
}

/// A baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BaselineView {
    /// The role.
    pub role: Label,
    /// The tokens it used before.
    pub tokens: u64,
}

/// The answer to `capsule.deps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DepsView {
    /// The capsules, each after everything it depends on.
    pub ids: Vec<Handle>,
    /// Dependencies that do not exist.
    pub missing: Vec<Handle>,
    /// Requested ids that do not exist.
    pub unknown: Vec<Handle>,
}

/// The answer to `capsule.hydrate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HydratedView {
    /// The capsules, each after everything it depends on.
    pub capsules: Vec<CapsuleView>,
    /// Dependencies that do not exist.
    pub missing: Vec<Handle>,
    /// Requested ids that do not exist.
    pub unknown: Vec<Handle>,
}

/// The answer to `ledger.report`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportView {
    /// The grouping.
    pub by: By,
    /// The sums, sorted by name.
    pub rows: Vec<SumView>,
    /// The sum over all tokens, including those without such a name.
    pub total: TotalView,
}

/// The sum over everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TotalView {
    /// All tokens.
    pub tokens: u64,
    /// The tokens that a trusted tokenizer counted.
    pub counted: u64,
    /// The tokens reported by callers without a trusted tokenizer.
    pub reported: u64,
    /// The number of messages.
    pub messages: u64,
}

/// A role's tokens compared with its baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeltaView {
    /// The role.
    pub role: Label,
    /// The baseline, if one is set.
    pub baseline: Option<u64>,
    /// The tokens logged since.
    pub measured: u64,
    /// The part of them that is tool overhead.
    pub tools: u64,
}

/// A query for one symbol.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfSymbol {
    /// The id of the symbol.
    pub id: Label,
}

/// `symbol.reverse`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfValue {
    /// The text that the symbol stands for.
    pub value: symbol::Value,
}

/// A query for one fact.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfFact {
    /// The key of the fact.
    pub key: Label,
}

/// A query for one capsule or dispute.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfHandle {
    /// The id.
    pub id: Handle,
}

/// A query for several capsules.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfHandles {
    /// The ids.
    pub ids: Vec<Handle>,
}

/// `ledger.report`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// The grouping.
    pub by: By,
}

/// `ledger.delta`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Delta {
    /// The role; by default all roles that have a baseline.
    pub role: Option<Label>,
}

/// The answer to a blackboard query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum BlackboardAnswer {
    /// The answer to `symbol.get` and `symbol.reverse`.
    Symbol(SymbolView),
    /// The answer to `symbol.list`.
    Symbols(Vec<SymbolView>),
    /// The answer to `fact.get`.
    Fact(FactView),
    /// The answer to `fact.list`.
    Facts(Vec<FactView>),
    /// The answer to `capsule.get`.
    Capsule(Box<CapsuleView>),
    /// The answer to `capsule.list`.
    Capsules(Vec<CapsuleView>),
    /// The answer to `capsule.deps`.
    Deps(DepsView),
    /// The answer to `capsule.hydrate`.
    Hydrated(HydratedView),
    /// The answer to `decision.list`.
    Decisions(Vec<DecisionView>),
    /// The answer to `dispute.list`.
    Disputes(Vec<DisputeView>),
    /// The answer to `dispute.get`.
    Dispute(Box<DisputeView>),
    /// The answer to `ledger.report`.
    Report(ReportView),
    /// The answer to `ledger.delta`.
    Delta(Vec<DeltaView>),
}

/// The views. Facts, symbols, capsules and decisions are records.
impl<'a> Blackboard<'a> {
    /// A symbol by its id.
    pub fn symbol(self, id: &Label) -> Option<SymbolView> {
        SymbolView::of(self.memory.with_key(Kind::Symbol, id.as_str())?)
    }

    /// The first symbol that stands for a value.
    pub fn symbol_for(self, value: &symbol::Value) -> Option<SymbolView> {
        let value: Body = Text::lossy(value.as_str());
        let (found, number) = self.memory.symbols.range((value.clone(), 0)..).next()?;
        let number = (*found == value).then_some(*number)?;
        SymbolView::of(self.memory.record(Kind::Symbol.numbered(number))?)
    }

    /// The symbols, in the order in which they were first set.
    pub fn symbols(self) -> impl Iterator<Item = SymbolView> + 'a {
        self.memory.in_order(Kind::Symbol).filter_map(|own| SymbolView::of(own))
    }

    /// A fact by its key.
    pub fn fact(self, key: &Label) -> Option<FactView> {
        FactView::of(self.memory.with_key(Kind::Fact, key.as_str())?)
    }

    /// The facts, in the order in which they were first set.
    pub fn facts(self) -> impl Iterator<Item = FactView> + 'a {
        self.memory.in_order(Kind::Fact).filter_map(|own| FactView::of(own))
    }

    /// A capsule by its id.
    pub fn capsule(self, id: &Handle) -> Option<CapsuleView> {
        CapsuleView::of(self.capsule_record(id)?)
    }

    /// The capsules, sorted by id.
    pub fn capsules(self) -> impl Iterator<Item = CapsuleView> {
        let all = self.memory.in_order(Kind::Capsule).filter_map(|own| CapsuleView::of(own));
        let mut all: Vec<CapsuleView> = all.collect();
        all.sort_by(|one, other| one.id.cmp(&other.id));
        all.into_iter()
    }

    /// Returns capsules with all their dependencies, in dependency order.
    pub fn hydrate(self, ids: &[Handle]) -> HydratedView {
        let found = self.closure(ids);
        let capsules = found.ids.iter().filter_map(|id| self.capsule(id)).collect();
        HydratedView { capsules, missing: found.missing, unknown: found.unknown }
    }

    /// The newest decisions that stand, oldest of them first: approved ones, whichever way they
    /// were made.
    pub fn decisions(self) -> impl DoubleEndedIterator<Item = DecisionView> {
        let all = self.memory.in_order(Kind::Decision);
        let mut all: Vec<&Record> =
            all.map(AsRef::as_ref).filter(|own| own.status == Status::Approved).collect();
        all.sort_by_key(|own| (own.since(), own.id.number));
        let older = all.len().saturating_sub(DECISIONS_LISTED);
        let views: Vec<DecisionView> =
            all[older..].iter().map(|own| DecisionView::of(own)).collect();
        views.into_iter()
    }

    /// A dispute by its id.
    pub fn dispute(self, id: &Handle) -> Option<DisputeView> {
        self.state.disputes.get(id).map(|own| DisputeView::of(id, own))
    }

    /// The disputes, oldest first.
    pub fn disputes(self) -> Vec<DisputeView> {
        let all = self.state.disputes.iter().map(|(id, own)| DisputeView::of(id, own));
        let mut views: Vec<DisputeView> = all.collect();
        views.sort_by_key(|view| view.raised_at);
        views
    }

    /// The tokens logged, by one grouping.
    pub fn report(self, by: By) -> ReportView {
        let rows =
            self.state.ledger.by(by).iter().map(|(name, sum)| SumView::of(name, *sum)).collect();
        let Sum { tokens, counted, messages, .. } = self.state.ledger.all();
        let reported = tokens.saturating_sub(counted);
        ReportView { by, rows, total: TotalView { tokens, counted, reported, messages } }
    }

    /// Tokens compared with baselines: of one role, or of all roles that have a baseline.
    pub fn delta(self, role: Option<&Label>) -> Vec<DeltaView> {
        let of = |role: &Label, baseline| {
            let sum = self.state.ledger.by(By::Role).get(role).copied().unwrap_or_default();
            DeltaView { role: role.clone(), baseline, measured: sum.tokens, tools: sum.tools }
        };
        match role {
            Some(role) => vec![of(role, self.state.ledger.baseline(role))],
            None => self.state.ledger.baselines().map(|(role, own)| of(role, Some(own))).collect(),
        }
    }

    /// The baselines of roles.
    pub fn baselines(self) -> Vec<BaselineView> {
        let all = self.state.ledger.baselines();
        all.map(|(role, tokens)| BaselineView { role: role.clone(), tokens }).collect()
    }
}
