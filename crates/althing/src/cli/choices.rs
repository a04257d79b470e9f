//! Words that shells complete and that help lists. What they mean is for the verb to say, which
//! knows other words for the same and tells which there are; so nothing is refused here.

use althing_kernel::records::Kind;
use althing_kernel::records::vocabulary::LoopKind;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// Words to choose from.
#[derive(Clone, Copy)]
pub(crate) struct Choices(fn() -> Vec<&'static str>);

/// The kinds of things that are remembered.
pub(crate) const KINDS: Choices = Choices(|| Kind::ALL.iter().map(|kind| kind.as_str()).collect());
/// The kinds that a text alone makes.
pub(crate) const REMEMBERED: [Kind; 5] =
    [Kind::Constraint, Kind::Decision, Kind::Trap, Kind::Plan, Kind::Handoff];
/// The same, to choose from.
pub(crate) const REMEMBERED_KINDS: Choices =
    Choices(|| REMEMBERED.iter().map(|kind| kind.as_str()).collect());
/// The states of all kinds.
pub(crate) const STATES: Choices = Choices(states);
/// The states, and `progress`, which is reported like a state.
pub(crate) const STEPS: Choices = Choices(|| {
    let mut steps = states();
    steps.push("progress");
    steps
});
/// The states a plan can get when its claim or assignment ends.
pub(crate) const PLAN_ENDS: Choices = Choices(|| vec!["done", "blocked"]);
/// The kinds of loops.
pub(crate) const LOOP_KINDS: Choices =
    Choices(|| LoopKind::ALL.iter().map(|kind| kind.as_str()).collect());
/// How loops end.
pub(crate) const LOOP_ENDS: Choices = Choices(|| vec!["completed", "cancelled", "blocked"]);

fn states() -> Vec<&'static str> {
    let all = Kind::ALL.iter().flat_map(|kind| kind.table().states);
    let all: BTreeSet<&str> = all.map(|state| state.as_str()).collect();
    all.into_iter().collect()
}

impl TypedValueParser for Choices {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
