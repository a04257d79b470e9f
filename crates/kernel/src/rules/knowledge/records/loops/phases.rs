//! The phases of loops: each kind has its own, and each phase leads on, and perhaps back.

use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;

pub use crate::model::knowledge::records::loops::phases::*;

impl Stand<'_> {
    /// The phase that comes next, or the one that is asked for. Phases only move forward by
    /// themselves; whoever goes back says so and begins another round.
    pub(crate) fn next(self, asked: Option<&str>) -> Result<Next, Refusal> {
        let mut steps = self.ways().iter().map(|way| self.step(way));
        let found = match asked {
            None => steps.find(|step| !step.again),
            Some(asked) => steps.find(|step| step.phase == asked),
        };
        found.ok_or_else(|| {
            let now = self.phase;
            let message = match asked {
                Some(asked) => format!("{now} does not lead to {asked}"),
                None => format!("{now} is the last phase; close the loop"),
            };
            let ways = self.ways().iter().map(|way| (*way).to_owned());
            Refusal::denied(Rule::RecordStep, message).allowing(ways)
        })
    }
}
