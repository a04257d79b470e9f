//! The inbox: delivered mail that was not yet taken, most urgent first.

use crate::values::id::First as _;
use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::envelope::view::EnvelopeView;
use crate::protocol::event::Event;
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::runs::envelope::deliver;
use crate::rules::runs::{envelope, news, signal, workspace};
use crate::values::id::{EnvelopeId, WorkspaceId};
use crate::values::principal::Caller;
use crate::values::time::Timestamp;

pub use crate::model::runs::envelope::inbox::*;

const TAKE_DEFAULT: u16 = 16;

pub(crate) fn decide_take(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    take: &Take,
) -> Result<Reply, DecisionError> {
    let id = workspace::own(tx.state(), caller, take.workspace.as_ref())?;
    let status = workspace::get(tx.state(), &id)?.status;
    if !status.is_open() && status != workspace::Status::Migrating {
        let message = format!("workspace {id} is {status}; nothing is taken from its inbox");
        return Err(Refusal::denied(Rule::StateAllows, message).into());
    }
    let max = usize::from(take.max.unwrap_or(TAKE_DEFAULT));
    if max == 0 || max > TAKE_MAX {
        let message = format!("1 to {TAKE_MAX} are taken at once, not {max}");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    // Looking into the inbox makes the agent ready.
    signal::make_ready(tx, &id, caller)?;
    let envelopes: Vec<EnvelopeId> = tx.state().inbox_of(&id).take(max).cloned().collect();
    let notices = tx.state().notices_of(&id, max);
    let news = tx.state().news_of(&id, max);
    let quiet = tx.state().quiet_for(&id);
    if envelopes.is_empty() && notices.is_empty() && news.is_empty() {
        let (envelopes, signals) = (Vec::new(), Vec::new());
        let mail = Mail { workspace: id, envelopes, signals, news, left: 0, quiet };
        return Ok(Reply::Mail(mail));
    }
    let event = Event::InboxTaken(Taken {
        envelopes: envelopes.clone(),
        news: news.iter().map(|news| news.entry.clone()).collect(),
        signals: notices.iter().map(|(_, notice)| notice.id.clone()).collect(),
        workspace_id: id.clone(),
    });
    tx.note(Some(&id), caller.principal.clone().into(), event)?;
    // If a blocking envelope was taken, the mail it held up is delivered now.
    deliver::move_on(tx, &id)?;
    let state = tx.state();
    let views = envelopes
        .iter()
        .filter_map(|id| state.envelopes.get(id).map(|envelope| EnvelopeView::of(id, envelope)));
    Ok(Reply::Mail(Mail {
        envelopes: views.collect(),
        signals: notices.iter().map(|(_, notice)| NoticeView::of(notice)).collect(),
        news,
        left: state.inbox_of(&id).count(),
        quiet,
        workspace: id,
    }))
}

pub(crate) fn apply_taken(state: &mut State, taken: &Taken) -> Result<(), ApplyError> {
    let owner = &taken.workspace_id;
    for id in &taken.envelopes {
        let known = state.envelopes.get_mut(id).ok_or(ApplyError::Unknown("the envelope"))?;
        let Some(at) = known.delivered_at.filter(|_| !known.taken && known.to == *owner) else {
            return Err(ApplyError::Mismatch("the inbox"));
        };
        let envelope = Arc::make_mut(known);
        envelope.taken = true;
        let place = (owner.clone(), envelope.priority, at, id.clone());
        state.inbox.remove(&place);
        state.unqueue(id);
    }
    let notices = state.notices_of(owner, taken.signals.len());
    if notices.len() < taken.signals.len() {
        return Err(ApplyError::Unknown("a signal that was taken"));
    }
    for (signal, (at, notice)) in taken.signals.iter().zip(notices) {
        if notice.id != *signal {
            return Err(ApplyError::Mismatch("the signals that were taken"));
        }
        state.notices.remove(&(owner.clone(), at));
    }
    news::apply_taken(state, owner, &taken.news)
}

impl State {
    /// The envelopes in an inbox, most urgent first.
    pub(crate) fn inbox_of(&self, owner: &WorkspaceId) -> impl Iterator<Item = &EnvelopeId> {
        let own = owner.clone();
        let first = (
            owner.clone(),
            envelope::Priority::Blocking,
            Timestamp::default(),
            EnvelopeId::first(),
        );
        self.inbox.range(first..).take_while(move |(of, ..)| *of == own).map(|(.., id)| id)
    }
}
