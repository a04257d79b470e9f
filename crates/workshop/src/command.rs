//! Commands of a project: checks and set-ups that people wrote, run in a folder.
//!
//! Each runs by `sh -c`, without input, for a limited time, and in a process group of its own, which is
//! ended with it. Its output is read to the end, and the last of it is kept.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command as Process, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::error::WorkshopError;

/// How much of its output is kept: the last of it.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// How often it is looked whether it is done.
const LOOK: Duration = Duration::from_millis(20);
/// How long the end of its output is waited for; something it left behind may hold on to it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The limits of a command.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// Variables that it gets.
    pub env: Vec<(String, String)>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { time: Duration::from_mins(10), env: Vec::new() }
    }
}

/// A command that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Whether it succeeded.
    pub passed: bool,
    /// How it ended.
    pub ended: String,
    /// How long it took.
    pub took: Duration,
    /// The last of its output.
    pub output: String,
}

/// Runs a command to its end.
pub fn run(folder: &Path, command: &str, limits: &Limits) -> Result<Ran, WorkshopError> {
    let cannot = |error: &dyn std::fmt::Display| {
        let line = command.lines().next().unwrap_or_default();
        WorkshopError::new(format!("{line:?} cannot be run: {error}"))
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
    shell.envs(limits.env.iter().map(|(name, value)| (name, value)));
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
    let ended = wait(&mut child, started, limits.time).map_err(|error| cannot(&error))?;
    // A process that still holds its output was left behind and is ended too.
    if ended.is_none() || !printed.is_all(LAST_WORDS) {
        end_group(&mut child);
        printed.is_all(LAST_WORDS);
    }
    let output = printed.kept();
    let how = ended
        .map_or_else(|| format!("not done after {}", show(limits.time)), |ended| ended.to_string());
    Ok(Ran {
        passed: ended.is_some_and(|ended| ended.success()),
        ended: how,
        took: started.elapsed(),
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

/// A time as people write it in settings: `90s`, `10m`, `2h`.
fn show(time: Duration) -> String {
    let secs = time.as_secs();
    match secs {
        _ if secs > 0 && secs.is_multiple_of(3600) => format!("{}h", secs / 3600),
        _ if secs > 0 && secs.is_multiple_of(60) => format!("{}m", secs / 60),
        _ => format!("{secs}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_removed() {
        assert_eq!(plain(b"\x1b[31mred\x1b[0m\r\nplain\x1b"), "red\nplain");
    }

    #[test]
    fn a_command_has_a_time_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { time: Duration::from_millis(300), ..Limits::default() };
        let ran = run(folder.path(), "echo begun; sleep 60", &limits).unwrap();
        assert!(!ran.passed && ran.output.contains("begun"), "{ran:?}");
        let ran =
            run(folder.path(), "(sleep 60; touch late) & exit 0", &Limits::default()).unwrap();
        assert!(ran.passed, "{ran:?}");
        assert!(!folder.path().join("late").exists());
        let ran = run(
            folder.path(),
            "echo $X; exit 3",
            &Limits { env: vec![("X".to_owned(), "seen".to_owned())], ..Limits::default() },
        );
        let ran = ran.unwrap();
        assert!(!ran.passed && ran.output.trim() == "seen" && ran.ended.contains('3'), "{ran:?}");
    }
}
