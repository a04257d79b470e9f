//! Frames: what comes in on a byte stream, cut into messages.
//!
//! Hosts write one message per line. Older ones put a `Content-Length` header before each, as
//! language servers do; the length is in bytes. Both are read, even mixed, and nothing that comes
//! in ends the reading but the end of the stream.

use std::io::{self, BufRead, Read as _, Write};

/// The longest message, in bytes. Beyond that it is skipped, not kept.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// More lines than any header has.
const HEADER_LINES_MAX: usize = 64;

/// How a message is told apart from the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One message per line.
    Line,
    /// A header says how long it is.
    Header,
}

impl Framing {
    /// Writes a message.
    pub(crate) fn write(self, output: &mut dyn Write, message: &[u8]) -> io::Result<()> {
        if self == Framing::Header {
            write!(output, "Content-Length: {}\r\n\r\n", message.len())?;
            output.write_all(message)?;
        } else {
            output.write_all(message)?;
            output.write_all(b"\n")?;
        }
        output.flush()
    }
}

/// The content of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A message, not yet looked into.
    Message(Vec<u8>),
    /// A message that was longer than messages may be.
    TooLong,
    /// A header without a usable length, or a message that broke off.
    Broken,
}

/// One thing that came in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The content.
    pub(crate) found: Found,
    /// How it came.
    pub(crate) framing: Framing,
}

/// Frames out of a byte stream.
pub(crate) struct Frames<R> {
    input: R,
    /// A line that was read as part of a header and is none.
    held: Option<Vec<u8>>,
}

/// A line, without what ends it.
enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(input: R) -> Self {
        Frames { input, held: None }
    }

    /// The next frame; none at the end of the stream.
    pub(crate) fn next(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let line = match self.held.take() {
                Some(line) => Line::Text(line),
                None => self.line()?,
            };
            let found = match line {
                Line::End => return Ok(None),
                Line::TooLong => Found::TooLong,
                Line::Text(line) if line.trim_ascii().is_empty() => continue,
                Line::Text(line) if is_header(&line) => {
                    let found = self.headed(&line)?;
                    return Ok(Some(Frame { found, framing: Framing::Header }));
                }
                Line::Text(line) => Found::Message(line),
            };
            return Ok(Some(Frame { found, framing: Framing::Line }));
        }
    }

    /// A message behind a header whose first line was read. Where a message begins instead of
    /// the blank line, the header is broken and that message is read as a line.
    fn headed(&mut self, first: &[u8]) -> io::Result<Found> {
        let mut length = content_length(first);
        for _ in 0..HEADER_LINES_MAX {
            match self.line()? {
                Line::Text(line) if line.trim_ascii().is_empty() => {
                    return match length {
                        Some(length) => self.body(length),
                        None => Ok(Found::Broken),
                    };
                }
                Line::Text(line) if begins_message(&line) => {
                    self.held = Some(line);
                    return Ok(Found::Broken);
                }
                Line::Text(line) => length = length.or_else(|| content_length(&line)),
                Line::TooLong => {}
                Line::End => return Ok(Found::Broken),
            }
        }
        Ok(Found::Broken)
    }

    fn body(&mut self, length: u64) -> io::Result<Found> {
        let fits = usize::try_from(length).is_ok_and(|length| length <= MESSAGE_BYTES_MAX);
        if !fits {
            // Such a length is no more to be trusted than what follows it. Skipping that many
            // bytes could swallow everything that is ever sent; reading on by lines does not.
            return Ok(Found::TooLong);
        }
        let mut body = Vec::new();
        self.input.by_ref().take(length).read_to_end(&mut body)?;
        Ok(if body.len() as u64 == length { Found::Message(body) } else { Found::Broken })
    }

    /// Reads a line. One that is too long is read to its end and forgotten.
    fn line(&mut self) -> io::Result<Line> {
        let (mut line, mut too_long, mut any) = (Vec::new(), false, false);
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(match (any, too_long) {
                    (false, _) => Line::End,
                    (true, true) => Line::TooLong,
                    (true, false) => Line::Text(line),
                });
            }
            any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            if line.len() + part.len() > MESSAGE_BYTES_MAX {
                too_long = true;
                line = Vec::new();
            }
            if !too_long {
                line.extend_from_slice(part);
            }
            let used = end.map_or(available.len(), |end| end + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(if too_long { Line::TooLong } else { Line::Text(line) });
            }
        }
    }
}

