//! Facts, symbols and capsules, written through the verbs of this dialect. They are the records of
//! the frugal dialect, and its commands write them: the last write wins.

use althing_dialects::memory::data;
use althing_kernel::Command;
use althing_kernel::blackboard::{Handle, Label, capsule, fact, symbol};
use althing_kernel::records::create::Create;
use althing_kernel::records::update::Update;
use althing_kernel::records::{Fields, Kind, Record, RecordId};
use althing_kernel::text::Text;
use serde_json::json;

use super::answers::{Removed, Stored};
use super::find::record;
use super::{Verb, Verbs, args};
use crate::error::Error;

impl Verbs<'_> {
    pub(super) fn create_keyed(&self, args: &args::Create) -> Result<Stored, Error> {
        let made = data::creation(args.entity, &args.data).map_err(Error::usage)?;
        self.check_author(made.author.as_deref())?;
        let Create { fields, kind, provenance, tags, text, .. } = made.command;
        if provenance.is_some() || !tags.as_slice().is_empty() {
            let message =
                format!("{} {kind} has neither tags nor a provenance to be set", kind.article());
            return Err(Error::usage(message));
        }
        let key = key_of(kind, &fields)?;
        let present = self.present()?;
        let same = |own: &&Record| own.text == text && fields.is_part_of(&own.fields);
        let known = present.state.memory().with_key(kind, key.as_str()).map(AsRef::as_ref);
        // A request that is repeated changes nothing.
        if let (Some(own), Some(_)) = (known.filter(same), &args.request_id) {
            return Ok(Stored::of(own));
        }
        self.write_keyed(kind, &key, text.as_str(), &fields)
    }

    pub(super) fn update_keyed(&self, id: RecordId, args: &args::Update) -> Result<Stored, Error> {
        let kind = id.kind;
        if args.expected_version.is_some() {
            let message = format!("the last write of {} {kind} wins", kind.article());
            return Err(Error::usage(format!("{message}; leave 'expected_version' out")));
        }
        let Update { clear, fields, tags, text, .. } =
            data::change(id, &args.patch).map_err(Error::usage)?;
        if tags.is_some() {
            return Err(Error::usage(format!("{} {kind} has no tags", kind.article())));
        }
        let present = self.present()?;
        let own = record(&present, id)?;
        let key = key_of(kind, &own.fields)?;
        let changed = own.fields.with(&clear, &fields);
        let text = text.as_ref().unwrap_or(&own.text).as_str().to_owned();
        self.write_keyed(kind, &key, &text, &changed)
    }

    pub(super) fn remove_keyed(&self, id: RecordId) -> Result<Removed, Error> {
        let kind = id.kind;
        let present = self.present()?;
        let key = key_of(kind, &record(&present, id)?.fields)?;
        if kind != Kind::Fact {
            let message = format!("{} {kind} is never removed", kind.article());
            return Err(Error::usage(format!("{message}; give it another text with bclaw_update")));
        }
        self.context.execute(Command::FactDelete(fact::Delete { key }))?;
        Ok(Removed::archived(id, Vec::new()))
    }

    /// Writes one with the command of its kind, and describes its record.
    fn write_keyed(
        &self,
        kind: Kind,
        key: &Label,
        text: &str,
        fields: &Fields,
    ) -> Result<Stored, Error> {
        self.context.execute(command(kind, key, text, fields)?)?;
        let present = self.present()?;
        let made = present.state.memory().with_key(kind, key.as_str());
        let made = made.ok_or_else(|| Error::defect("a written record is missing"))?;
        let get = json!({ "entity": kind, "id": made.id });
        let next = json!({ "tool": Verb::Get.tool(), "args": get, "when": "to see all of it" });
        Ok(Stored { next_actions: vec![next], ..Stored::of(made) })
    }
}

fn key_of(kind: Kind, fields: &Fields) -> Result<Label, Error> {
    let missing = || Error::usage(format!("{} {kind} requires 'key'", kind.article()));
    fields.key.clone().ok_or_else(missing)
}

/// The command that writes a fact, a symbol or a capsule.
fn command(kind: Kind, key: &Label, text: &str, fields: &Fields) -> Result<Command, Error> {
    fn short<const MAX: usize>(text: &str) -> Result<Text<MAX>, Error> {
        Text::new(text).map_err(|error| Error::usage(format!("'text': {error}")))
    }
    Ok(match kind {
        Kind::Fact => Command::FactSet(fact::Set { key: key.clone(), value: short(text)? }),
        Kind::Symbol => Command::SymbolSet(symbol::Set { id: key.clone(), value: short(text)? }),
        Kind::Capsule => Command::CapsuleWrite(capsule::Write {
            decision: fields.decision.clone(),
            depends: fields.depends.to_vec(),
            gotcha: fields.gotcha.clone(),
            id: Handle::new(key.as_str())
                .map_err(|error| Error::usage(format!("'key': {error}")))?,
            what: short(text)?,
            place: fields.place.clone(),
        }),
        Kind::Constraint
        | Kind::Decision
        | Kind::Trap
        | Kind::Plan
        | Kind::Claim
        | Kind::Handoff
        | Kind::Candidate
        | Kind::Assignment
        | Kind::Message
        | Kind::Sequence
        | Kind::Loop => return Err(Error::defect(format!("{} {kind} has no key", kind.article()))),
    })
}
