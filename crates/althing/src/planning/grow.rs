//! The files that only grow. Each is appended to, and compared with the trail if it is not as long
//! as it should be.

use althing_dialects::frugal::planning::{Log, is_look_up, line};
use althing_kernel::Stamped;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use super::{Planning, plain, unusable};
use crate::failure::Failure;

/// More than this is written as a whole file: one write of less is not torn by a kill.
const PIECE_BYTES_MAX: usize = 64 << 10;

/// Text to append to the logs, entry by entry.
pub(super) struct Pieces {
    gained: Vec<(Log, u64, String)>,
    replaced: bool,
}

impl Pieces {
    /// Of a trail that may have taken the place of another.
    pub(super) fn new(replaced: bool) -> Self {
        Pieces { gained: Vec::new(), replaced }
    }

    fn is_replaced(&self) -> bool {
        self.replaced
    }

    pub(super) fn add(&mut self, seq: u64, entry: &Stamped) {
        let gained = Log::ALL.into_iter().filter_map(|log| Some((log, seq, line(log, entry)?)));
        self.gained.extend(gained);
    }

    fn of(&self, log: Log, after: u64) -> String {
        let own = self.gained.iter().filter(|(of, seq, _)| *of == log && *seq > after);
        own.map(|(.., text)| text.as_str()).collect()
    }
}

/// How a log stands against the trail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grown {
    /// The file matches the trail.
    Whole,
    /// The file has only the beginning.
    Part,
    /// The file differs from the trail.
    Edited,
}

/// Compares a log with what the trail has for it. Look-ups leave lines in `protocol.log` that
/// nothing in the trail stands behind.
pub(super) fn compare(log: Log, there: &str, full: &str) -> Grown {
    let own: String = match log {
        Log::Protocol => there.split_inclusive('\n').filter(|line| !is_look_up(line)).collect(),
        Log::Ledger | Log::Decisions => there.to_owned(),
    };
    if own == full {
        Grown::Whole
    } else if full.starts_with(&own) {
        Grown::Part
    } else {
        Grown::Edited
    }
}

/// The trail's lines with those of look-ups among them, in the order of time.
fn with_look_ups(there: &str, full: &str) -> String {
    let look_ups = there.lines().filter(|line| is_look_up(line));
    let mut lines: Vec<&str> = full.lines().chain(look_ups).collect();
    lines.sort_by_key(|line| line.split('\t').next().unwrap_or_default());
    lines.into_iter().flat_map(|line| [line, "\n"]).collect()
}

impl Planning {
    /// Has a log say everything up to an entry, unless somebody wrote into it.
    pub(super) fn extend(
        &self,
        log: Log,
        pieces: &Pieces,
        until: u64,
        full: &dyn Fn() -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let (seq, bytes) = self.records.grown(log.path());
        let piece = pieces.of(log, seq);
        let path = self.root.join(log.path());
        plain(&path)?;
        let is = std::fs::metadata(&path).map_or(0, |data| data.len());
        let looked = || self.has_look_ups_after(log, bytes);
        let as_left = is == bytes || (log == Log::Protocol && looked()?);
        if pieces.is_replaced() && as_left {
            // It said what another trail said, and nobody wrote into it.
            let there = self.read(log.path())?.unwrap_or_default();
            return self.replace_log(log, &there, &full()?, until);
        }
        if piece.is_empty() && path.exists() {
            return Ok(());
        }
        if as_left && piece.len() <= PIECE_BYTES_MAX {
            let grown = std::fs::File::options().create(true).append(true).open(&path);
            let grown = grown.and_then(|mut file| {
                // Not synced: a log that lost its end is made whole again from the trail.
                file.write_all(piece.as_bytes())?;
                file.metadata()
            });
            let grown = grown.map_err(|error| unusable(&path, &error))?;
            return self.records.set_grown(log.path(), until, grown.len());
        }
        let (there, full) = (self.read(log.path())?.unwrap_or_default(), full()?);
        if compare(log, &there, &full) == Grown::Edited {
            return Ok(());
        }
        self.replace_log(log, &there, &full, until)
    }

    /// Whether everything after a place is of look-ups.
    fn has_look_ups_after(&self, log: Log, bytes: u64) -> Result<bool, Failure> {
        let path = self.root.join(log.path());
        let mut rest = String::new();
        let read = std::fs::File::open(&path).and_then(|mut file| {
            if file.metadata()?.len() < bytes {
                return Ok(false);
            }
            file.seek(SeekFrom::Start(bytes))?;
            file.read_to_string(&mut rest).map(|_| true)
        });
        match read {
            Ok(longer) => Ok(longer && rest.ends_with('\n') && rest.lines().all(is_look_up)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    /// Writes a log as a whole.
    pub(super) fn replace_log(
        &self,
        log: Log,
        there: &str,
        full: &str,
        until: u64,
    ) -> Result<(), Failure> {
        let text = match log {
            Log::Protocol => with_look_ups(there, full),
            Log::Ledger | Log::Decisions => full.to_owned(),
        };
        if text != there || !self.root.join(log.path()).exists() {
            self.write(log.path(), &text)?;
        }
        self.records.set_grown(log.path(), until, text.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_whole_a_part_or_edited_and_look_ups_do_not_count() {
        let full = "1\tresolve\tset\ta=b\n3\tresolve\tset\tc=d\n";
        let look_up = "2\tresolve\tlookup\ta\n";
        let (first, second) = full.split_at(18);
        for (there, expected) in [
            (full.to_owned(), Grown::Whole),
            (format!("{first}{look_up}{second}{look_up}"), Grown::Whole),
            (String::new(), Grown::Part),
            (format!("{first}{look_up}"), Grown::Part),
            (format!("{first}{look_up}3\tres"), Grown::Part),
            (format!("{first}x\n"), Grown::Edited),
            (format!("{full}more\n"), Grown::Edited),
        ] {
            assert_eq!(compare(Log::Protocol, &there, full), expected, "{there}");
        }
        assert_eq!(with_look_ups(look_up, full), format!("{first}{look_up}{second}"));
        assert_eq!(compare(Log::Ledger, look_up, ""), Grown::Edited);
    }
}
