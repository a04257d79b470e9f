//! The brief of an attempt: what an agent is told before it begins, under a limit of tokens.
//!
//! The task itself, what it may change and what shows that it is done always stand in it. What the
//! memory knows about its files, what was merged before it and how earlier attempts ended follow as
//! far as the limit allows.

use althing_dialects::frugal::tokens;
use althing_kernel::records::Record;
use althing_kernel::task::terms::Terms;
use std::fmt::Write as _;

use crate::context::ProjectContext;
use crate::error::Error;
use crate::memory::relevant;

/// The most records of the memory that a brief quotes.
const KNOWN_MAX: usize = 6;
/// The most characters of a piece of evidence.
const EVIDENCE_CHARS_MAX: usize = 4_000;

/// How an earlier try at the task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Who tried.
    pub agent: String,
    /// How it ended, with what was found.
    pub evidence: String,
    /// A commit with what it left, if it left something.
    pub left: Option<String>,
}

/// The facts of a brief.
pub struct Brief<'a> {
    /// The task.
    pub task: &'a Record,
    /// What is to be done, in words.
    pub text: &'a str,
    /// The tasks that were merged before, each in one line.
    pub before: Vec<String>,
    /// Earlier tries, the last one last.
    pub earlier: Vec<Earlier>,
    /// The most tokens of the whole.
    pub tokens_max: u64,
}

impl Brief<'_> {
    /// The text that the agent gets.
    pub fn write(&self, context: &ProjectContext) -> Result<String, Error> {
        let terms = self.task.terms().cloned().unwrap_or_default();
        let mut text = self.task_itself(&terms);
        for part in self.parts(context, &terms)? {
            let longer = format!("{text}\n{part}");
            if tokens::count(&longer) <= self.tokens_max {
                text = longer;
            }
        }
        Ok(text)
    }

    /// The part that is never left out.
    fn task_itself(&self, terms: &Terms) -> String {
        let title = self.task.text.as_str().lines().next().unwrap_or_default();
        let mut text = format!("# {title}\n\n{}\n\n## Terms\n\n", self.text.trim());
        let touches: Vec<String> =
            terms.touches.iter().map(|surface| format!("`{surface}`")).collect();
        let line = if touches.is_empty() {
            "- Every file you edit is claimed for you. An edit of a file that somebody else holds is \
             refused; work on something else, or wait."
                .to_owned()
        } else {
            format!("- Change only: {}. Other changes are not merged.", touches.join(", "))
        };
        let _ = writeln!(text, "{line}");
        if let Some(check) = &terms.check {
            let _ = writeln!(text, "- It is done when this succeeds here: `{check}`");
        }
        let produces: Vec<String> = terms.produces.iter().map(|file| format!("`{file}`")).collect();
        if !produces.is_empty() {
            let _ = writeln!(text, "- These files exist afterwards: {}", produces.join(", "));
        }
        text.push_str(
            "- Work in the current folder, a git worktree of your own. You need not commit: your \
             changes are merged once they pass.\n",
        );
        text
    }

    /// The parts that stand in it if there is room, the most useful first.
    fn parts(&self, context: &ProjectContext, terms: &Terms) -> Result<Vec<String>, Error> {
        let mut parts: Vec<String> = self.earlier.iter().rev().map(told).collect();
        let path = terms.touches.first().map(ToString::to_string);
        let known = relevant(context, path.as_deref(), self.task.text.as_str(), KNOWN_MAX)?;
        parts.extend(known.into_iter().map(|(id, text)| format!("- Known ({id}): {text}")));
        parts.extend(self.before.iter().map(|task| format!("- Merged before: {task}")));
        Ok(parts)
    }
}

fn told(earlier: &Earlier) -> String {
    let mut text = format!("\n## The last try, by {}\n\n", earlier.agent);
    text.push_str(&shortened(&earlier.evidence));
    if let Some(left) = &earlier.left {
        let _ = write!(text, "\n\nWhat it left: `git diff HEAD {left}`");
    }
    text
}

/// The end of a long text, where errors stand.
pub(crate) fn shortened(text: &str) -> String {
    let text = text.trim();
    let count = text.chars().count();
    if count <= EVIDENCE_CHARS_MAX {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(count - EVIDENCE_CHARS_MAX).collect();
    format!("[…]\n{tail}")
}

/// The message with which an agent goes on after a try that did not pass.
pub fn feedback(evidence: &str) -> String {
    format!(
        "Your last try is not done yet. This was found:\n\n{}\n\nGo on in the same folder until it \
         passes.",
        shortened(evidence)
    )
}
