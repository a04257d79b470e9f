//! Port rights: no workspace sends to another without holding a right to it.
//!
//! A `send` right is permanent, a `send_once` right is consumed by its first use, and every
//! workspace alone holds the `receive` right to itself. Rights are created with a workspace,
//! granted and revoked by the coordinator, transferred in envelopes, and end when their holder or
//! their target ends. Only live ones are kept.

use crate::values::id::First as _;

use crate::machine::coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::taxonomy::Base;
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::workspace;
use crate::values::id::{EnvelopeId, IdKind, RightId, WorkspaceId};
use crate::values::principal::{Actor, Caller};

pub use crate::model::runs::right::*;

fn create(
    tx: &mut Transaction<'_>,
    kind: RightType,
    holder: &WorkspaceId,
    target: &WorkspaceId,
    actor: Actor,
) -> Result<RightId, ApplyError> {
    let right_id: RightId = tx.mint(IdKind::Right).into();
    let event = Event::PortRightCreated(Created {
        created_by: actor.clone(),
        holder: holder.clone(),
        right_id: right_id.clone(),
        right_type: kind,
        target: target.clone(),
    });
    tx.note(Some(holder), actor, event)?;
    Ok(right_id)
}

/// Grants a workspace the right to receive in its own inbox.
pub(crate) fn grant_receive(tx: &mut Transaction<'_>, id: &WorkspaceId) -> Result<(), ApplyError> {
    create(tx, RightType::Receive, id, id, Actor::Protocol).map(|_| ())
}

/// Grants the initial rights of a new workspace: a worker and its parent may send to each other.
pub(crate) fn grant_at_creation(
    tx: &mut Transaction<'_>,
    parent: &WorkspaceId,
    child: &WorkspaceId,
    base: Base,
) -> Result<(), ApplyError> {
    grant_receive(tx, child)?;
    if base == Base::Worker { grant_between(tx, parent, child) } else { Ok(()) }
}

/// Grants a parent and a child that is a worker permanent rights to send to each other, where
/// missing.
pub(crate) fn grant_between(
    tx: &mut Transaction<'_>,
    parent: &WorkspaceId,
    child: &WorkspaceId,
) -> Result<(), ApplyError> {
    let state = tx.state();
    let known = state.workspaces.get(child).ok_or(ApplyError::Unknown("the workspace"))?;
    if state.run_of(known).base_of(&known.charter.role) != Some(Base::Worker) {
        return Ok(());
    }
    for (holder, target) in [(parent, child), (child, parent)] {
        let lasting = tx.state().send_right(holder, target);
        if lasting.is_none_or(|(kind, _)| kind != RightType::Send) {
            create(tx, RightType::Send, holder, target, Actor::Protocol)?;
        }
    }
    Ok(())
}

pub(crate) fn decide_grant(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    grant: &Grant,
) -> Result<Reply, DecisionError> {
    let state = tx.state();
    coordinator::root(state)?;
    for id in [&grant.holder, &grant.target] {
        let status = workspace::get(state, id)?.status;
        if status.is_terminal() {
            return Err(workspace::abort::ended(id, status).into());
        }
    }
    may_grant(state, caller, grant)?;
    let kind = if grant.once { RightType::SendOnce } else { RightType::Send };
    let actor = caller.principal.clone().into();
    let id = create(tx, kind, &grant.holder, &grant.target, actor)?;
    tx.right_reply(&id)
}

/// Checks whether a caller may grant a right: the coordinator any, a delegate those between itself
/// and its descendants.
pub(crate) fn may_grant(state: &State, caller: &Caller, grant: &Grant) -> Result<(), Refusal> {
    let below = |id: &WorkspaceId| {
        let own = state.workspaces.get(id).is_some_and(|known| {
            known.charter.delegate
                && known.status.is_open()
                && matches!(&caller.principal, crate::values::principal::Principal::Agent(name)
                    if known.agent.as_ref() == Some(name))
        });
        own || workspace::commands(state, caller, id)
    };
    if below(&grant.holder) && below(&grant.target) {
        return Ok(());
    }
    let message = format!("{} may not grant rights there", caller.principal);
    Err(Refusal::denied(Rule::CoordinatorOnly, message))
}

pub(crate) fn decide_revoke(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    revoke: &Revoke,
) -> Result<Reply, DecisionError> {
    workspace::coordinator_only(tx.state(), caller, "revoke a right")?;
    let Some(right) = tx.state().rights.get(&revoke.right).cloned() else {
        let message = format!("there is no live right {}", revoke.right);
        return Err(Refusal::not_found(Rule::RightLive, message).into());
    };
    if right.kind == RightType::Receive {
        let message = "the right to receive in one's own inbox cannot be revoked";
        return Err(Refusal::denied(Rule::RightLive, message).into());
    }
    let reply = tx.right_reply(&revoke.right)?;
    let actor: Actor = caller.principal.clone().into();
    let event = Event::PortRightRevoked(Revoked {
        holder: right.holder.clone(),
        reason: revoke.reason.clone(),
        revoked_by: actor.clone(),
        right_id: revoke.right.clone(),
        right_type: right.kind,
        target: right.target,
    });
    tx.note(Some(&right.holder), actor, event)?;
    Ok(reply)
}

