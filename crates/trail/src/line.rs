//! Parsing the line of an entry.
//!
//! A line that Althing wrote has its fields in a fixed order and almost never an escape, so it can
//! be split into fields without a general parser. That is more than twice as fast, and parsing
//! lines is most of the work of replay. Any other line goes to the general parser, which also
//! produces the error messages. Splitting accepts nothing on its own: the type of each field checks
//! it either way, and a test compares the two parsers.

use althing_kernel::{Actor, Door, EntryId, Kind, Stream, Timestamp, WorkspaceId};
use memchr::memchr2;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::hash::Hash;
use crate::request::{Signature, Unsigned};

/// The fields of a line. Unknown and repeated fields are errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'a> {
    pub(crate) actor: Actor,
    pub(crate) at: Timestamp,
    #[serde(borrow, deserialize_with = "raw")]
    pub(crate) body: &'a str,
    pub(crate) causation: Option<EntryId>,
    pub(crate) correlation: Option<EntryId>,
    pub(crate) door: Option<Door>,
    pub(crate) hash: Hash,
    pub(crate) id: EntryId,
    pub(crate) kind: Kind,
    pub(crate) local_hash: Option<Hash>,
    pub(crate) local_prev: Option<Hash>,
    pub(crate) prev: Option<Hash>,
    pub(crate) proof: Option<Signature>,
    pub(crate) request: Option<Unsigned>,
    pub(crate) seq: u64,
    pub(crate) stream: Stream,
    pub(crate) stream_seq: u64,
    pub(crate) workspace: Option<WorkspaceId>,
}

fn raw<'de: 'a, 'a, D: serde::Deserializer<'de>>(deserializer: D) -> Result<&'a str, D::Error> {
    <&'a RawValue>::deserialize(deserializer).map(RawValue::get)
}

impl<'a> Line<'a> {
    /// Reads a line.
    pub(crate) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        match Line::cut(text) {
            Some(line) => Ok(line),
            None => Line::parse(text),
        }
    }

    /// Reads a line with the general parser.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Splits a line of the usual form into fields; `None` if it has another form.
    pub(crate) fn cut(text: &'a str) -> Option<Self> {
        let mut fields = Fields(text);
        let line = Line {
            actor: fields.after("{\"actor\":")?.text()?.parse().ok()?,
            at: fields.after(",\"at\":")?.moment()?,
            body: fields.after(",\"body\":")?.value()?,
            causation: fields.optional(",\"causation\":", |text| EntryId::new(text).ok())?,
            correlation: fields.optional(",\"correlation\":", |text| EntryId::new(text).ok())?,
            door: fields.optional(",\"door\":", Door::named)?,
            hash: fields.after(",\"hash\":")?.text()?.parse().ok()?,
            id: EntryId::new(fields.after(",\"id\":")?.text()?).ok()?,
            kind: fields.after(",\"kind\":")?.text()?.parse().ok()?,
            local_hash: fields.optional(",\"local_hash\":", |text| text.parse().ok())?,
            local_prev: fields.optional(",\"local_prev\":", |text| text.parse().ok())?,
            prev: fields.optional(",\"prev\":", |text| text.parse().ok())?,
            proof: fields.object(",\"proof\":")?,
            request: fields.object(",\"request\":")?,
            seq: fields.after(",\"seq\":")?.number()?,
            stream: fields.after(",\"stream\":")?.text()?.parse().ok()?,
            stream_seq: fields.after(",\"stream_seq\":")?.number()?,
            workspace: fields.optional(",\"workspace\":", |text| WorkspaceId::new(text).ok())?,
        };
        (fields.0 == "}").then_some(line)
    }
}