/// Whether a line begins a header. No JSON does.
fn is_header(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default().trim_ascii();
    let known: [&[u8]; 2] = [b"content-length", b"content-type"];
    name.len() < line.len() && known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a line begins a message. No header does.
fn begins_message(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn content_length(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?;
    let (name, value) = line.split_once(':')?;
    let named = name.trim().eq_ignore_ascii_case("content-length");
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    // A number that no number here can hold is too large all the same.
    (named && is_number).then(|| value.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8]) -> Vec<(String, Framing)> {
        // A small buffer, so that frames lie across its ends.
        let mut frames = Frames::new(io::BufReader::with_capacity(7, input));
        let mut found = Vec::new();
        while let Some(frame) = frames.next().unwrap() {
            let text = match frame.found {
                Found::Message(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                other => format!("{other:?}"),
            };
            found.push((text, frame.framing));
        }
        found
    }

    fn check(input: &str, expected: &[(&str, Framing)]) {
        let expected: Vec<_> =
            expected.iter().map(|(text, framing)| ((*text).to_owned(), *framing)).collect();
        assert_eq!(all(input.as_bytes()), expected, "{input:?}");
    }

    #[test]
    fn lines_and_headers_mix() {
        use Framing::{Header, Line};
        check("", &[]);
        check("\n \r\n\n", &[]);
        check("{}\n{\"a\":1}\r\n", &[("{}", Line), ("{\"a\":1}\r", Line)]);
        check("{}", &[("{}", Line)]);
        check("Content-Length: 2\r\n\r\n{}[1]\n", &[("{}", Header), ("[1]", Line)]);
        check(
            "content-length:3\n\n[1]Content-Length: 2\r\n\r\n{}",
            &[("[1]", Header), ("{}", Header)],
        );
        let typed = "Content-Type: json\r\nContent-Length: 2\r\nX: y\r\n\r\n{}";
        check(typed, &[("{}", Header)]);
    }

    #[test]
    fn a_length_is_in_bytes() {
        use Framing::{Header, Line};
        check("Content-Length: 4\r\n\r\n\"é\"\n{}\n", &[("\"é\"", Header), ("{}", Line)]);
    }

    #[test]
    fn a_truncated_frame_is_reported() {
        use Framing::{Header, Line};
        check("Content-Length: 9\r\n\r\n{}", &[("Broken", Header)]);
        check("Content-Length: 9", &[("Broken", Header)]);
        check(
            "content-nonsense\n{}\n[]\n",
            &[("content-nonsense", Line), ("{}", Line), ("[]", Line)],
        );
        check("Content-Length\n{}\n", &[("Content-Length", Line), ("{}", Line)]);
        check("Content-Type: x\n{}\n[]\n", &[("Broken", Header), ("{}", Line), ("[]", Line)]);
        check("Content-Length: 2\n{}\n", &[("Broken", Header), ("{}", Line)]);
        check("Content-Length: nine\r\n\r\n{}\n", &[("Broken", Header), ("{}", Line)]);
        check("Content-Length: -1\r\n\r\n{}\n", &[("Broken", Header), ("{}", Line)]);
    }

    #[test]
    fn a_frame_that_is_too_long_is_skipped() {
        let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
        let input = format!("{long}\n{{}}\n");
        let found = all(input.as_bytes());
        assert_eq!(found[0].0, "TooLong");
        assert_eq!(found[1].0, "{}");
        for length in [MESSAGE_BYTES_MAX as u64 + 1, u64::MAX] {
            let input = format!("Content-Length: {length}\r\n\r\n{{}}\n[]\n");
            let found: Vec<String> = all(input.as_bytes()).into_iter().map(|one| one.0).collect();
            assert_eq!(found, ["TooLong", "{}", "[]"]);
        }
    }

    #[test]
    fn a_message_is_written_as_it_is_told() {
        let mut out = Vec::new();
        Framing::Line.write(&mut out, b"{}").unwrap();
        Framing::Header.write(&mut out, "\"é\"".as_bytes()).unwrap();
        assert_eq!(out, "{}\nContent-Length: 4\r\n\r\n\"é\"".as_bytes());
    }
}