/// Consumes a right, if it is a single-use one.
pub(crate) fn consume(
    tx: &mut Transaction<'_>,
    id: &RightId,
    via: &EnvelopeId,
) -> Result<(), ApplyError> {
    let right = tx.state().rights.get(id).cloned().ok_or(ApplyError::Unknown("the right"))?;
    if right.kind != RightType::SendOnce {
        return Ok(());
    }
    let event = Event::PortRightConsumed(Consumed {
        holder: right.holder.clone(),
        right_id: id.clone(),
        target: right.target,
        via_envelope: via.clone(),
    });
    tx.note(Some(&right.holder), Actor::Protocol, event)
}

/// Transfers a right to the receiver of the envelope that carried it, if the sender still holds it.
pub(crate) fn transfer(
    tx: &mut Transaction<'_>,
    id: &RightId,
    from: &WorkspaceId,
    to: &WorkspaceId,
    via: &EnvelopeId,
) -> Result<(), ApplyError> {
    let Some(right) = tx.state().rights.get(id).filter(|right| right.holder == *from).cloned()
    else {
        // Revoked or consumed while in transit.
        return Ok(());
    };
    let event = Event::PortRightTransferred(Transferred {
        from_holder: from.clone(),
        right_id: id.clone(),
        right_type: right.kind,
        target: right.target,
        to_holder: to.clone(),
        via_envelope: via.clone(),
    });
    tx.note(Some(to), Actor::Protocol, event)
}

pub(crate) fn apply_created(state: &mut State, created: &Created) -> Result<(), ApplyError> {
    if state.rights.contains_key(&created.right_id) {
        return Err(ApplyError::Twice("a right's creation"));
    }
    for id in [&created.holder, &created.target] {
        let known = state.workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?;
        if known.status.is_terminal() {
            return Err(ApplyError::Mismatch("the state of a workspace of a right"));
        }
    }
    if created.right_type == RightType::Receive && created.holder != created.target {
        return Err(ApplyError::Mismatch("the inbox of a right to receive"));
    }
    let right = Right {
        kind: created.right_type,
        holder: created.holder.clone(),
        target: created.target.clone(),
    };
    state.insert_right(created.right_id.clone(), right);
    Ok(())
}

pub(crate) fn apply_transferred(state: &mut State, moved: &Transferred) -> Result<(), ApplyError> {
    let via =
        state.envelopes.get(&moved.via_envelope).ok_or(ApplyError::Unknown("the envelope"))?;
    let carried = via.rights.contains(&moved.right_id)
        && (&via.from, &via.to) == (&moved.from_holder, &moved.to_holder)
        && via.delivered_at.is_some();
    let right = state.remove_right(&moved.right_id).ok_or(ApplyError::Unknown("the right"))?;
    if !carried || right.holder != moved.from_holder || right.kind == RightType::Receive {
        return Err(ApplyError::Mismatch("the right's holder"));
    }
    state.insert_right(moved.right_id.clone(), Right { holder: moved.to_holder.clone(), ..right });
    Ok(())
}

pub(crate) fn apply_gone(
    state: &mut State,
    id: &RightId,
    holder: &WorkspaceId,
) -> Result<(), ApplyError> {
    let right = state.remove_right(id).ok_or(ApplyError::Unknown("the right"))?;
    if right.holder == *holder { Ok(()) } else { Err(ApplyError::Mismatch("the right's holder")) }
}

pub(crate) fn apply_consumed(state: &mut State, consumed: &Consumed) -> Result<(), ApplyError> {
    let once = state.rights.get(&consumed.right_id).map(|right| right.kind);
    let used = state
        .envelopes
        .get(&consumed.via_envelope)
        .is_some_and(|via| (&via.from, &via.to) == (&consumed.holder, &consumed.target));
    if once != Some(RightType::SendOnce) || !used {
        return Err(ApplyError::Mismatch("the right that is used up"));
    }
    apply_gone(state, &consumed.right_id, &consumed.holder)
}

impl State {
    pub(crate) fn insert_right(&mut self, id: RightId, right: Right) {
        let key = (right.holder.clone(), right.target.clone(), right.kind, id.clone());
        self.rights_held.insert(key);
        self.rights_to.insert((right.target.clone(), id.clone()));
        self.rights.insert(id, right);
    }

    pub(crate) fn remove_right(&mut self, id: &RightId) -> Option<Right> {
        let right = self.rights.remove(id)?;
        let key = (right.holder.clone(), right.target.clone(), right.kind, id.clone());
        self.rights_held.remove(&key);
        self.rights_to.remove(&(right.target.clone(), id.clone()));
        Some(right)
    }

    /// The right with which one workspace sends to another, preferably a permanent one.
    pub(crate) fn send_right(
        &self,
        holder: &WorkspaceId,
        target: &WorkspaceId,
    ) -> Option<(RightType, &RightId)> {
        let first = (holder.clone(), target.clone(), RightType::Send, RightId::first());
        let (of, to, kind, id) = self.rights_held.range(first..).next()?;
        let fits = of == holder && to == target && *kind != RightType::Receive;
        fits.then_some((*kind, id))
    }

    pub(crate) fn rights_held_by(&self, holder: &WorkspaceId) -> Vec<RightId> {
        let first = (holder.clone(), WorkspaceId::first(), RightType::Send, RightId::first());
        let own = self.rights_held.range(first..).take_while(|(of, ..)| of == holder);
        own.map(|(.., id)| id.clone()).collect()
    }

    pub(crate) fn rights_about(&self, target: &WorkspaceId) -> Vec<RightId> {
        let first = (target.clone(), RightId::first());
        let own = self.rights_to.range(first..).take_while(|(of, _)| of == target);
        own.map(|(_, id)| id.clone()).collect()
    }
}
