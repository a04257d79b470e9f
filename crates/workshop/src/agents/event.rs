//! What an agent says while it works, in one vocabulary for all of them.

use std::time::Duration;

/// One thing an agent said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It began, in this session.
    Started {
        /// The name by which the session is resumed.
        session: String,
    },
    /// The model wrote something.
    Text(String),
    /// It called a tool.
    Tool {
        /// The tool's own name.
        name: String,
        /// The file it is about, if it is about one.
        path: Option<String>,
        /// One line for people.
        summary: String,
    },
    /// It changed a file. Commands of a shell change more than agents report.
    FileChanged {
        /// The file, as the agent names it.
        path: String,
    },
    /// What it has used in this turn so far. A later report replaces an earlier one.
    Usage(Usage),
    /// Its provider refuses requests for a while. Agents try again by themselves for some time.
    RateLimited {
        /// When it may be tried again, if it says so.
        retry: Option<Retry>,
    },
    /// Its provider does not accept its key or login.
    AuthFailed {
        /// What it said.
        reason: String,
    },
    /// Something else failed.
    Failed {
        /// What it said.
        reason: String,
    },
    /// A line that is no event: warnings, and errors from before it could report any.
    Note(String),
    /// It reports its end.
    Finished {
        /// Its last words.
        text: Option<String>,
        /// Whether it calls that a success.
        ok: bool,
    },
}

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// After so long, counted from when it was printed.
    After(Duration),
    /// At this time, in seconds since 1970.
    At(u64),
}

/// Tokens and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Tokens of those that came from a cache.
    pub cached: u64,
    /// Tokens written, those of its reasoning included.
    pub output: u64,
    /// The cost in millionths of a dollar, if it is reported.
    pub cost_microdollars: Option<u64>,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        let cost = match (self.cost_microdollars, other.cost_microdollars) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0).saturating_add(two.unwrap_or(0))),
        };
        Usage {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
            cost_microdollars: cost,
        }
    }

    /// What came after an earlier state of the same count.
    #[must_use]
    pub fn since(self, earlier: Usage) -> Usage {
        let before = earlier.cost_microdollars.unwrap_or(0);
        Usage {
            input: self.input.saturating_sub(earlier.input),
            cached: self.cached.saturating_sub(earlier.cached),
            output: self.output.saturating_sub(earlier.output),
            cost_microdollars: self.cost_microdollars.map(|cost| cost.saturating_sub(before)),
        }
    }
}