/// Index of the closing quote of the text that begins at `start`.
fn end_of_text(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The unread rest of a line.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    /// Consumes a field name that must come next.
    fn after(&mut self, name: &str) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(name)?;
        Some(self)
    }

    /// Consumes a text without escapes. Control characters would have to be escaped; every type
    /// that is read from a text refuses them anyway.
    fn text(&mut self) -> Option<&'a str> {
        let rest = self.0.strip_prefix('"')?;
        let end = memchr2(b'"', b'\\', rest.as_bytes())?;
        let (text, rest) = rest.split_at(end);
        self.0 = rest.strip_prefix('"')?;
        Some(text)
    }

    /// Consumes an integer as JSON writes it: no sign, no leading zero.
    fn number(&mut self) -> Option<u64> {
        let end = self.0.bytes().position(|byte| !byte.is_ascii_digit())?;
        let (digits, rest) = self.0.split_at(end);
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        self.0 = rest;
        digits.parse().ok()
    }

    fn moment(&mut self) -> Option<Timestamp> {
        let micros = self.number()?;
        (micros <= Timestamp::MAX.micros()).then(|| Timestamp::from_micros(micros))
    }

    /// Consumes an object without looking inside; its reader checks that it is one.
    fn value(&mut self) -> Option<&'a str> {
        let bytes = self.0.as_bytes();
        let (mut depth, mut at) = (0u32, 0);
        loop {
            match bytes.get(at)? {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        let (value, rest) = self.0.split_at(at + 1);
                        self.0 = rest;
                        return Some(value);
                    }
                }
                b'"' if depth > 0 => at = end_of_text(bytes, at)?,
                _ if depth == 0 => return None,
                _ => {}
            }
            at += 1;
        }
    }

    /// Consumes a field that may be missing. The outer `None` means that it is there but unusual.
    #[expect(clippy::option_option, reason = "missing and unusual are different answers")]
    fn optional<T>(&mut self, name: &str, read: fn(&str) -> Option<T>) -> Option<Option<T>> {
        match self.0.strip_prefix(name) {
            None => Some(None),
            Some(rest) => {
                self.0 = rest;
                self.text().and_then(read).map(Some)
            }
        }
    }

    /// Consumes a field with an object that may be missing, in the same form.
    #[expect(clippy::option_option, reason = "missing and unusual are different answers")]
    fn object<T: serde::de::DeserializeOwned>(&mut self, name: &str) -> Option<Option<T>> {
        match self.0.strip_prefix(name) {
            None => Some(None),
            Some(rest) => {
                self.0 = rest;
                serde_json::from_str(self.value()?).ok().map(Some)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOLDEN: &str = include_str!("../tests/trail/golden.jsonl");

    fn lines() -> Vec<&'static str> {
        GOLDEN.lines().filter(|line| !line.starts_with("{\"head\"")).collect()
    }

    /// The result of parsing a line, in a form to compare.
    fn shown(line: &Line<'_>) -> String {
        format!(
            "{} {:?} {} {:?} {:?} {} {} {} {:?} {:?} {:?} {:?} {:?} {} {:?} {} {:?}",
            line.actor,
            line.at,
            line.body,
            line.causation,
            line.correlation,
            line.hash,
            line.id,
            line.kind,
            line.local_hash,
            line.local_prev,
            line.prev,
            line.proof,
            line.request,
            line.seq,
            line.stream,
            line.stream_seq,
            line.workspace
        )
    }

    #[test]
    fn usual_lines_are_split() {
        assert!(lines().len() > 10);
        for text in lines() {
            let cut = Line::cut(text).expect("a line of a trail has the usual form");
            assert_eq!(shown(&cut), shown(&Line::parse(text).unwrap()));
        }
    }

    #[test]
    fn unusual_lines_are_left_to_the_parser() {
        let line = lines()[0];
        for text in [
            line.replace("\"actor\":", "\"actor\": "),
            line.replace("\"seq\":1", "\"seq\":01"),
            line.replace("\"seq\":1", "\"seq\":-1"),
            line.replace("\"seq\":1", "\"seq\":1.0"),
            line.replace("system", "s\\u0079stem"),
            format!("{line} "),
            format!("{line}}}"),
            line.replace("\"body\":{", "\"body\":7,\"x\":{"),
        ] {
            assert!(Line::cut(&text).is_none(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        /// Both parsers agree on any mutation of a line.
        #[test]
        fn both_readers_agree(
            which in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            patch in "[\\\\\"{}\\[\\],:0-9a-z \u{1}é-]{0,3}",
            drop in 0usize..4,
        ) {
            let all = lines();
            let line = all[which.index(all.len())];
            let mut at = at.index(line.len());
            while !line.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + drop).min(line.len());
            while !line.is_char_boundary(end) {
                end += 1;
            }
            let text = format!("{}{patch}{}", &line[..at], &line[end..]);
            if let Some(cut) = Line::cut(&text) {
                // A body or proof that is not JSON is found by its own reader.
                let parsed = Line::parse(&text);
                let body_ok = serde_json::from_str::<serde_json::Value>(cut.body).is_ok();
                match parsed {
                    Ok(parsed) => prop_assert_eq!(shown(&cut), shown(&parsed)),
                    Err(error) => prop_assert!(!body_ok, "{} for {}", error, text),
                }
            }
        }
    }
}
