//! Orders that wait at a gate, and how they are carried out once a person has agreed.

use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::gate::Gate;
use crate::model::runs::approvals::resolve::Modifications;
use crate::model::runs::workspace::create::Create;
use crate::protocol::refusal::Record;
use crate::rules::runs::integration;
use crate::rules::runs::integration::salvage;
use crate::rules::runs::workspace::{abort, create};
use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::approvals::request::*;

/// Whoever ordered it, as the caller it was.
fn asker(gate: &Gate) -> Option<Caller> {
    let Actor::Principal(principal) = &gate.asked_by else { return None };
    let key = PublicKey::from_bytes([0; 32]);
    Some(Caller { principal: principal.clone(), key, session: None })
}

/// A creation with what a person changed about it.
fn with_changes(create: &Create, changed: Option<&Modifications>) -> Create {
    let mut create = create.clone();
    if let Some(changed) = changed {
        if let Some(visibility) = &changed.visibility {
            create.visibility.clone_from(visibility);
        }
        create.priority = changed.workspace_priority.or(create.priority);
        if let Some(budget) = &changed.budget {
            // What is not named stays as it was ordered.
            create.budget.extend(budget.clone());
        }
    }
    create
}

/// Carries an order out, on behalf of whoever gave it.
pub(crate) fn carry_out(
    tx: &mut Transaction<'_>,
    gate: &Gate,
    changed: Option<&Modifications>,
) -> Result<(), DecisionError> {
    let (Some(caller), Some(request)) = (asker(gate), gate.request.clone()) else { return Ok(()) };
    let done = tx.on_behalf(|tx| match &request {
        Request::Abort(order) => abort::decide_abort(tx, &caller, order).map(|_| ()),
        Request::Create(create) => {
            let reserved = WorkspaceId::new(gate.subject.as_str()).ok();
            let create = with_changes(create, changed);
            create::make(tx, &caller, &create, reserved).map(|_| ())
        }
        Request::Integrate(decide) => integration::decide_decide(tx, &caller, decide).map(|_| ()),
        Request::Salvage(order) => salvage::decide_salvage(tx, &caller, order).map(|_| ()),
        Request::Resolve(resolve) => {
            let mut resolve = resolve.as_ref().clone();
            if let Some(merged) = changed.and_then(|changed| changed.merged.clone()) {
                resolve.merged = Some(merged);
            }
            integration::conflict::settle(tx, &caller, &resolve)
        }
    });
    done.map_err(|halt| match halt {
        // What is refused is the answer at the gate, whatever the order itself would have said.
        DecisionError::Refused(why) if !matches!(why.record, Record::Violation(_)) => {
            why.recorded(Record::Command).into()
        }
        other => other,
    })
}
