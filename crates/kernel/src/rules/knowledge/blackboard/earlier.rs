//! Blackboards of earlier builds, which kept symbols, facts, capsules and decisions beside the
//! records. Their replay bases are read into the records.

use std::sync::Arc;

use crate::machine::state::State;
use crate::model::knowledge::blackboard::Mark;
use crate::model::knowledge::blackboard::decision::text;
use crate::model::knowledge::blackboard::earlier::Earlier;
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::record::{Provenance, Record};
use crate::model::knowledge::records::vocabulary::Status;
use crate::model::knowledge::records::{Body, Kind, RecordId};
use crate::rules::knowledge::blackboard::decision;
use crate::rules::knowledge::records::{keyed, put};
use crate::values::label::Label;
use crate::values::text::Text;

impl State {
    /// Makes records of what an image of an earlier build has beside them.
    pub(crate) fn take_over_earlier(&mut self, earlier: Earlier) {
        let keyed = |key: &Label| Fields { key: Some(key.clone()), ..Fields::default() };
        for (kind, list) in [(Kind::Symbol, earlier.symbols), (Kind::Fact, earlier.facts)] {
            for (_, key, own) in list {
                let (id, text) = (self.memory.next(kind), Text::lossy(own.value.as_str()));
                add(self, id, Status::Active, &own.set, text, keyed(&key));
            }
        }
        for (handle, own) in earlier.capsules {
            let Ok(key) = Label::new(handle.as_str()) else { continue };
            let fields = Fields {
                place: own.place,
                decision: own.decision,
                gotcha: own.gotcha,
                depends: Few::new(own.depends).unwrap_or_default(),
                ..keyed(&key)
            };
            let (id, text) = (self.memory.next(Kind::Capsule), Text::lossy(own.what.as_str()));
            add(self, id, Status::Active, &own.written, text, fields);
        }
        for (number, own) in earlier.decisions {
            let fields = Fields { dispute: own.dispute, ..Fields::default() };
            let text = text(&own.title, &own.body);
            add(self, decision::earlier(number), Status::Approved, &own.written, text, fields);
        }
    }
}

/// Adds a record that was written before the image was made; no entry of the trail is known.
fn add(state: &mut State, id: RecordId, status: Status, by: &Mark, text: Body, fields: Fields) {
    let source = (id.kind == Kind::Decision).then(keyed::source);
    let made = Record::new(id, by.by.clone(), by.at, text);
    let provenance = Provenance { source, ..made.provenance.clone() };
    let mut record = Record { provenance, fields, ..made };
    record.enter(status, by.at);
    put(state, Arc::new(record));
}
