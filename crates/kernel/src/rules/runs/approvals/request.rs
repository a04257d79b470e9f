//! Commands that wait at a gate, and their execution once approved.

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

/// The caller who issued the command.
fn asker(gate: &Gate) -> Option<Caller> {
    let Actor::Principal(principal) = &gate.asked_by else { return None };
    let key = PublicKey::from_bytes([0; 32]);
    Some(Caller { principal: principal.clone(), key, session: None })
}

/// A creation with a person's modifications applied.
fn with_changes(create: &Create, changed: Option<&Modifications>) -> Create {
    let mut create = create.clone();
    if let Some(changed) = changed {
        if let Some(visibility) = &changed.visibility {
            create.visibility.clone_from(visibility);
        }
        create.priority = changed.workspace_priority.or(create.priority);
        if let Some(budget) = &changed.budget {
            // Limits that are not named stay as requested.
            create.budget.extend(budget.clone());
        }
    }
    create
}

/// Executes the waiting command on behalf of its issuer.
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
    done.map_err(|error| match error {
        // The refusal is recorded as one of the answer at the gate, not of the waiting command.
        DecisionError::Refused(why) if !matches!(why.record, Record::Violation(_)) => {
            why.recorded(Record::Command).into()
        }
        other => other,
    })
}
