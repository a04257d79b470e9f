//! Types of `view`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::capsule::Capsule;
use crate::model::knowledge::blackboard::decision::Decision;
use crate::model::knowledge::blackboard::dispute::Dispute;
use crate::model::knowledge::blackboard::fact::Fact;
use crate::model::knowledge::blackboard::ledger::{By, Sum};
use crate::model::knowledge::blackboard::symbol::Symbol;
use crate::model::knowledge::blackboard::{Commons, capsule, dispute, fact, symbol};
use crate::surfaces::Surface;
use crate::values::label::{Handle, Label};
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

/// What a command about what is shared returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CommonsReply {
    /// The symbol that was set.
    Symbol(SymbolView),
    /// The fact that was set.
    Fact(FactView),
    /// Whether there was a fact to delete.
    Deleted {
        /// Whether it was there.
        deleted: bool,
        /// Which one.
        key: Label,
    },
    /// The capsule that was written.
    Capsule(Box<CapsuleView>),
    /// The decision that was written down.
    Decision(Box<DecisionView>),
    /// The dispute that was raised.
    Dispute(Box<DisputeView>),
    /// What the role used so far.
    Sum(SumView),
    /// The baseline of a role.
    Baseline(BaselineView),
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SymbolView {
    /// The symbol.
    pub id: Label,
    /// What it stands for.
    pub value: symbol::Value,
    /// When it was set last.
    pub set_at: Timestamp,
    /// By whom.
    pub set_by: Principal,
}

impl SymbolView {
    pub(crate) fn of(id: &Label, own: &Symbol) -> Self {
        let (set_at, set_by) = (own.set.at, own.set.by.clone());
        SymbolView { id: id.clone(), value: own.value.clone(), set_at, set_by }
    }
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactView {
    /// What it is about.
    pub key: Label,
    /// What it says.
    pub value: fact::Value,
    /// When it was set last.
    pub set_at: Timestamp,
    /// By whom.
    pub set_by: Principal,
}

impl FactView {
    pub(crate) fn of(key: &Label, own: &Fact) -> Self {
        let (set_at, set_by) = (own.set.at, own.set.by.clone());
        FactView { key: key.clone(), value: own.value.clone(), set_at, set_by }
    }
}

/// A capsule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapsuleView {
    /// The capsule.
    pub id: Handle,
    /// What changed.
    pub what: String,
    /// Where.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// What to beware of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gotcha: Option<String>,
    /// The capsules it builds on.
    pub depends: Vec<Handle>,
    /// How many lines it has, written out.
    pub lines: usize,
    /// When it was written last.
    pub written_at: Timestamp,
    /// By whom.
    pub written_by: Principal,
}

impl CapsuleView {
    pub(crate) fn of(id: &Handle, own: &Capsule) -> Self {
        let text = |field: &Option<capsule::Field>| field.as_ref().map(ToString::to_string);
        CapsuleView {
            id: id.clone(),
            what: own.what.to_string(),
            place: text(&own.place),
            decision: text(&own.decision),
            gotcha: text(&own.gotcha),
            depends: own.depends.clone(),
            lines: own.lines(),
            written_at: own.written.at,
            written_by: own.written.by.clone(),
        }
    }
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionView {
    /// Its number, from 1.
    pub number: u64,
    /// What it is called.
    pub title: String,
    /// What was decided, and why.
    pub body: String,
    /// The dispute it tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispute: Option<Handle>,
    /// When it was written down.
    pub at: Timestamp,
    /// Whose words they are.
    pub by: Principal,
}

impl DecisionView {
    pub(crate) fn of(number: u64, own: &Decision) -> Self {
        DecisionView {
            number,
            title: own.title.to_string(),
            body: own.body.to_string(),
            dispute: own.dispute.clone(),
            at: own.written.at,
            by: own.written.by.clone(),
        }
    }
}

/// A dispute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DisputeView {
    /// The dispute.
    pub id: Handle,
    /// What it is called.
    pub title: String,
    /// What it is about.
    pub surfaces: Vec<Surface>,
    /// Whose work has to give way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displaced: Option<Label>,
    /// What whoever raised it wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overriding_intent: Option<String>,
    /// What the other wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displaced_intent: Option<String>,
    /// The branch that keeps the displaced work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserved_branch: Option<String>,
    /// Further branches that do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_preserved: Vec<String>,
    /// What of it is on none of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_preserved: Vec<String>,
    /// The branch that has the record for review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_branch: Option<String>,
    /// What it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Label>,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// By whom.
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

/// Tokens under one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SumView {
    /// The name.
    pub name: Label,
    /// All tokens.
    pub tokens: u64,
    /// Those that a tokenizer counted.
    pub counted: u64,
    /// Those that callers reported.
    pub reported: u64,
    /// Those that are spent only because there are tools.
    pub tools: u64,
    /// In how many lines.
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
    /// Which role.
    pub role: Label,
    /// What it used before.
    pub tokens: u64,
}

