//! Facts, symbols, capsules and decisions of the frugal dialect, as records.
//!
//! Facts, symbols and capsules have keys: writing one again changes the record with its key. They
//! are written with commands of their own, and every change of one is an event of its own; the
//! memory's commands refuse them and say which command it is.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::knowledge::blackboard::decision::{Appended, text};
use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::record::{Body, Provenance};
use crate::model::knowledge::records::vocabulary::Status;
use crate::protocol::event::Stamped;
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id::{Kind, RecordId};
use crate::rules::knowledge::records::{bad_field, change, create, put};
use crate::values::label::Label;
use crate::values::principal::Actor;

/// The source of a decision that was appended to the decision log.
pub(crate) fn source() -> Label {
    Label::constant("frugal")
}

/// Refuses a change through the memory's commands of a kind that has commands of its own.
pub(crate) fn has_no_command_of_its_own(kind: Kind) -> Result<(), Refusal> {
    let Some(command) = kind.written_with() else { return Ok(()) };
    let (one, also) = (kind.article(), if kind == Kind::Fact { " or `fact.delete`" } else { "" });
    let what = if kind == Kind::Claim { " is a lease and" } else { "" };
    Err(bad_field(format!("{one} {kind}{what} is written with `{command}`{also}")))
}

/// Writes a fact, a symbol or a capsule: changes the record with that key, or makes one.
pub(crate) fn write(
    state: &mut State,
    entry: &Stamped,
    kind: Kind,
    key: Label,
    text: Body,
    mut fields: Fields,
) -> Result<(), ApplyError> {
    let Actor::Principal(author) = &entry.draft.actor else {
        return Err(ApplyError::Mismatch("its author"));
    };
    let known = state.memory.with_key(kind, key.as_str()).map(|own| own.id);
    fields.key = Some(key);
    if let Some(id) = known {
        return change(state, entry, id, move |own| {
            fields.stamps = std::mem::take(&mut own.fields.stamps);
            (own.text, own.fields) = (text, fields);
        });
    }
    let id = state.memory.next(kind);
    let mut made = state.new_record(entry, id, author.clone(), text);
    made.fields = fields;
    create::begin(&mut made, author, Status::Active, entry);
    put(state, Arc::new(made));
    Ok(())
}

/// Deletes a fact. The trail keeps it.
pub(crate) fn delete(state: &mut State, kind: Kind, key: &Label) -> Result<(), ApplyError> {
    let known = state.memory.with_key(kind, key.as_str()).map(|own| own.id);
    let id = known.ok_or(ApplyError::Unknown("the record"))?;
    state.remove_record(id)
}

/// Makes the record of a decision that was appended to the decision log: approved from the start.
pub(crate) fn decided(
    state: &mut State,
    entry: &Stamped,
    id: RecordId,
    body: &Appended,
) -> Result<(), ApplyError> {
    if state.memory.records.contains_key(&id) {
        return Err(ApplyError::Twice("a record"));
    }
    let text = text(&body.title, &body.body);
    let mut made = state.new_record(entry, id, body.by.clone(), text);
    made.updated_by = body.by.clone();
    made.provenance = Provenance { source: Some(source()), ..Provenance::of(&body.by) };
    made.fields.dispute.clone_from(&body.dispute);
    create::begin(&mut made, &body.by, Status::Approved, entry);
    put(state, Arc::new(made));
    Ok(())
}
