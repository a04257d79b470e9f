//! Receiving a message: an invalid message allows one retry, a second one escalates.

use super::message::{Report, report};

/// Most attempts.
pub const ATTEMPTS_MAX: u32 = 2;

/// A receipt in progress.
#[derive(Debug, Default)]
pub struct Receipt {
    attempts: u32,
}

/// Result of a line, or of the end of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An empty line.
    Blank,
    /// A message was accepted.
    Accepted {
        /// Number of the attempt.
        attempt: u32,
        /// Its id.
        msg_id: String,
    },
    /// The first invalid message; a retry may follow.
    Retry {
        /// Its faults.
        report: Report,
    },
    /// The second invalid message.
    Escalated {
        /// Its faults.
        report: Report,
    },
    /// The stream ended before a valid message.
    Ended {
        /// Number of invalid messages.
        attempts: u32,
    },
}

impl Receipt {
    /// Handles a line.
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

    /// Handles the end of the stream.
    pub fn end(&self) -> Step {
        Step::Ended { attempts: self.attempts }
    }
}

impl Step {
    /// Text for standard output.
    pub fn output(&self) -> Option<String> {
        match self {
            Step::Accepted { attempt: 1, .. } => Some("ACCEPTED".to_owned()),
            Step::Accepted { attempt, .. } => {
                Some(format!("ACCEPTED on retry (attempt {attempt})"))
            }
            _ => None,
        }
    }

    /// Lines for standard error.
    pub fn warnings(&self) -> Vec<String> {
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

    /// Whether reading stops after this step.
    pub fn is_last(&self) -> bool {
        !matches!(self, Step::Blank | Step::Retry { .. })
    }
}
