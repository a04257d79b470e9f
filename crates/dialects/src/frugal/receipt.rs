//! Receiving a message: one bad message gets one more try, a second is escalated.

use super::message::{Report, report};

/// How often somebody may try.
pub const ATTEMPTS_MAX: u32 = 2;

/// A receipt under way.
#[derive(Debug, Default)]
pub struct Receipt {
    attempts: u32,
}

/// What became of a line, or of the end of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing was on the line.
    Blank,
    /// A message was accepted.
    Accepted {
        /// At which attempt.
        attempt: u32,
        /// Its id.
        msg_id: String,
    },
    /// The first bad one; another may follow.
    Retry {
        /// What is wrong with it.
        report: Report,
    },
    /// The second bad one.
    Escalated {
        /// What is wrong with it.
        report: Report,
    },
    /// The stream ended first.
    Ended {
        /// How many bad ones there were.
        attempts: u32,
    },
}

impl Receipt {
    /// Takes a line.
    pub fn line(&mut self, line: &[u8]) -> Step {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Step::Blank;
        }
        self.attempts += 1;
        let (report, message) = report(line);
        if report.valid {
            let msg_id = message.as_ref().and_then(|message| message["msg_id"].as_str());
            let msg_id = msg_id.unwrap_or("?").to_owned();
            return Step::Accepted { attempt: self.attempts, msg_id };
        }
        if self.attempts < ATTEMPTS_MAX {
            Step::Retry { report }
        } else {
            Step::Escalated { report }
        }
    }

    /// Nothing more comes.
    pub fn end(&self) -> Step {
        Step::Ended { attempts: self.attempts }
    }
}

impl Step {
    /// What is said on standard output.
    pub fn said(&self) -> Option<String> {
        match self {
            Step::Accepted { attempt: 1, .. } => Some("ACCEPTED".to_owned()),
            Step::Accepted { attempt, .. } => {
                Some(format!("ACCEPTED on retry (attempt {attempt})"))
            }
            _ => None,
        }
    }

    /// What is said on standard error.
    pub fn warned(&self) -> Vec<String> {
        match self {
            Step::Blank | Step::Accepted { .. } => Vec::new(),
            Step::Retry { report } => vec![
                format!("INVALID (attempt 1): {}", report.errors_json()),
                "retry: accepting next message as the single permitted retry".to_owned(),
            ],
            Step::Escalated { report } => vec![
                format!("INVALID (attempt {ATTEMPTS_MAX}): {}", report.errors_json()),
                format!("ESCALATE: {ATTEMPTS_MAX} malformed messages — exceeded one-retry budget"),
            ],
            Step::Ended { attempts } => {
                vec![format!("ESCALATE: no valid message received (attempts={attempts})")]
            }
        }
    }

    /// Whether nothing more is read after this.
    pub fn is_last(&self) -> bool {
        !matches!(self, Step::Blank | Step::Retry { .. })
    }
}
