//! A path pattern (segments, whether it covers what lies below, and a symbol) and the overlap of
//! two of them.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::surfaces::glob::{SegmentGlob, Token, common_name, names_meet};

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    /// Exactly this name.
    Literal(Arc<str>),
    /// Any name the glob matches.
    Glob(Arc<SegmentGlob>),
    /// Any number of segments, also none (`**`).
    Deep,
}

/// One alternative of a surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(super) segments: Vec<Segment>,
    /// Whether everything below the path is covered too.
    pub(super) below: bool,
    pub(super) symbol: Option<Symbol>,
}

/// A named piece of a file. A symbol covers itself and whatever is nested in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Symbol {
    text: Arc<str>,
    parts: Vec<Arc<str>>,
}

impl Symbol {
    pub(crate) fn new(text: &str) -> Option<Self> {
        let parts: Vec<Arc<str>> =
            text.split("::").flat_map(|part| part.split(['.', '#'])).map(Arc::from).collect();
        let well_formed = parts.iter().all(|part| !part.trim().is_empty());
        well_formed.then(|| Symbol { text: text.into(), parts })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn meets(&self, other: &Symbol) -> bool {
        self.parts.iter().zip(&other.parts).all(|(a, b)| a == b)
    }
}

/// Whether two symbol scopes of one file meet; no symbol means the whole file.
pub(crate) fn symbols_meet(a: Option<&Symbol>, b: Option<&Symbol>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.meets(b),
        _ => true,
    }
}

impl Segment {
    /// A name both segments match; `Deep` matches any one name here.
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
    pub(crate) fn meets(&self, other: &Segment) -> bool {
        match (self, other) {
            (Segment::Literal(a), Segment::Literal(b)) => a == b,
            // Reading a surface refuses segments that match no name, so anything meets `**`.
            (Segment::Deep, _) | (_, Segment::Deep) => true,
            (Segment::Literal(name), Segment::Glob(glob))
            | (Segment::Glob(glob), Segment::Literal(name)) => glob.matches(name),
            (Segment::Glob(a), Segment::Glob(b)) => {
                a.text == b.text || names_meet(&a.tokens, &b.tokens)
            }
        }
    }
}

impl Pattern {
    /// Whether any segment is a wildcard.
    pub(crate) fn is_wild(&self) -> bool {
        self.segments.iter().any(|segment| !matches!(segment, Segment::Literal(_)))
    }

    /// The file of this path, without what may lie below it.
    pub(crate) fn as_file(&self) -> Pattern {
        Pattern { segments: self.segments.clone(), below: false, symbol: None }
    }

    /// The length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = |segment: &Segment| match segment {
            Segment::Literal(name) => name.len(),
            Segment::Glob(glob) => glob.text.len(),
            Segment::Deep => 2,
        };
        self.segments.iter().map(|segment| bytes(segment) + 1).sum()
    }

    /// Whether this pattern covers everything the other covers, as far as a cheap check can tell:
    /// the other lies below this path, is the same, is exactly one path that this glob matches, lies
    /// below a folder whose whole content this glob matches, or is a symbol nested in this one.
    pub(crate) fn covers(&self, other: &Pattern) -> bool {
        if self == other {
            return true;
        }
        if self.below {
            return other.segments.starts_with(&self.segments);
        }
        match (&self.symbol, &other.symbol) {
            (Some(own), Some(nested)) => {
                self.segments == other.segments && nested.parts.starts_with(&own.parts)
            }
            (Some(_), None) => false,
            // A plain path may be a folder, and only a glob that ends in `**` covers all that may be
            // below it.
            (None, _) => {
                let all_below = self.segments.last() == Some(&Segment::Deep);
                (all_below || !other.below) && self.covers_file(other)
            }
        }
    }

    /// Whether this pattern covers a plain path that is a file.
    pub(crate) fn covers_file(&self, file: &Pattern) -> bool {
        let file = file.as_file();
        self.symbol.is_none() && !file.is_wild() && self.meets(&file)
    }

    /// The symbol that distinguishes it from others of the same file. A glob is treated as covering
    /// whole files: it may match several, so a symbol in it is ignored.
    pub(crate) fn scope(&self) -> Option<&Symbol> {
        self.symbol.as_ref().filter(|_| !self.is_wild())
    }

    /// Whether some path is covered by both patterns.
    pub(crate) fn meets(&self, other: &Pattern) -> bool {
        if !symbols_meet(self.scope(), other.scope()) {
            return false;
        }
        let (a, b) = (self.with_tail(), other.with_tail());
        // Every step leads to a later position in both, so one pass in order is enough.
        let mut row = vec![false; b.len() + 1];
        row[0] = true;
        for segment_a in a.iter().map(Some).chain([None]) {
            let mut next = vec![false; b.len() + 1];
            for at in 0..=b.len() {
                if !row[at] {
                    continue;
                }
                let segment_b = b.get(at);
                let deep = (segment_a == Some(&Segment::Deep), segment_b == Some(&Segment::Deep));
                next[at] |= deep.0;
                if deep.1 {
                    row[at + 1] = true;
                }
                if let (Some(segment_a), Some(segment_b)) = (segment_a, segment_b)
                    && segment_a.meets(segment_b)
                {
                    match deep {
                        (false, false) => next[at + 1] = true,
                        (true, false) => row[at + 1] = true,
                        (false, true) => next[at] = true,
                        (true, true) => {}
                    }
                }
            }
            if segment_a.is_none() {
                return row[b.len()];
            }
            row = next;
        }
        false
    }

    /// A shortest path both patterns cover, if there is one; the project root is `.`.
    pub(crate) fn common_path(&self, other: &Pattern) -> Option<String> {
        // Most pairs share nothing, and `meets` is cheaper than the search for a path.
        if !self.meets(other) {
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
