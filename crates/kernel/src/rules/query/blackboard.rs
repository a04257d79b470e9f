//! Queries about the blackboard.

use crate::model::knowledge::blackboard::Blackboard;
use crate::model::knowledge::blackboard::view::{CommonsAnswer, DepsView, OfHandles};
use crate::model::query::{Answer, BlackboardQuery};
use crate::values::label::Handle;

fn found(answer: Option<CommonsAnswer>, missing: impl FnOnce() -> String) -> Answer {
    answer.map_or_else(|| Answer::Missing(missing()), Answer::Commons)
}

/// Answers a query about the blackboard.
pub(crate) fn answer(commons: Blackboard<'_>, query: BlackboardQuery<'_>) -> Answer {
    use BlackboardQuery as Q;
    use CommonsAnswer as A;
    Answer::Commons(match query {
        Q::SymbolGet(of) => {
            let symbol = commons.symbol(&of.id).map(A::Symbol);
            return found(symbol, || format!("unknown symbol id: {}", of.id));
        }
        Q::SymbolReverse(of) => {
            let symbol = commons.symbol_for(&of.value).map(A::Symbol);
            return found(symbol, || format!("no symbol resolves to value: {}", of.value));
        }
        Q::SymbolList(_) => A::Symbols(commons.symbols().collect()),
        Q::FactGet(of) => {
            let fact = commons.fact(&of.key).map(A::Fact);
            return found(fact, || format!("no fact for key: {}", of.key));
        }
        Q::FactList(_) => A::Facts(commons.facts().collect()),
        Q::CapsuleGet(of) => return capsule(commons, &of.id),
        Q::CapsuleList(_) => A::Capsules(commons.capsules().collect()),
        Q::CapsuleDeps(of) => A::Deps(deps(commons, of)),
        Q::CapsuleHydrate(of) => A::Hydrated(commons.hydrate(&of.ids)),
        Q::DecisionList(_) => A::Decisions(commons.decisions().collect()),
        Q::DisputeList(_) => A::Disputes(commons.disputes()),
        Q::DisputeGet(of) => {
            let dispute = commons.dispute(&of.id).map(|own| A::Dispute(Box::new(own)));
            return found(dispute, || format!("no conflict record: {}", of.id));
        }
        Q::LedgerReport(of) => A::Report(commons.report(of.by)),
        Q::LedgerDelta(of) => A::Delta(commons.delta(of.role.as_ref())),
    })
}

fn capsule(commons: Blackboard<'_>, id: &Handle) -> Answer {
    let known = commons.capsule(id).map(|own| CommonsAnswer::Capsule(Box::new(own)));
    found(known, || format!("no capsule: {id}"))
}

fn deps(commons: Blackboard<'_>, of: &OfHandles) -> DepsView {
    let found = commons.closure(&of.ids);
    DepsView { ids: found.ids, missing: found.missing, unknown: found.unknown }
}
