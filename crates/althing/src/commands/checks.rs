//! The project's checks: commands that have to succeed on the result of a merge.
//!
//! Each runs by `sh -c` in a folder with the merged files, without input, for a limited time, and
//! in a process group of its own, which is ended with it. What it prints is read to the end, and
//! the last of it is kept. A check that fails becomes a conflict of the merge before the merge is
//! decided; what follows from that is the kernel's business.

use althing_kernel::integration::conflict::{CONFLICTS_MAX, ConflictArg, ConflictType};
use althing_kernel::text::Text;
use serde::Serialize;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::output::{Out, Tone, one_line};
use crate::progress::Progress;
use crate::span::show_secs;

/// How much of what a check prints is kept: the last of it.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// How often it is looked whether a check is done.
const LOOK: Duration = Duration::from_millis(20);
/// How long the end of its output is waited for; something it left behind may hold on to it.
const LAST_WORDS: Duration = Duration::from_secs(1);
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
    let cannot = |error: &dyn std::fmt::Display| {
        Error::unavailable(format!("the check {:?} cannot be run: {error}", one_line(command)))
    };
    let (reader, writer) = std::io::pipe().map_err(|error| cannot(&error))?;
    let second = writer.try_clone().map_err(|error| cannot(&error))?;
    let mut shell = Process::new("sh");
    shell.arg("-c").arg(command).current_dir(folder);
    shell.stdin(Stdio::null()).stdout(writer).stderr(second);
    // It runs code that somebody else wrote: nobody's name goes with it, and no repository.
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("ALTHING_") || name_text.starts_with("GIT_") {
            shell.env_remove(name);
        }
    }
    shell.env("NO_COLOR", "1");
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        shell.process_group(0);
    }
    let started = Instant::now();
    let mut child = shell.spawn().map_err(|error| cannot(&error))?;
    // Our own ends of the pipe go with this; otherwise it would never be at its end.
    drop(shell);
    let printed = Printed::listen(reader);
    let ended = wait(&mut child, started, limit).map_err(|error| cannot(&error))?;
    // A process that still holds its output was left behind by the check and is ended too.
    if ended.is_none() || !printed.is_all(LAST_WORDS) {
        end_group(&mut child);
        printed.is_all(LAST_WORDS);
    }
    let output = printed.kept();
    let how = ended.map_or_else(
        || format!("not done after {}", show_secs(limit.as_secs())),
        |ended| ended.to_string(),
    );
    Ok(Checked {
        command: command.to_owned(),
        passed: ended.is_some_and(|ended| ended.success()),
        ended: how,
        took_ms: started.elapsed().as_millis(),
        output: plain(&output),
    })
}

/// The output of a check.
struct Printed {
    kept: Arc<Mutex<Vec<u8>>>,
    over: mpsc::Receiver<()>,
}

impl Printed {
    /// Reads everything, so that nothing waits for somebody to read it, and keeps the last of it.
    fn listen(mut reader: std::io::PipeReader) -> Self {
        let (say, over) = mpsc::channel();
        let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
        let shared = Arc::clone(&kept);
        std::thread::spawn(move || {
            let mut piece = [0; 8 << 10];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&piece[..read]);
                if kept.len() > 2 * OUTPUT_BYTES_MAX {
                    let old = kept.len() - OUTPUT_BYTES_MAX;
                    kept.drain(..old);
                }
            }
            // The caller may have stopped waiting.
            let _ = say.send(());
        });
        Printed { kept, over }
    }

    /// Whether it was read to its end, waiting for that a little.
    fn is_all(&self, wait: Duration) -> bool {
        // A reader that is gone has come to the end before.
        !matches!(self.over.recv_timeout(wait), Err(mpsc::RecvTimeoutError::Timeout))
    }

    /// The last of it.
    fn kept(&self) -> Vec<u8> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept[kept.len().saturating_sub(OUTPUT_BYTES_MAX)..].to_vec()
    }
}

/// Waits for a check; none if its time is over before.
fn wait(
    child: &mut Child,
    started: Instant,
    limit: Duration,
) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(ended) = child.try_wait()? {
            return Ok(Some(ended));
        }
        if started.elapsed() >= limit {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// Ends a check and whatever it left running.
fn end_group(child: &mut Child) {
    #[cfg(unix)]
    {
        // Every shell has `kill` built in; this is the form that all of them understand.
        let group = format!("kill -s KILL -- -{}", child.id());
        let kill = Process::new("sh").arg("-c").arg(group).stdin(Stdio::null()).output();
        // If nothing is left to end, that is fine.
        drop(kill);
    }
    // It may have ended by itself, which is what is wanted.
    let _ = child.kill();
    let _ = child.wait();
}

/// Text without what only a terminal understands.
fn plain(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A sequence that begins with `[` ends with a letter.
            if chars.next() == Some('[') {
                chars.by_ref().find(|c| ('\u{40}'..='\u{7e}').contains(c));
            }
        } else if c != '\r' {
            plain.push(c);
        }
    }
    plain
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

    #[test]
    fn escape_sequences_are_removed() {
        assert_eq!(plain(b"\x1b[31mred\x1b[0m\r\nplain\x1b"), "red\nplain");
    }
}
