//! Capsules: short notes about a change, which can depend on each other.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeSet;

use crate::model::knowledge::blackboard::Blackboard;
use crate::model::knowledge::records::{Kind, Record};
use crate::values::label::Handle;
use crate::values::text::Text;

/// The most capsules in a project.
pub const CAPSULES_MAX: usize = 20_000;

/// The most lines of a capsule in its written form, including five lines of frame.
pub(crate) const LINES_MAX: usize = 10;

/// The number of lines of the frame.
const FRAME_LINES: usize = 5;

/// The most direct dependencies of a capsule.
pub const DEPENDS_MAX: usize = 32;

/// A field of a capsule.
pub type Field = Text<1000>;

/// `capsule.write` and `capsule.written`: writes a capsule, or overwrites it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The decision that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Field>,
    /// The capsules it depends on; they need not exist yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub depends: Vec<Handle>,
    /// A warning to readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gotcha: Option<Field>,
    /// The id of the capsule.
    pub id: Handle,
    /// The change.
    pub what: Field,
    /// The place of the change.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<Field>,
}

impl Write {
    /// The number of lines in its written form.
    pub fn lines(&self) -> usize {
        lines([Some(&self.what), self.place.as_ref(), self.decision.as_ref(), self.gotcha.as_ref()])
    }
}

pub(crate) fn lines(fields: [Option<&Field>; 4]) -> usize {
    let of = |field: &Field| 1 + field.as_str().matches('\n').count();
    FRAME_LINES + fields.into_iter().flatten().map(of).sum::<usize>()
}

/// Capsules with all their dependencies, in dependency order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// The capsules, each after everything it depends on.
    pub ids: Vec<Handle>,
    /// Dependencies that do not exist.
    pub missing: Vec<Handle>,
    /// Requested ids that do not exist.
    pub unknown: Vec<Handle>,
}

/// The number of lines of the record of a capsule in its written form.
pub(crate) fn lines_of(record: &Record) -> usize {
    let (what, fields) = (Text::lossy(record.text.as_str()), &record.fields);
    lines([Some(&what), fields.place.as_ref(), fields.decision.as_ref(), fields.gotcha.as_ref()])
}

impl<'a> Blackboard<'a> {
    /// The record of a capsule by its id.
    pub(crate) fn capsule_record(self, id: &Handle) -> Option<&'a Record> {
        self.memory.with_key(Kind::Capsule, id.as_str()).map(AsRef::as_ref)
    }

    /// The capsules that a capsule depends on; none if it does not exist.
    fn depends(self, id: &Handle) -> &'a [Handle] {
        self.capsule_record(id).map_or(&[], |own| own.fields.depends.as_slice())
    }

    /// The first of `depends` that depends on `id`, directly or indirectly: the dependency would be
    /// a cycle.
    pub(crate) fn leads_back<'d>(self, id: &Handle, depends: &'d [Handle]) -> Option<&'d Handle> {
        let mut seen: BTreeSet<&Handle> = BTreeSet::new();
        depends.iter().find(|first| {
            let mut open: Vec<&Handle> = vec![*first];
            while let Some(next) = open.pop() {
                if next == id {
                    return true;
                }
                if seen.insert(next) {
                    open.extend(self.depends(next));
                }
            }
            false
        })
    }

    /// Collects capsules and all their dependencies, each after everything it depends on.
    pub fn closure(self, asked: &[Handle]) -> Closure {
        let mut closure = Closure::default();
        let mut seen: BTreeSet<&Handle> = BTreeSet::new();
        for first in asked {
            if self.capsule_record(first).is_none() {
                if seen.insert(first) {
                    closure.unknown.push(first.clone());
                }
                continue;
            }
            // A capsule is visited twice: when it is met, and when all its dependencies are done.
            let mut open: Vec<(&Handle, bool)> = vec![(first, false)];
            while let Some((id, done)) = open.pop() {
                if done {
                    closure.ids.push(id.clone());
                } else if seen.insert(id) {
                    if self.capsule_record(id).is_none() {
                        closure.missing.push(id.clone());
                        continue;
                    }
                    open.push((id, true));
                    open.extend(self.depends(id).iter().rev().map(|below| (below, false)));
                }
            }
        }
        closure
    }
}
