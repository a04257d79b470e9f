//! `memory.sweep`: assignments that are overdue for a heartbeat.
//!
//! Work also shows outside the trail, in files and commits; the caller of a sweep passes along that
//! evidence. No assignment with evidence of work is given up.

use std::collections::BTreeMap;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::view::{MemoryReply, SweptReply};
use crate::model::knowledge::records::vocabulary::Status;
use crate::protocol::event::{Event, Stamped};
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::rules::knowledge::records::assign::may_write;
use crate::rules::knowledge::records::{change, effect, record, transition};
use crate::values::idempotency::Mark;
use crate::values::principal::Caller;
use crate::values::time::{Span, Timestamp};

pub use crate::model::knowledge::records::sweep::*;

/// How far in the future evidence may be dated, for clock skew.
const AHEAD: Span = Span::from_secs(5 * 60);

/// Decides about an overdue assignment, given the latest evidence of work.
pub fn judge(own: &Record, sign: Option<Sign>, now: Timestamp) -> Option<Swept> {
    if own.id.kind != Kind::Assignment || !own.is_overdue(now) {
        return None;
    }
    let fields = &own.fields;
    let within = |secs: Option<u32>, sign: &Sign| {
        now < sign.at.after(Span::from_secs(secs.unwrap_or_default().into()))
    };
    // Evidence dated too far in the future is ignored.
    let seen = sign.filter(|sign| sign.at <= now.after(AHEAD));
    let (sign, alive, dead) = match own.status {
        Status::Offered => {
            (seen.filter(|sign| own.since() <= sign.at), Status::Accepted, Status::Expired)
        }
        Status::Accepted => {
            let fresh = seen.filter(|sign| within(fields.acceptance_ttl_secs, sign));
            (fresh, Status::Started, Status::TimedOut)
        }
        Status::Started => {
            let fresh = seen.filter(|sign| within(fields.heartbeat_ttl_secs, sign));
            (fresh, Status::Started, Status::TimedOut)
        }
        _ => return None,
    };
    let to = if sign.is_some() { alive } else { dead };
    Some(Swept { from: own.status, id: own.id, sign, to })
}

pub(crate) fn decide(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Sweep,
    mark: Option<Mark>,
) -> Result<MemoryReply, DecisionError> {
    let (state, now) = (tx.state(), tx.stamp());
    let mut signs: BTreeMap<RecordId, Sign> = BTreeMap::new();
    for sign in args.signs.iter() {
        let known = signs.entry(sign.id).or_insert(*sign);
        // The newest that is not dated too far in the future.
        let newer = known.at < sign.at && sign.at <= now.after(AHEAD);
        if newer || now.after(AHEAD) < known.at {
            *known = *sign;
        }
    }
    let all = state.memory.newest(Kind::Assignment, Some(true));
    let looked_at = |own: &&Record| args.looked_at.as_ref().is_none_or(|ids| ids.contains(&own.id));
    // A run has time-outs of its own.
    let all = all.filter(|own| !state.is_governed_attempt(own));
    let own = all.filter(looked_at).filter(|own| may_write(state, &caller.principal, own).is_ok());
    let due = own.filter_map(|own| judge(own, signs.get(&own.id).copied(), now));
    let mut moved: Vec<Swept> = due.take(SWEPT_MAX + 1).collect();
    let more = moved.len() > SWEPT_MAX;
    moved.truncate(SWEPT_MAX);
    if moved.is_empty() {
        return Ok(MemoryReply::Swept(SweptReply::default()));
    }
    let effects = effects(state, &moved);
    let body = SweptAll { effects, more, moved, request: mark };
    record(tx, caller, Event::MemorySwept(Box::new(body)))
}

fn effects(state: &State, moved: &[Swept]) -> Vec<Effect> {
    let over = moved.iter().filter(|swept| swept.to == Status::Expired);
    let records = over.filter_map(|swept| state.memory.record(swept.id));
    let of = |own: &Record| {
        effect::of_claim(state, own).into_iter().chain(transition::of_no_use(state, own)).collect()
    };
    effect::once(records.flat_map(|own| -> Vec<Effect> { of(own) }).collect())
}

pub(crate) fn apply(state: &mut State, entry: &Stamped, body: &SweptAll) -> Result<(), ApplyError> {
    for swept in &body.moved {
        change(state, entry, swept.id, |own| {
            if swept.to != own.status {
                own.enter(swept.to, entry.at);
            }
            if let Some(sign) = swept.sign {
                own.fields.last_heartbeat_at = Some(sign.at.min(entry.at));
            }
        })?;
    }
    transition::apply_others(state, entry, &body.effects)
}
