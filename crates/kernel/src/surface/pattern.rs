//! A path pattern: segments, what lies below, and a symbol; and whether two of them meet.

use std::collections::VecDeque;
use std::sync::Arc;

use super::glob::{SegmentGlob, Token, common_name};

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Segment {
    /// Exactly this name.
    Literal(Arc<str>),
    /// Any name the glob matches.
    Glob(Arc<SegmentGlob>),
    /// Any number of segments, also none (`**`).
    Deep,
}

/// One alternative of a surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) segments: Vec<Segment>,
    /// Whether everything below the path is meant too.
    pub(super) below: bool,
    pub(super) symbol: Option<Symbol>,
}

/// A named piece of a file. A symbol covers itself and whatever is nested in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    text: Arc<str>,
    parts: Vec<Arc<str>>,
}

impl Symbol {
    pub(super) fn new(text: &str) -> Option<Self> {
        let parts: Vec<Arc<str>> =
            text.split("::").flat_map(|part| part.split(['.', '#'])).map(Arc::from).collect();
        let well_formed = parts.iter().all(|part| !part.trim().is_empty());
        well_formed.then(|| Symbol { text: text.into(), parts })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn meets(&self, other: &Symbol) -> bool {
        self.parts.iter().zip(&other.parts).all(|(a, b)| a == b)
    }
}

/// Whether two symbol scopes of one file meet; no symbol means the whole file.
pub(super) fn symbols_meet(a: Option<&Symbol>, b: Option<&Symbol>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.meets(b),
        _ => true,
    }
}

impl Segment {
    /// A name both segments match. `Deep` stands for any one name here.
    fn common_name(&self, other: &Segment) -> Option<String> {
        let any = [Token::Star];
        match (self, other) {
            (Segment::Literal(a), Segment::Literal(b)) => (a == b).then(|| a.to_string()),
            (Segment::Literal(name), Segment::Deep) | (Segment::Deep, Segment::Literal(name)) => {
                Some(name.to_string())
            }
            (Segment::Literal(name), Segment::Glob(glob))
            | (Segment::Glob(glob), Segment::Literal(name)) => {
                glob.matches(name).then(|| name.to_string())
            }
            (Segment::Glob(a), Segment::Glob(b)) => common_name(&a.tokens, &b.tokens),
            (Segment::Glob(glob), Segment::Deep) | (Segment::Deep, Segment::Glob(glob)) => {
                common_name(&glob.tokens, &any)
            }
            (Segment::Deep, Segment::Deep) => common_name(&any, &any),
        }
    }

    /// Whether some name matches both segments.
    pub(super) fn meets(&self, other: &Segment) -> bool {
        match (self, other) {
            (Segment::Literal(a), Segment::Literal(b)) => a == b,
            // Reading a surface refuses segments that match no name, so anything meets `**`.
            (Segment::Deep, _) | (_, Segment::Deep) => true,
            (Segment::Literal(name), Segment::Glob(glob))
            | (Segment::Glob(glob), Segment::Literal(name)) => glob.matches(name),
            (Segment::Glob(a), Segment::Glob(b)) => {
                a.text == b.text || common_name(&a.tokens, &b.tokens).is_some()
            }
        }
    }
}

impl Pattern {
    /// A shortest path both patterns cover, if there is one; the project root is `.`.
    pub(super) fn common_path(&self, other: &Pattern) -> Option<String> {
        if !symbols_meet(self.symbol.as_ref(), other.symbol.as_ref()) {
            return None;
        }
        let (a, b) = (self.with_tail(), other.with_tail());
        let width = b.len() + 1;
        let mut seen = vec![false; (a.len() + 1) * width];
        seen[0] = true;
        let mut queue = VecDeque::from([(0, 0, Vec::<String>::new())]);
        while let Some((at_a, at_b, names)) = queue.pop_front() {
            if at_a == a.len() && at_b == b.len() {
                return Some(if names.is_empty() { ".".to_owned() } else { names.join("/") });
            }
            let mut visit = |at_a: usize, at_b: usize, names: Vec<String>| {
                if !std::mem::replace(&mut seen[at_a * width + at_b], true) {
                    queue.push_back((at_a, at_b, names));
                }
            };
            let (segment_a, segment_b) = (a.get(at_a), b.get(at_b));
            if segment_a == Some(&Segment::Deep) {
                visit(at_a + 1, at_b, names.clone());
            }
            if segment_b == Some(&Segment::Deep) {
                visit(at_a, at_b + 1, names.clone());
            }
            let (Some(segment_a), Some(segment_b)) = (segment_a, segment_b) else {
                continue;
            };
            if let Some(name) = segment_a.common_name(segment_b) {
                let mut names = names;
                names.push(name);
                let step = |segment: &Segment| usize::from(*segment != Segment::Deep);
                visit(at_a + step(segment_a), at_b + step(segment_b), names);
            }
        }
        None
    }

    /// The segments, with "and everything below" spelled out.
    fn with_tail(&self) -> Vec<Segment> {
        let mut segments = self.segments.clone();
        if self.below {
            segments.push(Segment::Deep);
        }
        segments
    }
}
