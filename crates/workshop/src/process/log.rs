//! The log of an agent's output: bounded, and written whatever the disk says.
//!
//! Positions in the log count all bytes ever written to it, so they stay valid. Once the log is
//! large it is cut in the middle: `log.first` keeps the beginning, `log.previous` and `log` the
//! end. Each file but the very first says in its first line at which position it begins.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::clock::unix_ms;
use super::files::private;

/// Begins every line that is not the agent's.
pub const NOTE: &str = "[althing] ";
const CONTINUES: &str = "[althing] the log continues at byte ";
/// The smallest size of one file of the log.
const SEGMENT_MIN: u64 = 4 << 10;

/// The files that hold the log, oldest first.
fn segments(folder: &Path) -> [PathBuf; 3] {
    ["log.first", "log.previous", "log"].map(|name| folder.join(name))
}

/// Appends to the log.
pub(super) struct LogWriter {
    folder: PathBuf,
    file: Option<File>,
    /// The position at which the file begins.
    base: u64,
    /// The size of the file.
    length: u64,
    segment_max: u64,
    /// How many bytes could not be written.
    dropped: u64,
    /// Whether the last line of the file has its end.
    is_line_ended: bool,
}

impl LogWriter {
    /// Goes on with the log in a folder. A log that cannot be opened is tried again later.
    pub(super) fn open(folder: &Path, bytes_max: u64) -> Self {
        let mut log = LogWriter {
            folder: folder.to_owned(),
            file: None,
            base: 0,
            length: 0,
            segment_max: (bytes_max / 3).max(SEGMENT_MIN),
            dropped: 0,
            is_line_ended: true,
        };
        if let Err(error) = log.reopen() {
            tracing::warn!(%error, "the log cannot be opened");
        }
        log
    }

    fn reopen(&mut self) -> std::io::Result<()> {
        let [.., current] = segments(&self.folder);
        let mut file = private().read(true).append(true).create(true).open(current)?;
        self.length = file.metadata()?.len();
        self.base = base_of(&mut file)?.unwrap_or(0);
        self.is_line_ended = self.length == 0 || last_byte(&mut file)? == b'\n';
        self.file = Some(file);
        Ok(())
    }

    /// The position after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.base.saturating_add(self.length)
    }

    /// Appends some output. What cannot be written is counted and left out.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if let Err(error) = self.try_append(bytes) {
            let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            self.dropped = self.dropped.saturating_add(bytes);
            tracing::debug!(%error, "output is not in the log");
        }
    }

    /// Begins a new line, if the last one has no end.
    pub(super) fn end_line(&mut self) {
        if !self.is_line_ended {
            self.append(b"\n");
        }
    }

    fn try_append(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.file.is_none() {
            self.reopen()?;
        }
        if self.dropped > 0 {
            let lost = format!("{NOTE}{} bytes of output could not be written", self.dropped);
            self.end_line_now()?;
            self.write(format!("{lost}\n").as_bytes())?;
            self.dropped = 0;
        }
        let grown = self.length.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.length > 0 && grown > self.segment_max {
            self.rotate()?;
        }
        self.write(bytes)
    }

    fn end_line_now(&mut self) -> std::io::Result<()> {
        if self.is_line_ended { Ok(()) } else { self.write(b"\n") }
    }

    /// Writes, and knows what was written even if only a part was.
    fn write(&mut self, mut bytes: &[u8]) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        while !bytes.is_empty() {
            match file.write(bytes) {
                Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    let (done, rest) = bytes.split_at(written.min(bytes.len()));
                    self.length =
                        self.length.saturating_add(u64::try_from(done.len()).unwrap_or(0));
                    self.is_line_ended = done.last() == Some(&b'\n');
                    bytes = rest;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Begins a new file. The first file is kept, later ones replace each other.
    fn rotate(&mut self) -> std::io::Result<()> {
        let [first, previous, current] = segments(&self.folder);
        self.end_line_now()?;
        std::fs::rename(&current, if first.exists() { &previous } else { &first })?;
        let base = self.end();
        self.file = None;
        let file = private().read(true).append(true).create(true).open(&current)?;
        (self.file, self.base, self.length) = (Some(file), base, 0);
        self.write(format!("{CONTINUES}{base}\n").as_bytes())
    }
}

/// The position at which a file of the log begins; none if the file is empty.
fn base_of(file: &mut File) -> std::io::Result<Option<u64>> {
    let mut start = [0; 80];
    file.seek(SeekFrom::Start(0))?;
    let mut read = 0;
    while read < start.len() {
        match file.read(&mut start[read..])? {
            0 => break,
            more => read += more,
        }
    }
    let line = String::from_utf8_lossy(&start[..read]);
    let line = line.lines().next();
    Ok(line.map(|line| line.strip_prefix(CONTINUES).and_then(|at| at.parse().ok()).unwrap_or(0)))
}

fn last_byte(file: &mut File) -> std::io::Result<u8> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0])
}

/// A piece of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// How many bytes before it were cut.
    pub skipped: u64,
    /// The bytes. Empty at the end of the log.
    pub bytes: Vec<u8>,
}

/// Reads the log from a position on, also while it is written.
#[derive(Clone, Debug)]
pub struct LogReader {
    folder: PathBuf,
    position: u64,
}

