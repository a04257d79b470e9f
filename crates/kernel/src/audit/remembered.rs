//! Auditing what is remembered: an entry says what the rules make of what was asked for, and a
//! signed request is held against its entry.

use crate::audit::work::{Audited, told};
use crate::audit::{Breach, cause, wrong_actor};
use crate::machine::state::State;
use crate::model::knowledge::records::create::{Create, Created};
use crate::model::knowledge::records::offer::Offered;
use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::transition::{Force, Move, Moved};
use crate::model::knowledge::records::update::{Update, Updated};
use crate::model::knowledge::records::vocabulary::Status;
use crate::protocol::command::Command;
use crate::protocol::event::{Event, MemoryEvent, Stamped};
use crate::rules::knowledge::records::{
    archive, assign, create, loops, offer, round, step, sweep, transition, update,
};
use crate::values::label::Label;
use crate::values::principal::{Actor, Principal};

/// Whether the rules lead to an entry about a record.
pub(crate) fn audit(state: &State, entry: &Stamped, event: MemoryEvent<'_>) -> Audited {
    told(entry.draft.workspace.is_none(), "local trail")?;
    cause::check(state, entry)?;
    let Actor::Principal(who) = &entry.draft.actor else {
        let MemoryEvent::MemoryExpired(body) = event else { return wrong_actor(entry) };
        let due = state.memory.record(body.id).and_then(Record::runs_out);
        return if due.is_some_and(|due| due <= entry.at) { Ok(()) } else { Err(Breach::TooEarly) };
    };
    let holds = match event {
        MemoryEvent::MemoryCreated(body) => created(state, who, body),
        MemoryEvent::MemoryUpdated(body) => {
            let planned = update::plan(state, who, &asked_of(body));
            planned.is_ok_and(|own| updated(own, body))
        }
        MemoryEvent::MemoryMoved(body) => moved(state, who, body),
        MemoryEvent::MemoryStepped(body) => {
            let (plan, status, step) = (body.plan, body.status, body.step);
            let (expected_version, request_id) = (None, None);
            let asked = step::TakeStep { expected_version, plan, request_id, status, step };
            let planned = step::plan(state, who, &asked);
            planned
                .is_ok_and(|own| step::Stepped { request: body.request.clone(), ..own } == **body)
        }
        MemoryEvent::MemoryHeard(body) => assign::may_be_heard(state, who, body).is_ok(),
        MemoryEvent::MemorySwept(body) => sweep::is_told_truly(state, who, entry.at, body),
        MemoryEvent::MemoryArchived(body) => {
            let (id, reason) = (body.id, body.reason.clone());
            let (expected_version, request_id) = (None, None);
            let asked = archive::Archive { expected_version, id, reason, request_id };
            let planned = archive::plan(state, who, &asked);
            planned.is_ok_and(|own| {
                archive::Archived { request: body.request.clone(), ..own } == **body
            })
        }
        MemoryEvent::MemoryTurned(body) => {
            let (of, outcome, slot) = (body.id, body.outcome.clone(), body.slot.clone());
            let (expected_version, request_id) = (None, None);
            let asked = round::TakeTurn { expected_version, of, outcome, request_id, slot };
            let planned = round::plan(state, who, &asked);
            planned
                .is_ok_and(|own| round::Turned { request: body.request.clone(), ..own } == **body)
        }
        MemoryEvent::MemoryOffered(body) => offered(state, who, body),
        MemoryEvent::MemoryExpired(_) => return wrong_actor(entry),
        MemoryEvent::MemoryLooped(body) => {
            is_in(state, who, body.session.as_ref()) && loops::is_told_truly(state, who, body)
        }
    };
    told(holds, "record")
}

fn word(status: Status) -> Option<Label> {
    Label::new(status.as_str()).ok()
}

fn created(state: &State, who: &Principal, body: &Created) -> bool {
    let asked = Create {
        fields: body.fields.clone(),
        kind: body.id.kind,
        provenance: Some(body.provenance.clone()),
        request_id: None,
        status: word(body.status),
        tags: body.tags.clone(),
        text: body.text.clone(),
    };
    let planned = create::plan(state, who, &asked);
    let (request, session) = (body.request.clone(), body.session.clone());
    is_in(state, who, session.as_ref())
        && planned.is_ok_and(|own| Created { request, session, ..own } == *body)
}

/// Whether a change is told as it has to be. Before plans were done with the last step that a change
/// set, they stayed open, and such entries stand as they are.
fn updated(planned: Updated, body: &Updated) -> bool {
    let planned = Updated { request: body.request.clone(), ..planned };
    planned == *body || Updated { completed: false, effects: Vec::new(), ..planned } == *body
}

