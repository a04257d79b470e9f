//! Transitions between the phases of loops.

use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;

pub use crate::model::knowledge::records::loops::phases::*;

impl Stand<'_> {
    /// The transition to the next phase, or to the requested one. Phases move forward by default;
    /// going back must be requested and starts another round.
    pub(crate) fn next(self, asked: Option<&str>) -> Result<Next, Refusal> {
        let mut steps = self.successors().iter().map(|next| self.step(next));
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
            let successors = self.successors().iter().map(|next| (*next).to_owned());
            Refusal::denied(Rule::RecordStep, message).allowing(successors)
        })
    }
}
