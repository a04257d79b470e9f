//! News for the coordinator besides mail and signals: events outside of its tree that may matter.
//! They wait in the root's inbox until taken.

use crate::machine::state::State;
use crate::model::runs::approvals::escalation::ResponseType;
use crate::protocol::event::{ApprovalEvent, Event, EventRoom, Stamped};
use crate::registry::apply_error::ApplyError;
use crate::rules::identity::user::standing;
use crate::values::id::{EntryId, WorkspaceId};
use crate::values::text::Text;
use crate::values::time::Timestamp;

pub use crate::model::runs::news::*;

/// The subject of an event, if the coordinator is notified of it.
fn subject_of(event: &Event) -> Option<Text<128>> {
    let subject = match event.room() {
        EventRoom::User(event) => format!("user:{}", standing::outcome(event)?.0),
        EventRoom::Approval(event) => of_approval(event)?,
        EventRoom::Admin(_)
        | EventRoom::Agent(_)
        | EventRoom::Lease(_)
        | EventRoom::Blackboard(_)
        | EventRoom::Memory(_)
        | EventRoom::Workspace(_)
        | EventRoom::Message(_)
        | EventRoom::Plan(_) => return None,
    };
    Some(Text::lossy(&subject))
}

/// The subject of a decision about something that waited, or of an escalation that was delegated to
/// the coordinator.
fn of_approval(event: ApprovalEvent<'_>) -> Option<String> {
    match event {
        ApprovalEvent::GateResolved(body) => Some(format!("gate:{}", body.gate_id)),
        ApprovalEvent::EscalationResolved(body) => {
            let is_delegated = body.response_type == ResponseType::Delegation;
            is_delegated.then(|| format!("escalation:{}", body.signal_id))
        }
        ApprovalEvent::HighwayConfigured(_)
        | ApprovalEvent::GateTriggered(_)
        | ApprovalEvent::GateTimeout(_)
        | ApprovalEvent::GateReentryBlocked(_)
        | ApprovalEvent::HumanInjection(_)
        | ApprovalEvent::EscalationReceived(_)
        | ApprovalEvent::EscalationTimeout(_) => None,
    }
}

/// Keeps an event as news for the coordinator. Without a run there is nobody to notify.
pub(crate) fn remember(state: &mut State, entry: &Stamped) {
    let Some(about) = subject_of(&entry.draft.event) else { return };
    let Some(root) = state.root.clone() else { return };
    let (kind, at) = (entry.draft.event.kind(), entry.at);
    state.news.insert((root, at), News { entry: entry.id.clone(), kind, about, at });
}

/// Removes news that the coordinator has taken.
pub(crate) fn apply_taken(
    state: &mut State,
    owner: &WorkspaceId,
    taken: &[EntryId],
) -> Result<(), ApplyError> {
    let waiting = state.news_of(owner, taken.len());
    if waiting.len() < taken.len() {
        return Err(ApplyError::Unknown("news that was taken"));
    }
    for (entry, news) in taken.iter().zip(waiting) {
        if news.entry != *entry {
            return Err(ApplyError::Mismatch("the news that was taken"));
        }
        state.news.remove(&(owner.clone(), news.at));
    }
    Ok(())
}

impl State {
    /// The oldest news in an inbox that was not taken yet.
    pub(crate) fn news_of(&self, owner: &WorkspaceId, max: usize) -> Vec<News> {
        let from = self.news.range((owner.clone(), Timestamp::default())..);
        from.take_while(|((of, _), _)| of == owner)
            .take(max)
            .map(|(_, news)| news.clone())
            .collect()
    }
}
