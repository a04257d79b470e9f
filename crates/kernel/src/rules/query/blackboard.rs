//! Queries about the blackboard.

use crate::model::knowledge::blackboard::Blackboard;
use crate::model::knowledge::blackboard::view::{BlackboardAnswer, DepsView, OfHandles};
use crate::model::query::{Answer, BlackboardQuery};
use crate::values::label::Handle;

fn found(answer: Option<BlackboardAnswer>, missing: impl FnOnce() -> String) -> Answer {
    answer.map_or_else(|| Answer::Missing(missing()), Answer::Blackboard)
}

/// Answers a query about the blackboard.
pub(crate) fn answer(blackboard: Blackboard<'_>, query: BlackboardQuery<'_>) -> Answer {
    use BlackboardAnswer as A;
    use BlackboardQuery as Q;
    Answer::Blackboard(match query {
        Q::SymbolGet(of) => {
            let symbol = blackboard.symbol(&of.id).map(A::Symbol);
            return found(symbol, || format!("unknown symbol id: {}", of.id));
        }
        Q::SymbolReverse(of) => {
            let symbol = blackboard.symbol_for(&of.value).map(A::Symbol);
            return found(symbol, || format!("no symbol resolves to value: {}", of.value));
        }
        Q::SymbolList(_) => A::Symbols(blackboard.symbols().collect()),
        Q::FactGet(of) => {
            let fact = blackboard.fact(&of.key).map(A::Fact);
            return found(fact, || format!("no fact for key: {}", of.key));
        }
        Q::FactList(_) => A::Facts(blackboard.facts().collect()),
        Q::CapsuleGet(of) => return capsule(blackboard, &of.id),
        Q::CapsuleList(_) => A::Capsules(blackboard.capsules().collect()),
        Q::CapsuleDeps(of) => A::Deps(deps(blackboard, of)),
        Q::CapsuleHydrate(of) => A::Hydrated(blackboard.hydrate(&of.ids)),
        Q::DecisionList(_) => A::Decisions(blackboard.decisions().collect()),
        Q::DisputeList(_) => A::Disputes(blackboard.disputes()),
        Q::DisputeGet(of) => {
            let dispute = blackboard.dispute(&of.id).map(|own| A::Dispute(Box::new(own)));
            return found(dispute, || format!("no conflict record: {}", of.id));
        }
        Q::LedgerReport(of) => A::Report(blackboard.report(of.by)),
        Q::LedgerDelta(of) => A::Delta(blackboard.delta(of.role.as_ref())),
    })
}

fn capsule(blackboard: Blackboard<'_>, id: &Handle) -> Answer {
    let known = blackboard.capsule(id).map(|own| BlackboardAnswer::Capsule(Box::new(own)));
    found(known, || format!("no capsule: {id}"))
}

fn deps(blackboard: Blackboard<'_>, of: &OfHandles) -> DepsView {
    let found = blackboard.closure(&of.ids);
    DepsView { ids: found.ids, missing: found.missing, unknown: found.unknown }
}
