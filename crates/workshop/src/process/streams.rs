//! Both streams of an agent's output, brought together line by line.
//!
//! Events are JSON lines on standard output; warnings on standard error must not end up inside
//! one. So a line is kept back until it is complete, unless it is huge or waits for long.

use super::log::LogWriter;
use std::time::{Duration, Instant};

/// The longest line that is kept back.
const LINE_MAX: usize = 8 << 20;
/// How long an unfinished line is kept back. What does not end its lines is shown all the same.
const AGE_MAX: Duration = Duration::from_secs(1);

/// One of the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The streams and the log they go to.
pub(super) struct Streams {
    log: LogWriter,
    out: Held,
    err: Held,
    /// The stream whose unfinished line stands last in the log.
    open: Option<Stream>,
}

/// The unfinished line of a stream.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    since: Option<Instant>,
}

impl Streams {
    pub(super) fn new(log: LogWriter) -> Self {
        Streams { log, out: Held::default(), err: Held::default(), open: None }
    }

    /// The log.
    pub(super) fn log(&self) -> &LogWriter {
        &self.log
    }

    fn held(&mut self, stream: Stream) -> &mut Held {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    /// Takes output.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        let held = self.held(stream);
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            let mut lines = std::mem::take(&mut held.bytes);
            lines.extend_from_slice(&bytes[..=end]);
            held.bytes.extend_from_slice(&bytes[end + 1..]);
            held.since = (!held.bytes.is_empty()).then(Instant::now);
            self.put(stream, &lines);
        } else {
            held.bytes.extend_from_slice(bytes);
            held.since = held.since.or_else(|| Some(Instant::now()));
        }
        if self.held(stream).bytes.len() > LINE_MAX {
            self.release(stream);
        }
    }

    fn put(&mut self, stream: Stream, bytes: &[u8]) {
        if self.open.is_some_and(|open| open != stream) {
            self.log.end_line();
        }
        self.log.append(bytes);
        self.open = (bytes.last() != Some(&b'\n')).then_some(stream);
    }

    fn release(&mut self, stream: Stream) {
        let held = self.held(stream);
        held.since = None;
        let bytes = std::mem::take(&mut held.bytes);
        if !bytes.is_empty() {
            self.put(stream, &bytes);
        }
    }

    /// Shows unfinished lines that waited long enough, and says when the next one will have.
    pub(super) fn settle(&mut self, now: Instant) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for stream in [Stream::Out, Stream::Err] {
            let Some(due) = self.held(stream).since.and_then(|since| since.checked_add(AGE_MAX))
            else {
                continue;
            };
            if due <= now {
                self.release(stream);
            } else {
                next = Some(next.map_or(due, |next| next.min(due)));
            }
        }
        next
    }

    /// Writes what is left.
    pub(super) fn finish(&mut self) {
        self.release(Stream::Out);
        self.release(Stream::Err);
        self.log.end_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> (tempfile::TempDir, Streams) {
        let folder = tempfile::tempdir().unwrap();
        let log = LogWriter::open(folder.path(), 1 << 30);
        (folder, Streams::new(log))
    }

    fn text(folder: &tempfile::TempDir) -> String {
        std::fs::read_to_string(folder.path().join("log")).unwrap()
    }

    #[test]
    fn lines_of_both_streams_stay_whole() {
        let (folder, mut streams) = streams();
        streams.take(Stream::Out, b"{\"a\":");
        streams.take(Stream::Err, b"careful\n");
        streams.take(Stream::Out, b"1}\n{\"b\":2}\n{\"c\"");
        streams.take(Stream::Err, b"no end");
        streams.finish();
        assert_eq!(text(&folder), "careful\n{\"a\":1}\n{\"b\":2}\n{\"c\"\nno end\n");
    }

    #[test]
    fn an_unfinished_line_is_shown_after_a_while() {
        let (folder, mut streams) = streams();
        streams.take(Stream::Out, b"50 %");
        let now = Instant::now();
        assert!(streams.settle(now).is_some());
        assert_eq!(text(&folder), "");
        assert_eq!(streams.settle(now + 2 * AGE_MAX), None);
        assert_eq!(text(&folder), "50 %");
        streams.take(Stream::Err, b"warning\n");
        assert_eq!(text(&folder), "50 %\nwarning\n");
    }

    #[test]
    fn a_huge_line_does_not_fill_the_memory() {
        let (folder, mut streams) = streams();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            streams.take(Stream::Out, &piece);
        }
        assert!(streams.out.bytes.len() <= LINE_MAX);
        streams.finish();
        assert_eq!(text(&folder).len(), (20 << 20) + 1);
    }
}
