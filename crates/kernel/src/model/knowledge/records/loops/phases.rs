//! The phases of each kind of loop, and the transitions between them.

use crate::model::knowledge::records::record::Record;
use crate::model::knowledge::records::vocabulary::LoopKind;

/// The phase in which work is checked.
pub(crate) const VERIFY: &str = "verify";

/// The phases of a kind of loop, each with the phases it leads to.
pub const fn phases(kind: LoopKind) -> &'static [(&'static str, &'static [&'static str])] {
    match kind {
        LoopKind::Review => &[
            ("change_summary", &["findings"]),
            ("findings", &["author_response"]),
            ("author_response", &["followup_review"]),
            ("followup_review", &["verdict"]),
            ("verdict", &[]),
        ],
        LoopKind::Ideation => &[
            ("proposal", &["critique"]),
            ("critique", &["revision", "synthesis"]),
            ("revision", &["critique", "synthesis"]),
            ("synthesis", &[]),
        ],
        LoopKind::Implementation => &[
            ("bind", &["execute"]),
            ("execute", &[VERIFY]),
            (VERIFY, &["handoff_ready", "execute"]),
            ("handoff_ready", &[]),
        ],
        LoopKind::Research => {
            &[("question", &["gather"]), ("gather", &["synthesis"]), ("synthesis", &["gather"])]
        }
        LoopKind::Debug => &[
            ("reproduce", &["diagnose"]),
            ("diagnose", &["fix"]),
            ("fix", &[VERIFY]),
            (VERIFY, &["diagnose"]),
        ],
    }
}

/// The first phase of a kind of loop.
pub const fn first(kind: LoopKind) -> &'static str {
    phases(kind)[0].0
}

/// The kind and current phase of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand<'r> {
    kind: LoopKind,
    pub(crate) phase: &'r str,
}

/// A transition to another phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) phase: &'static str,
    /// Whether it starts another round.
    pub(crate) again: bool,
}

impl<'r> Stand<'r> {
    pub(crate) fn of(own: &'r Record) -> Self {
        let kind = own.fields.loop_kind.unwrap_or(LoopKind::Implementation);
        let phase = own.fields.phase.as_ref().map_or(first(kind), |phase| phase.as_str());
        Stand { kind, phase }
    }

    fn place(self, name: &str) -> Option<usize> {
        phases(self.kind).iter().position(|(own, _)| *own == name)
    }

    /// Whether the phase is one of its kind. Loops in old trails may be in other phases.
    pub(crate) fn is_known(self) -> bool {
        self.place(self.phase).is_some()
    }

    pub(crate) fn successors(self) -> &'static [&'static str] {
        phases(self.kind)[self.place(self.phase).unwrap_or_default()].1
    }

    pub(crate) fn step(self, phase: &'static str) -> Next {
        Next { phase, again: self.place(phase) < Some(self.place(self.phase).unwrap_or_default()) }
    }

    /// The transition back to an earlier phase, which starts another round, if there is one.
    pub(crate) fn back(self) -> Option<Next> {
        self.successors().iter().map(|next| self.step(next)).find(|step| step.again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_lead_on_and_back_and_end() {
        for kind in LoopKind::ALL {
            for (_, successors) in phases(*kind) {
                assert!(
                    successors.iter().all(|next| phases(*kind).iter().any(|(own, _)| own == next))
                );
            }
        }
        let at = |phase| Stand { kind: LoopKind::Implementation, phase };
        let next = |phase, asked| at(phase).next(asked).map(|next| (next.phase, next.again));
        assert_eq!(next("bind", None), Ok(("execute", false)));
        assert_eq!(next("verify", None), Ok(("handoff_ready", false)));
        assert_eq!(next("verify", Some("execute")), Ok(("execute", true)));
        assert!(next("bind", Some("verify")).is_err() && next("handoff_ready", None).is_err());
        assert_eq!(at("verify").back().map(|next| next.phase), Some("execute"));
        assert_eq!(at("bind").back(), None);
    }
}
