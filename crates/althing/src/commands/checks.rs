//! The project's checks: commands that have to succeed on the result of a merge.
//!
//! Each runs in a folder with the merged files. A check that fails becomes a conflict of the merge
//! before the merge is decided; what follows from that is the kernel's business.

use althing_kernel::integration::conflict::{CONFLICTS_MAX, ConflictArg, ConflictType};
use althing_kernel::text::Text;
use althing_workshop::command::{self, Limits};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::output::{Out, Tone, one_line};
use crate::progress::Progress;
use crate::span::show_secs;

/// How many of the last lines are shown of a check that failed.
const LINES_SHOWN: usize = 15;

/// How a check came out.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    /// The command.
    pub(super) command: String,
    /// Whether it succeeded.
    pub(super) passed: bool,
    /// How it ended.
    pub(super) ended: String,
    /// How long it took, in milliseconds.
    pub(super) took_ms: u128,
    /// The last of what it printed.
    pub(super) output: String,
}

/// Runs checks one after another, each to its end.
pub(super) fn run(
    out: Out,
    folder: &Path,
    commands: &[String],
    limit: Duration,
) -> Result<Vec<Checked>, Error> {
    if commands.len() > CONFLICTS_MAX {
        let count = commands.len();
        return Err(Error::usage(format!("{count} checks are over the limit of {CONFLICTS_MAX}")));
    }
    let mut all = Vec::new();
    for (number, command) in commands.iter().enumerate() {
        out.note(format!("checking: {}", one_line(command)));
        let bar = Progress::new(out, "checking");
        bar.at(number as u64, commands.len() as u64);
        bar.keep_moving();
        let checked = check(folder, command, limit)?;
        drop(bar);
        print_check(out, &checked);
        all.push(checked);
    }
    Ok(all)
}

fn print_check(out: Out, checked: &Checked) {
    let took = show_secs(u64::try_from(checked.took_ms / 1_000).unwrap_or(u64::MAX));
    let (tone, words) = if checked.passed { (Tone::Good, "passed") } else { (Tone::Bad, "failed") };
    out.note(format!("  {} in {took}: {}", out.paint(tone, words), checked.ended));
    if !checked.passed {
        let lines: Vec<&str> = checked.output.lines().collect();
        for line in &lines[lines.len().saturating_sub(LINES_SHOWN)..] {
            out.note(format!("  | {}", one_line(line)));
        }
    }
}

fn check(folder: &Path, command: &str, limit: Duration) -> Result<Checked, Error> {
    let limits = Limits { time: limit, ..Limits::default() };
    let ran = command::run(folder, command, &limits)
        .map_err(|error| Error::unavailable(format!("a check: {}", error.message())))?;
    Ok(Checked {
        command: command.to_owned(),
        passed: ran.passed,
        ended: ran.ended,
        took_ms: ran.took.as_millis(),
        output: ran.output,
    })
}

/// The conflicts that failed checks are.
pub(super) fn breaches(checked: &[Checked]) -> Vec<ConflictArg> {
    checked.iter().filter(|checked| !checked.passed).map(breach).collect()
}

/// The conflict of a merge that should have been checked and was not.
pub(super) fn not_run() -> ConflictArg {
    ConflictArg {
        description: Text::lossy("the project's checks did not run on this merge"),
        resources: Vec::new(),
        kind: ConflictType::ConstraintBreach,
    }
}

fn breach(checked: &Checked) -> ConflictArg {
    const DESCRIPTION_BYTES_MAX: usize = 1_000;
    const COMMAND_BYTES_MAX: usize = 200;
    let command = Text::<COMMAND_BYTES_MAX>::lossy(&one_line(&checked.command));
    let mut words = format!("`{command}` failed ({})", checked.ended);
    let output = checked.output.trim();
    if !output.is_empty() {
        words.push_str(":\n");
        let room = DESCRIPTION_BYTES_MAX.saturating_sub(words.len());
        let from = output.len().saturating_sub(room);
        let from = (from..=output.len()).find(|at| output.is_char_boundary(*at));
        words.push_str(&output[from.unwrap_or(output.len())..]);
    }
    ConflictArg {
        description: Text::lossy(&words),
        resources: vec![Text::lossy(&checked.command)],
        kind: ConflictType::ConstraintBreach,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(output: &str) -> Checked {
        let (command, ended) = ("make test".to_owned(), "exit status: 2".to_owned());
        Checked { command, passed: false, ended, took_ms: 1, output: output.to_owned() }
    }

    #[test]
    fn a_conflict_holds_the_command_and_the_end_of_what_it_printed() {
        let long = format!("{}é the end\n", "é".repeat(2_000));
        let found = breach(&checked(&long));
        let words = found.description.as_str();
        assert!(words.starts_with("`make test` failed (exit status: 2):\né"), "{words}");
        assert!(words.ends_with("é the end") && words.len() <= 1_000, "{words}");
        assert_eq!(
            breach(&checked("")).description.as_str(),
            "`make test` failed (exit status: 2)"
        );
        assert_eq!(found.resources[0].as_str(), "make test");
    }
}