/// What `capsule.deps` finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DepsView {
    /// The capsules, each after everything it builds on.
    pub ids: Vec<Handle>,
    /// Named as something to build on, but not there.
    pub missing: Vec<Handle>,
    /// Asked for, but not there.
    pub unknown: Vec<Handle>,
}

/// What `capsule.hydrate` finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HydratedView {
    /// The capsules, each after everything it builds on.
    pub capsules: Vec<CapsuleView>,
    /// Named as something to build on, but not there.
    pub missing: Vec<Handle>,
    /// Asked for, but not there.
    pub unknown: Vec<Handle>,
}

/// What `ledger.report` finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportView {
    /// By what tokens were summed up.
    pub by: By,
    /// The sums, in the order of the names.
    pub rows: Vec<SumView>,
    /// All tokens there are, also those without such a name.
    pub total: TotalView,
}

/// Everything that was counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TotalView {
    /// All tokens.
    pub tokens: u64,
    /// Those that a tokenizer counted.
    pub counted: u64,
    /// Those that callers reported.
    pub reported: u64,
    /// In how many lines.
    pub messages: u64,
}

/// A role's tokens beside what it used before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeltaView {
    /// The role.
    pub role: Label,
    /// What it used before, if that was said.
    pub baseline: Option<u64>,
    /// What was counted since.
    pub measured: u64,
    /// How much of that is spent only because there are tools.
    pub tools: u64,
}

/// About one symbol.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfSymbol {
    /// Which one.
    pub id: Label,
}

/// `symbol.reverse`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfValue {
    /// What the symbol stands for.
    pub value: symbol::Value,
}

/// About one fact.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfFact {
    /// Which one.
    pub key: Label,
}

/// About one capsule or dispute.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfHandle {
    /// Which one.
    pub id: Handle,
}

/// About some capsules.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfHandles {
    /// Which ones.
    pub ids: Vec<Handle>,
}

/// `ledger.report`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// By what to sum up.
    pub by: By,
}

/// `ledger.delta`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Delta {
    /// One role; all that have a baseline if left out.
    pub role: Option<Label>,
}

/// What a question about what is shared is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CommonsAnswer {
    /// To `symbol.get` and `symbol.reverse`.
    Symbol(SymbolView),
    /// To `symbol.list`.
    Symbols(Vec<SymbolView>),
    /// To `fact.get`.
    Fact(FactView),
    /// To `fact.list`.
    Facts(Vec<FactView>),
    /// To `capsule.get`.
    Capsule(Box<CapsuleView>),
    /// To `capsule.list`.
    Capsules(Vec<CapsuleView>),
    /// To `capsule.deps`.
    Deps(DepsView),
    /// To `capsule.hydrate`.
    Hydrated(HydratedView),
    /// To `decision.list`.
    Decisions(Vec<DecisionView>),
    /// To `dispute.list`.
    Disputes(Vec<DisputeView>),
    /// To `dispute.get`.
    Dispute(Box<DisputeView>),
    /// To `ledger.report`.
    Report(ReportView),
    /// To `ledger.delta`.
    Delta(Vec<DeltaView>),
}

