//! Questions and answers in a loop: messages of its thread.

use crate::machine::state::State;
use crate::model::knowledge::records::create::Create;
use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::record::{Body, Record};
use crate::model::knowledge::records::vocabulary::{Action, Status};
use crate::protocol::refusal::Refusal;
use crate::registry::record_id::{Kind, RecordId};
use crate::registry::rule::Rule;
use crate::rules::knowledge::records::create::name_of;
use crate::rules::knowledge::records::loops::place;
use crate::rules::knowledge::records::{bad_field, create};
use crate::values::label::Label;
use crate::values::principal::Principal;

/// Whether a message is an unanswered question in a loop. Messages that announce a turn are not
/// questions.
pub(crate) fn is_asked(message: &Record, of: RecordId) -> bool {
    let thread = message.fields.thread.as_ref().map(|thread| thread.as_str().to_owned());
    thread == Some(of.to_string())
        && message.fields.requires_ack == Some(true)
        && message.fields.assignment_id.is_none()
        && message.is_live()
}

/// The unanswered questions in a loop, newest first.
pub fn questions<'s>(state: &'s State, of: &Record) -> impl Iterator<Item = &'s Record> {
    let of = Some(of.id).filter(|_| of.is_live());
    let live = state.memory.newest(Kind::Message, Some(true));
    live.filter(move |own| of.is_some_and(|of| is_asked(own, of)))
}

/// The thread of a loop's messages.
pub(crate) fn thread(own: RecordId) -> Option<Label> {
    Label::new(&own.to_string()).ok()
}

/// A message of a loop's thread.
pub(crate) fn message(own: &Record, to: Option<Label>, text: &Body, asks: bool) -> Create {
    let (thread, requires_ack) = (thread(own.id), Some(asks));
    let fields = Fields { requires_ack, thread, to, ..Fields::default() };
    Create { fields, ..Create::plain(Kind::Message, text.clone()) }
}

/// The recipient of a question: the agent of the slot, or the loop's author.
pub(crate) fn asked_of(own: &Record, slot: Option<&Label>) -> Result<Option<Label>, Refusal> {
    match slot {
        Some(slot) => Ok(Label::new(place(own, slot)?.agent.as_str()).ok()),
        None => Ok(name_of(&own.author)),
    }
}

fn written(state: &State, who: &Principal, message: &Create) -> Result<Effect, Refusal> {
    let made = create::plan(state, who, message)?;
    Ok(Effect::new(Action::Created, made.id).to(Status::Open))
}

/// Plans a question, or refuses it.
pub(crate) fn ask(
    state: &State,
    who: &Principal,
    own: &Record,
    slot: Option<&Label>,
    text: &Body,
) -> Result<Vec<Effect>, Refusal> {
    if slot.is_none() && own.author == *who {
        return Err(bad_field(format!("{who} opened {}: name the `slot` that is asked", own.id)));
    }
    let message = message(own, asked_of(own, slot)?, text, true);
    Ok(vec![written(state, who, &message)?])
}

/// Plans an answer: a message to the asker, and the question is closed.
pub(crate) fn answer(
    state: &State,
    who: &Principal,
    own: &Record,
    named: Option<RecordId>,
    text: &Body,
) -> Result<Vec<Effect>, Refusal> {
    let question = asked(state, who, own, named)?;
    let message = message(own, name_of(&question.author), text, false);
    let closed = Effect::new(Action::Moved, question.id).to(Status::Closed);
    Ok(vec![written(state, who, &message)?, closed])
}

/// The question to answer: the one that is named, or the oldest for this principal. People may
/// answer for others.
fn asked<'s>(
    state: &'s State,
    who: &Principal,
    own: &Record,
    message: Option<RecordId>,
) -> Result<&'s Record, Refusal> {
    let is_agent = matches!(who, Principal::Agent(_));
    let me = name_of(who);
    let mine = |asked: &&Record| !is_agent || (me.is_some() && asked.fields.to == me);
    let found = match message {
        Some(id) => {
            let named = state.memory.get_for(id, who)?.as_ref();
            Some(named).filter(|asked| is_asked(asked, own.id)).filter(mine)
        }
        None => questions(state, own).filter(mine).last(),
    };
    found.ok_or_else(|| {
        let me = me.as_ref().map_or("", Label::as_str);
        let message = format!("nothing in {} waits for an answer of {me}", own.id);
        Refusal::not_found(Rule::RecordKnown, message)
    })
}
