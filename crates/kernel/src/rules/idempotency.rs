//! Idempotency: a repeated request is carried out only once.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::DecisionError;
use crate::model::knowledge::records::request::{KEPT, REQUESTS_MAX, Request};
use crate::model::knowledge::records::view::MemoryReply;
use crate::protocol::command::Command;
use crate::protocol::event::Stamped;
use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;
use crate::values::content::Blob;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::principal::{Actor, Caller};
use crate::values::time::Timestamp;

/// The most expired answers dropped with each new one.
const SWEPT: usize = 4;

/// Whether a request is new; if not, its earlier answer.
pub(crate) enum Asked {
    New(Option<Mark>),
    Before(MemoryReply),
}

/// The hash of a request: its command and arguments.
pub fn digest(command: &str, asked: &(impl std::fmt::Display + ?Sized)) -> Blob {
    Blob::of(format!("{command}\n{asked}").as_bytes())
}

fn unreadable(error: &serde_json::Error) -> Refusal {
    Refusal::denied(Rule::Usage, error.to_string())
}

/// Looks a request up by its idempotency key.
pub(crate) fn look_up(
    state: &State,
    now: Timestamp,
    caller: &Caller,
    command: &Command,
    id: Option<&Label>,
) -> Result<Asked, DecisionError> {
    let Some(id) = id else { return Ok(Asked::New(None)) };
    let asked = match command {
        Command::MemoryOffer(offer) => offer.asked.as_ref(),
        _ => None,
    };
    let digest = if let Some(asked) = asked {
        digest(command.name(), asked)
    } else {
        digest(command.name(), command.args().map_err(|error| unreadable(&error))?.get())
    };
    let known = state.memory.requests.get(&(caller.principal.clone(), id.clone()));
    match known.filter(|known| now < known.at.after(KEPT)) {
        None => Ok(Asked::New(Some(Mark { digest, id: id.clone() }))),
        Some(known) if known.digest == digest => Ok(Asked::Before(known.reply.clone())),
        Some(_) => {
            let message = format!(
                "{} already used the request id {id} for another request",
                caller.principal
            );
            Err(Refusal::denied(Rule::RequestOnce, message).into())
        }
    }
}

/// Stores the answer to a request.
pub(crate) fn keep(state: &mut State, entry: &Stamped, mark: &Mark, reply: MemoryReply) {
    let Actor::Principal(by) = &entry.draft.actor else { return };
    let memory = &mut state.memory;
    let key = (by.clone(), mark.id.clone());
    let request = Request { at: entry.at, digest: mark.digest.clone(), reply };
    if let Some(before) = memory.requests.insert(key.clone(), Arc::new(request)) {
        memory.asked.remove(&(before.at, key.0.clone(), key.1.clone()));
    }
    memory.asked.insert((entry.at, key.0, key.1));
    for _ in 0..SWEPT {
        let Some(oldest) = memory.asked.get_min().cloned() else { return };
        let over = oldest.0.after(KEPT) <= entry.at || memory.asked.len() > REQUESTS_MAX;
        if !over {
            return;
        }
        memory.asked.remove(&oldest);
        memory.requests.remove(&(oldest.1, oldest.2));
    }
}
