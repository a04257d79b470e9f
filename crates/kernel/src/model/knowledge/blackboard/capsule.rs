//! Types of `capsule`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeSet;

use crate::model::knowledge::blackboard::{Commons, Mark};
use crate::values::label::Handle;
use crate::values::text::Text;

/// The most capsules of a project.
pub const CAPSULES_MAX: usize = 20_000;

/// The most lines of a capsule, written out with its five lines of frame.
pub const LINES_MAX: usize = 10;

/// The lines of the frame.
const FRAME_LINES: usize = 5;

/// The most capsules one builds on directly.
pub const DEPENDS_MAX: usize = 32;

/// A field of a capsule.
pub type Field = Text<1000>;

/// A capsule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capsule {
    /// What changed.
    pub what: Field,
    /// Where.
    pub place: Option<Field>,
    /// What was decided.
    pub decision: Option<Field>,
    /// What to beware of.
    pub gotcha: Option<Field>,
    /// The capsules it builds on.
    pub depends: Vec<Handle>,
    /// Who wrote it last, and when.
    pub written: Mark,
}

/// `capsule.write`, and `capsule.written`: writes a capsule, or writes it anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// What was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Field>,
    /// The capsules it builds on; they need not be there yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub depends: Vec<Handle>,
    /// What to beware of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gotcha: Option<Field>,
    /// The capsule.
    pub id: Handle,
    /// What changed.
    pub what: Field,
    /// Where.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub place: Option<Field>,
}

impl Write {
    /// How many lines it has, written out.
    pub fn lines(&self) -> usize {
        lines([Some(&self.what), self.place.as_ref(), self.decision.as_ref(), self.gotcha.as_ref()])
    }
}

impl Capsule {
    /// How many lines it has, written out.
    pub fn lines(&self) -> usize {
        lines([Some(&self.what), self.place.as_ref(), self.decision.as_ref(), self.gotcha.as_ref()])
    }
}

pub(crate) fn lines(fields: [Option<&Field>; 4]) -> usize {
    let of = |field: &Field| 1 + field.as_str().matches('\n').count();
    FRAME_LINES + fields.into_iter().flatten().map(of).sum::<usize>()
}

/// What capsules build on, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// The capsules, each after everything it builds on.
    pub ids: Vec<Handle>,
    /// Named as something to build on, but not there.
    pub missing: Vec<Handle>,
    /// Asked for, but not there.
    pub unknown: Vec<Handle>,
}

impl Commons {
    /// A capsule by its id.
    pub fn capsule(&self, id: &Handle) -> Option<&Capsule> {
        self.capsules.get(id).map(AsRef::as_ref)
    }

    /// The first of `depends` from which a way leads to `id`.
    pub(crate) fn leads_back<'d>(&self, id: &Handle, depends: &'d [Handle]) -> Option<&'d Handle> {
        let mut seen: BTreeSet<&Handle> = BTreeSet::new();
        depends.iter().find(|first| {
            let mut open = vec![*first];
            while let Some(next) = open.pop() {
                if next == id {
                    return true;
                }
                if seen.insert(next) {
                    open.extend(self.capsules.get(next).iter().flat_map(|own| &own.depends));
                }
            }
            false
        })
    }

    /// Everything that some capsules build on, and themselves, each after what it builds on.
    pub fn closure(&self, asked: &[Handle]) -> Closure {
        let mut closure = Closure::default();
        let mut seen: BTreeSet<&Handle> = BTreeSet::new();
        for first in asked {
            if !self.capsules.contains_key(first) {
                if seen.insert(first) {
                    closure.unknown.push(first.clone());
                }
                continue;
            }
            // A capsule is looked at twice: when it is met, and when all below it is done.
            let mut open = vec![(first, false)];
            while let Some((id, done)) = open.pop() {
                if done {
                    closure.ids.push(id.clone());
                } else if seen.insert(id) {
                    let Some(own) = self.capsules.get(id) else {
                        closure.missing.push(id.clone());
                        continue;
                    };
                    open.push((id, true));
                    open.extend(own.depends.iter().rev().map(|below| (below, false)));
                }
            }
        }
        closure
    }
}
