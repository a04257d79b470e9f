//! Arguments of the tools, read one after another.

use std::collections::VecDeque;
use std::ffi::OsString;

use super::Stop;

/// The arguments that are not read yet.
pub(super) struct Args(VecDeque<String>);

impl Args {
    pub(super) fn new(given: Vec<OsString>) -> Result<Self, Stop> {
        let text = |arg: OsString| {
            arg.into_string().map_err(|_| Stop::error(2, "an argument is not UTF-8 text"))
        };
        given.into_iter().map(text).collect::<Result<_, _>>().map(Args)
    }

    /// Whether help is wanted in place of anything else.
    pub(super) fn asks_for_help(&self) -> bool {
        self.0.front().is_some_and(|first| first == "-h" || first == "--help")
    }

    /// The first one, which stays.
    pub(super) fn first(&self) -> Option<&str> {
        self.0.front().map(String::as_str)
    }

    /// Whether one of them is this.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|arg| arg == flag)
    }

    /// The next one.
    pub(super) fn next(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// The value of a flag. One without a value ends with 1, as it always did.
    pub(super) fn value(&mut self, flag: &str) -> Result<String, Stop> {
        self.next().ok_or_else(|| Stop::error(1, format!("{flag} needs a value")))
    }

    /// Refuses further arguments, which would be ignored.
    pub(super) fn end(&mut self) -> Result<(), Stop> {
        match self.next() {
            Some(more) => Err(unexpected(&more)),
            None => Ok(()),
        }
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> Vec<String> {
        self.0.drain(..).collect()
    }
}

/// Something that is not a subcommand.
pub(super) fn unknown(what: Option<String>) -> Stop {
    match what {
        Some(what) => Stop::usage(format!("unknown subcommand: {what}")),
        None => Stop::usage("a subcommand is needed"),
    }
}

/// Something that is not an argument.
pub(super) fn unexpected(what: &str) -> Stop {
    Stop::usage(format!("unknown argument: {what}"))
}