impl LogReader {
    /// Reads the log of an attempt's folder from a position on; 0 is its beginning.
    pub fn new(folder: &Path, position: u64) -> Self {
        LogReader { folder: folder.to_owned(), position }
    }

    /// The position of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Reads on, at most so many bytes. A log that is not there yet is empty.
    pub fn read(&mut self, bytes_max: usize) -> std::io::Result<Piece> {
        // Newest first: whoever rotates the log meanwhile moves files towards the older names.
        let mut next: Option<(u64, File)> = None;
        for path in segments(&self.folder).iter().rev() {
            let Some((base, file)) = opened(path)? else { continue };
            if base <= self.position {
                let piece = self.read_from(file, base, bytes_max)?;
                if !piece.bytes.is_empty() || next.is_none() {
                    return Ok(piece);
                }
                break;
            }
            if next.as_ref().is_none_or(|(found, _)| base < *found) {
                next = Some((base, file));
            }
        }
        let Some((base, file)) = next else { return Ok(Piece::default()) };
        let skipped = base.saturating_sub(self.position);
        self.position = base;
        Ok(Piece { skipped, ..self.read_from(file, base, bytes_max)? })
    }

    fn read_from(&mut self, mut file: File, base: u64, max: usize) -> std::io::Result<Piece> {
        file.seek(SeekFrom::Start(self.position.saturating_sub(base)))?;
        let mut bytes = Vec::new();
        file.take(u64::try_from(max).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
        let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.position = self.position.saturating_add(read);
        Ok(Piece { skipped: 0, bytes })
    }
}

/// A file of the log and the position at which it begins; none if it is not there or empty.
fn opened(path: &Path) -> std::io::Result<Option<(u64, File)>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(base_of(&mut file)?.map(|base| (base, file)))
}

/// The position after the last byte of a log, and the time of the last output in milliseconds
/// since 1970, if there was any.
pub fn log_end(folder: &Path) -> (u64, Option<u64>) {
    let [.., current] = segments(folder);
    let Ok(Some((base, file))) = opened(&current) else { return (0, None) };
    let Ok(data) = file.metadata() else { return (base, None) };
    (base.saturating_add(data.len()), data.modified().ok().map(unix_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything(reader: &mut LogReader) -> (u64, String) {
        let (mut skipped, mut text) = (0, String::new());
        loop {
            let piece = reader.read(1000).unwrap();
            skipped += piece.skipped;
            if piece.bytes.is_empty() {
                return (skipped, text);
            }
            text.push_str(&String::from_utf8(piece.bytes).unwrap());
        }
    }

    #[test]
    fn a_small_log_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogWriter::open(folder.path(), 1 << 20);
        log.append(b"one\n");
        log.append(b"two");
        drop(log);
        let mut log = LogWriter::open(folder.path(), 1 << 20);
        log.end_line();
        log.append(b"three\n");
        assert_eq!(log.end(), 14);
        assert_eq!(log_end(folder.path()).0, 14);
        let mut reader = LogReader::new(folder.path(), 4);
        assert_eq!(everything(&mut reader), (0, "two\nthree\n".to_owned()));
        log.append(b"four\n");
        assert_eq!(everything(&mut reader), (0, "four\n".to_owned()));
    }

    #[test]
    fn a_large_log_keeps_its_beginning_and_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let max = 3 * SEGMENT_MIN;
        let mut log = LogWriter::open(folder.path(), max);
        for number in 0..5000 {
            log.append(format!("line {number}\n").as_bytes());
        }
        let size: u64 = segments(folder.path())
            .iter()
            .map(|path| std::fs::metadata(path).map_or(0, |data| data.len()))
            .sum();
        assert!(size <= max, "{size}");
        let mut reader = LogReader::new(folder.path(), 0);
        let (skipped, text) = everything(&mut reader);
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 4999\n"));
        assert!(text.contains(CONTINUES) && skipped > 0);
        assert_eq!(skipped + text.len() as u64, log.end());
        // Whoever goes on later, with a new writer, finds the same positions.
        let before = log.end();
        drop(log);
        let mut log = LogWriter::open(folder.path(), max);
        assert_eq!(log.end(), before);
        log.append(b"more\n");
        assert_eq!(everything(&mut reader), (0, "more\n".to_owned()));
    }

    #[test]
    fn a_reader_that_keeps_up_misses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogWriter::open(folder.path(), 0);
        let mut reader = LogReader::new(folder.path(), 0);
        let mut read = String::new();
        for number in 0..3000 {
            log.append(format!("line {number}\n").as_bytes());
            if number % 50 == 0 {
                let (skipped, text) = everything(&mut reader);
                assert_eq!(skipped, 0);
                read.push_str(&text);
            }
        }
        read.push_str(&everything(&mut reader).1);
        let lines: Vec<&str> = read.lines().filter(|line| !line.starts_with(NOTE)).collect();
        assert_eq!(lines.len(), 3000);
        assert_eq!(lines[2999], "line 2999");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_costs_output_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut log = LogWriter::open(folder.path(), 1 << 20);
        log.append(b"lost\n");
        std::fs::remove_file(&path).unwrap();
        log.file = None;
        log.append(b"kept\n");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{NOTE}5 bytes of output could not be written\nkept\n"));
    }
}
