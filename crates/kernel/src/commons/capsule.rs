//! Capsules: what somebody who goes on from here has to know, in ten lines at most.
//!
//! A capsule names the ones it builds on. Following those names never leads back, so there is
//! always an order in which each comes after what it builds on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::view::{CapsuleView, CommonsReply};
use super::{Commons, Handle, Mark, record, room, said};
use crate::event::{Event, Stamped};
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::task::graph::once_each;
use crate::text::Text;
use crate::turn::{Halt, Reply, Turn};

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

fn lines(fields: [Option<&Field>; 4]) -> usize {
    let of = |field: &Field| 1 + field.as_str().matches('\n').count();
    FRAME_LINES + fields.into_iter().flatten().map(of).sum::<usize>()
}

pub(super) fn decide_write(
    turn: &mut Turn<'_>,
    caller: &Caller,
    args: &Write,
) -> Result<Reply, Halt> {
    let args = Write { depends: once_each(&args.depends), ..args.clone() };
    check(&turn.state().commons, &args)?;
    let id = args.id.clone();
    record(turn, caller, Event::CapsuleWritten(args))?;
    let capsule = turn.state().commons.capsules.get(&id);
    let capsule = capsule.ok_or(ApplyError::Unknown("the capsule"))?;
    Ok(CommonsReply::Capsule(Box::new(CapsuleView::of(&id, capsule))).into())
}

/// Whether a capsule may be written so. One that may not leaves what was there before.
pub(crate) fn check(commons: &Commons, args: &Write) -> Result<(), Refusal> {
    said(args.what.is_blank(), "what changed")?;
    let (id, lines) = (&args.id, args.lines());
    if lines > LINES_MAX {
        let message = format!("capsule {id} would be {lines} lines (>{LINES_MAX}); compact harder");
        return Err(Refusal::denied(Rule::CapsuleLines, message));
    }
    if args.depends.len() > DEPENDS_MAX {
        let count = args.depends.len();
        let message = format!("capsule {id} would build on {count} others, over {DEPENDS_MAX}");
        return Err(Refusal::denied(Rule::CapsuleLines, message));
    }
    if let Some(way) = commons.leads_back(id, &args.depends) {
        let message = format!("capsule {id} would build on itself, by way of {way}");
        return Err(Refusal::denied(Rule::CapsuleCycle, message));
    }
    if !commons.capsules.contains_key(id) {
        let way_out = "write one anew that is no longer needed";
        room(commons.capsules.len(), CAPSULES_MAX, "capsules", way_out)?;
    }
    Ok(())
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
    fn leads_back<'d>(&self, id: &Handle, depends: &'d [Handle]) -> Option<&'d Handle> {
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

pub(super) fn apply_written(
    state: &mut State,
    entry: &Stamped,
    body: &Write,
) -> Result<(), ApplyError> {
    let capsule = Capsule {
        what: body.what.clone(),
        place: body.place.clone(),
        decision: body.decision.clone(),
        gotcha: body.gotcha.clone(),
        depends: body.depends.clone(),
        written: Mark::of(entry)?,
    };
    state.commons.capsules.insert(body.id.clone(), Arc::new(capsule));
    Ok(())
}
