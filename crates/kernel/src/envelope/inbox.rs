//! The inbox: what was delivered and not taken yet, most pressing first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::view::EnvelopeView;
use crate::event::Event;
use crate::id::{EntryId, EnvelopeId, First as _, SignalId, WorkspaceId};
use crate::news::{self, News};
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::signal::{self, Notice};
use crate::state::{ApplyError, State};
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::liveness::Quiet;
use crate::workspace::{self, budget};

/// The most envelopes or signals taken at once.
pub const TAKE_MAX: usize = 256;
const TAKE_DEFAULT: u16 = 16;

/// `inbox.take`: takes what was delivered out of the inbox, most pressing first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Take {
    /// At most this many envelopes, and as many signals (default 16, at most 256).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u16>,
    /// Whose inbox; the caller's own if it has only one workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// `inbox.taken`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// The envelopes that were taken, in order.
    pub envelopes: Vec<EnvelopeId>,
    /// The news that was taken, by the entries that tell it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<EntryId>,
    /// The signals that were taken, in order.
    pub signals: Vec<SignalId>,
    /// Whose inbox.
    pub workspace_id: WorkspaceId,
}

/// What `inbox.take` returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mail {
    /// Whose inbox.
    pub workspace: WorkspaceId,
    /// The envelopes, most pressing first.
    pub envelopes: Vec<EnvelopeView>,
    /// The signals of the workspaces below, in the order they came.
    pub signals: Vec<NoticeView>,
    /// What else the coordinator is told of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
    /// How many envelopes are left in the inbox.
    pub left: usize,
    /// The workspaces in which nothing happens; for the coordinator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quiet: Vec<Quiet>,
}

/// A signal, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeView {
    /// The signal.
    pub signal: SignalId,
    /// The workspace that emitted it.
    pub from: WorkspaceId,
    /// Which signal.
    #[serde(rename = "type")]
    pub kind: signal::SignalType,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it is about.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// When it was emitted.
    pub at: Timestamp,
    /// What it says about a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_warning: Option<budget::Notice>,
}

impl NoticeView {
    pub(crate) fn of(notice: &Notice) -> Self {
        NoticeView {
            signal: notice.id.clone(),
            from: notice.from.clone(),
            kind: notice.signal,
            reason: notice.reason.as_ref().map(ToString::to_string),
            about: notice.about.as_ref().map(ToString::to_string),
            at: notice.at,
            budget_warning: notice.budget_warning.clone(),
        }
    }
}

pub(crate) fn decide_take(
    turn: &mut Turn<'_>,
    caller: &Caller,
    take: &Take,
) -> Result<Reply, Halt> {
    let id = workspace::own(turn.state(), caller, take.workspace.as_ref())?;
    let status = workspace::get(turn.state(), &id)?.status;
    if !status.is_open() && status != workspace::Status::Migrating {
        let message = format!("workspace {id} is {status}; nothing is taken from its inbox");
        return Err(Refusal::denied(Rule::StateAllows, message).into());
    }
    let max = usize::from(take.max.unwrap_or(TAKE_DEFAULT));
    if max == 0 || max > TAKE_MAX {
        let message = format!("1 to {TAKE_MAX} are taken at once, not {max}");
        return Err(Refusal::denied(Rule::Limits, message).into());
    }
    // Whoever looks into its inbox is there.
    signal::make_ready(turn, &id, caller)?;
    let envelopes: Vec<EnvelopeId> = turn.state().inbox_of(&id).take(max).cloned().collect();
    let notices = turn.state().notices_of(&id, max);
    let news = turn.state().news_of(&id, max);
    let quiet = turn.state().quiet_for(&id);
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
    turn.note(Some(&id), caller.principal.clone().into(), event)?;
    // If what blocked was among it, what it held up comes now.
    super::deliver::move_on(turn, &id)?;
    let state = turn.state();
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
    /// What is in an inbox, most pressing first.
    pub(crate) fn inbox_of(&self, owner: &WorkspaceId) -> impl Iterator<Item = &EnvelopeId> {
        let own = owner.clone();
        let first =
            (owner.clone(), super::Priority::Blocking, Timestamp::default(), EnvelopeId::first());
        self.inbox.range(first..).take_while(move |(of, ..)| *of == own).map(|(.., id)| id)
    }
}