/// What there is, for whoever reads all of it.
impl Commons {
    /// A symbol by its id.
    pub fn symbol(&self, id: &Label) -> Option<SymbolView> {
        self.symbols.shelf().get(id).map(|own| SymbolView::of(id, own))
    }

    /// The first symbol that stands for a value.
    pub fn symbol_for(&self, value: &symbol::Value) -> Option<SymbolView> {
        self.symbols.reverse(value).map(|(id, own)| SymbolView::of(id, own))
    }

    /// The symbols, in the order they came.
    pub fn symbols(&self) -> impl Iterator<Item = SymbolView> {
        self.symbols.shelf().iter().map(|(id, own)| SymbolView::of(id, own))
    }

    /// A fact by its key.
    pub fn fact(&self, key: &Label) -> Option<FactView> {
        self.facts.get(key).map(|own| FactView::of(key, own))
    }

    /// The facts, in the order they came.
    pub fn facts(&self) -> impl Iterator<Item = FactView> {
        self.facts.iter().map(|(key, own)| FactView::of(key, own))
    }

    /// The capsules, in the order of their ids.
    pub fn capsules(&self) -> impl Iterator<Item = CapsuleView> {
        self.capsules.iter().map(|(id, own)| CapsuleView::of(id, own))
    }

    /// What some capsules build on, and themselves, in order.
    pub fn hydrate(&self, ids: &[Handle]) -> HydratedView {
        let found = self.closure(ids);
        let known = found.ids.iter().filter_map(|id| self.capsule(id).map(|own| (id, own)));
        let capsules = known.map(|(id, own)| CapsuleView::of(id, own)).collect();
        HydratedView { capsules, missing: found.missing, unknown: found.unknown }
    }

    /// The newest decisions, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = DecisionView> {
        self.decisions.iter().map(|(number, own)| DecisionView::of(*number, own))
    }

    /// A decision by its number.
    pub fn decision(&self, number: u64) -> Option<DecisionView> {
        self.decisions.get(&number).map(|own| DecisionView::of(number, own))
    }

    /// A dispute by its id.
    pub fn dispute(&self, id: &Handle) -> Option<DisputeView> {
        self.disputes.get(id).map(|own| DisputeView::of(id, own))
    }

    /// The disputes, oldest first.
    pub fn disputes(&self) -> Vec<DisputeView> {
        let all = self.disputes.iter().map(|(id, own)| DisputeView::of(id, own));
        let mut views: Vec<DisputeView> = all.collect();
        views.sort_by_key(|view| view.raised_at);
        views
    }

    /// The tokens that were counted, by one sort of name.
    pub fn report(&self, by: By) -> ReportView {
        let rows = self.ledger.by(by).iter().map(|(name, sum)| SumView::of(name, *sum)).collect();
        let Sum { tokens, counted, messages, .. } = self.ledger.all();
        let reported = tokens.saturating_sub(counted);
        ReportView { by, rows, total: TotalView { tokens, counted, reported, messages } }
    }

    /// Tokens beside what was used before: of one role, or of all that have a baseline.
    pub fn delta(&self, role: Option<&Label>) -> Vec<DeltaView> {
        let of = |role: &Label, baseline| {
            let sum = self.ledger.by(By::Role).get(role).copied().unwrap_or_default();
            DeltaView { role: role.clone(), baseline, measured: sum.tokens, tools: sum.tools }
        };
        match role {
            Some(role) => vec![of(role, self.ledger.baseline(role))],
            None => self.ledger.baselines().map(|(role, own)| of(role, Some(own))).collect(),
        }
    }

    /// What roles used before.
    pub fn baselines(&self) -> Vec<BaselineView> {
        let all = self.ledger.baselines();
        all.map(|(role, tokens)| BaselineView { role: role.clone(), tokens }).collect()
    }
}