/// Whether a session is one of the author's.
fn is_in(state: &State, who: &Principal, session: Option<&crate::values::id::WorkspaceId>) -> bool {
    session.is_none_or(|id| {
        let session = state.sessions.get(id);
        session.is_some_and(|session| Principal::Agent(session.agent.clone()) == *who)
    })
}

fn offered(state: &State, who: &Principal, body: &Offered) -> bool {
    let planned = offer::plan(state, who, &body.asked());
    let (request, session) = (body.request.clone(), body.session.clone());
    is_in(state, who, session.as_ref())
        && planned.is_ok_and(|own| Offered { request, session, ..own } == *body)
}

fn asked_of(body: &Updated) -> Update {
    Update {
        clear: body.clear.clone(),
        expected_version: None,
        fields: body.fields.clone(),
        id: body.id,
        request_id: None,
        tags: body.tags.clone(),
        text: body.text.clone(),
    }
}

fn moved(state: &State, who: &Principal, body: &Moved) -> bool {
    let planned = if body.forced == Force::Converged {
        let Ok(own) = state.memory.get(body.id) else { return false };
        assign::plan_converge(state, who, own, body.to)
    } else {
        let Some(to) = word(body.to) else { return false };
        let asked = Move {
            agent: body.agent.clone(),
            claim: body.claim,
            expected_version: None,
            forced: body.forced == Force::Forced,
            id: body.id,
            let_go: body.let_go,
            merged_into: body.merged_into,
            plan_status: body.plan_status,
            reason: body.reason.clone(),
            request_id: None,
            to,
        };
        transition::plan(state, who, &asked)
    };
    planned.is_ok_and(|own| Moved { request: body.request.clone(), ..own } == *body)
}

/// Whether an entry about a record is what somebody asked for.
pub(crate) fn follows(command: &Command, event: &Event) -> bool {
    match (command, event) {
        (Command::MemoryCreate(asked), Event::MemoryCreated(got)) => {
            let status = asked.status.as_ref().map(|word| asked.kind.table().state(word.as_str()));
            let mut fields = got.fields.clone();
            fields.take_over(&asked.fields);
            fields.steps = got.fields.steps.clone();
            asked.kind == got.id.kind
                && asked.text == got.text
                && asked.tags == got.tags
                && asked.provenance.as_ref().is_none_or(|own| *own == got.provenance)
                && status.is_none_or(|status| status == Some(got.status))
                && fields == got.fields
                && asked.request_id.as_ref() == got.request.as_ref().map(|mark| &mark.id)
        }
        (Command::MemoryUpdate(asked), Event::MemoryUpdated(got)) => {
            let mut fields = got.fields.clone();
            fields.take_over(&asked.fields);
            fields.steps = got.fields.steps.clone();
            asked.id == got.id
                && asked.text == got.text
                && asked.tags == got.tags
                && asked.clear == got.clear
                && fields == got.fields
        }
        (Command::MemoryMove(asked), Event::MemoryMoved(got)) => {
            asked.id == got.id
                && asked.id.kind.table().state(asked.to.as_str()) == Some(got.to)
                && asked.reason == got.reason
                && asked.agent == got.agent
                && asked.merged_into == got.merged_into
                && asked.plan_status == got.plan_status
                && asked.let_go == got.let_go
                && asked.claim == got.claim
                && asked.forced == (got.forced == Force::Forced)
        }
        (Command::MemoryMove(asked), Event::MemoryHeard(got)) => {
            asked.id == got.id && got.text.is_none() && got.artifacts.is_empty()
        }
        (Command::MemoryConverge(asked), Event::MemoryMoved(got)) => {
            asked.id == got.id
                && got.forced == Force::Converged
                && asked.id.kind.table().state(asked.to.as_str()) == Some(got.to)
        }
        (Command::MemoryStep(asked), Event::MemoryStepped(got)) => {
            asked.plan == got.plan && asked.step == got.step && asked.status == got.status
        }
        (Command::MemoryProgress(asked), Event::MemoryHeard(got)) => {
            asked.id == got.id && asked.text == got.text && asked.artifacts == got.artifacts
        }
        (Command::MemorySweep(asked), Event::MemorySwept(got)) => {
            let mut signs = got.moved.iter().filter_map(|swept| swept.sign);
            signs.all(|sign| asked.signs.contains(&sign))
        }
        (Command::MemoryArchive(asked), Event::MemoryArchived(got)) => {
            asked.id == got.id && asked.reason == got.reason
        }
        (Command::MemoryTurn(asked), Event::MemoryTurned(got)) => {
            asked.of == got.id && asked.slot == got.slot && asked.outcome == got.outcome
        }
        (Command::MemoryOffer(asked), Event::MemoryOffered(got)) => got.follows(asked),
        (Command::MemoryLoop(asked), got) => loops::leads_to(asked, got),
        _ => false,
    }
}
