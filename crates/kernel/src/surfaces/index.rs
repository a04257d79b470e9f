//! An index of live surfaces that finds those overlapping a given one, without a full scan.
//!
//! The index is a trie of path segments. A node's children are literal names, globs, and at most
//! one `**`; the surfaces that end at a node are its marks. A query walks the trie and its own
//! segments in step, so it only visits nodes where a shared path is still possible: looking up a
//! literal path costs its depth, however many leases are live elsewhere.
//!
//! The trie is persistent: a clone is one pointer, and a change copies the nodes on its path.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::surfaces::Surface;
use crate::surfaces::glob::SegmentGlob;
use crate::surfaces::pattern::{Pattern, Segment, Symbol, symbols_meet};
use crate::surfaces::small_map::SmallMap;
use crate::values::id::LeaseId;
use crate::values::principal::Principal;

/// An index of live surfaces, queried by overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct SurfaceIndex {
    root: Arc<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// The leases whose surfaces end here, each with its holder.
    marks: SmallMap<Mark, Principal>,
    literals: SmallMap<Arc<str>, Arc<Node>>,
    globs: SmallMap<GlobKey, GlobChild>,
    deep: Option<Arc<Node>>,
}

/// A surface that ends at a node. One lease may end there several times: with different symbols, or
/// once with everything below (`src`) and once without (`{src,lib}`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    lease: LeaseId,
    symbol: Option<Symbol>,
    below: bool,
}

impl Mark {
    fn of(lease: &LeaseId, pattern: &Pattern) -> Self {
        Mark { lease: lease.clone(), symbol: pattern.scope().cloned(), below: pattern.below }
    }
}

#[derive(Clone, Debug)]
struct GlobChild {
    glob: Arc<SegmentGlob>,
    node: Arc<Node>,
}

/// The sort key of a glob: the fixed end of its text, so that a name finds the few globs whose
/// fixed end it shares instead of trying all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GlobKey {
    anchor: Anchor,
    text: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    /// A prefix that every match begins with.
    Prefix(String),
    /// A suffix that every match ends with, reversed.
    Suffix(String),
}

impl GlobKey {
    fn of(glob: &SegmentGlob) -> Self {
        let (prefix, suffix) = (glob.literal_prefix(), glob.literal_suffix_reversed());
        let anchor = if suffix.len() > prefix.len() {
            Anchor::Suffix(suffix)
        } else {
            Anchor::Prefix(prefix)
        };
        GlobKey { anchor, text: glob.text.clone() }
    }

    fn first_with(anchor: Anchor) -> Self {
        GlobKey { anchor, text: "".into() }
    }
}

impl SurfaceIndex {
    /// Adds the surfaces of a lease.
    pub(crate) fn insert(&mut self, lease: &LeaseId, holder: &Principal, surfaces: &[Surface]) {
        for pattern in surfaces.iter().flat_map(Surface::patterns) {
            let mark = Mark::of(lease, pattern);
            Arc::make_mut(&mut self.root).insert(&pattern.segments, mark, holder);
        }
    }

    /// Removes the surfaces of a lease.
    pub(crate) fn remove(&mut self, lease: &LeaseId, surfaces: &[Surface]) {
        for pattern in surfaces.iter().flat_map(Surface::patterns) {
            Arc::make_mut(&mut self.root).remove(&pattern.segments, &Mark::of(lease, pattern));
        }
    }

    /// Returns at most `limit` leases that overlap any of the surfaces, among those `counts`
    /// accepts.
    pub(crate) fn meeting(
        &self,
        surfaces: &[Surface],
        limit: usize,
        counts: &dyn Fn(&LeaseId, &Principal) -> bool,
    ) -> BTreeSet<LeaseId> {
        let mut found = BTreeSet::new();
        for pattern in surfaces.iter().flat_map(Surface::patterns) {
            let seen = BTreeSet::new();
            let mut walk = Walk { pattern, counts, limit, found: &mut found, seen };
            walk.visit(&self.root, 0);
        }
        found
    }

    /// Whether nothing is indexed.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.root.is_empty()
    }
}

impl Node {
    fn is_empty(&self) -> bool {
        self.marks.is_empty()
            && self.literals.is_empty()
            && self.globs.is_empty()
            && self.deep.is_none()
    }

    fn insert(&mut self, segments: &[Segment], mark: Mark, holder: &Principal) {
        let Some((segment, rest)) = segments.split_first() else {
            self.marks.insert(mark, holder.clone());
            return;
        };
        let child = match segment {
            Segment::Literal(name) => self.literals.entry(name, Arc::default),
            Segment::Glob(glob) => {
                let make = || GlobChild { glob: glob.clone(), node: Arc::default() };
                &mut self.globs.entry(&GlobKey::of(glob), make).node
            }
            Segment::Deep => self.deep.get_or_insert_default(),
        };
        Arc::make_mut(child).insert(rest, mark, holder);
    }

    fn remove(&mut self, segments: &[Segment], mark: &Mark) {
        let Some((segment, rest)) = segments.split_first() else {
            self.marks.remove(mark);
            return;
        };
        match segment {
            Segment::Literal(name) => {
                let Some(child) = self.literals.get_mut(name) else {
                    return;
                };
                Arc::make_mut(child).remove(rest, mark);
                if child.is_empty() {
                    self.literals.remove(name);
                }
            }
            Segment::Glob(glob) => {
                let glob_key = GlobKey::of(glob);
                let Some(child) = self.globs.get_mut(&glob_key) else {
                    return;
                };
                Arc::make_mut(&mut child.node).remove(rest, mark);
                if child.node.is_empty() {
                    self.globs.remove(&glob_key);
                }
            }
            Segment::Deep => {
                let Some(child) = &mut self.deep else { return };
                Arc::make_mut(child).remove(rest, mark);
                if child.is_empty() {
                    self.deep = None;
                }
            }
        }
    }

    /// The glob children that can match this name, found by their fixed ends.
    fn globs_matching(&self, name: &str) -> Vec<&Arc<Node>> {
        let mut nodes = Vec::new();
        if let SmallMap::Few(children) = &self.globs {
            let hits = children.iter().filter(|(_, child)| child.glob.matches(name));
            nodes.extend(hits.map(|(_, child)| &child.node));
            return nodes;
        }
        let reversed: String = name.chars().rev().collect();
        let mut collect = |anchor: Anchor| {
            let start = GlobKey::first_with(anchor);
            let same_anchor =
                self.globs.from(&start).take_while(|(key, _)| key.anchor == start.anchor);
            let hits = same_anchor.filter(|(_, child)| child.glob.matches(name));
            nodes.extend(hits.map(|(_, child)| &child.node));
        };
        for end in 0..=name.len() {
            if name.is_char_boundary(end) {
                collect(Anchor::Prefix(name[..end].to_owned()));
            }
            if end > 0 && reversed.is_char_boundary(end) {
                collect(Anchor::Suffix(reversed[..end].to_owned()));
            }
        }
        nodes
    }
}

/// The state of one query walking the trie.
struct Walk<'a> {
    pattern: &'a Pattern,
    counts: &'a dyn Fn(&LeaseId, &Principal) -> bool,
    limit: usize,
    found: &'a mut BTreeSet<LeaseId>,
    /// Visited places: a node (by address) and the position in the query.
    seen: BTreeSet<(usize, usize)>,
}

impl Walk<'_> {
    fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    fn visit(&mut self, node: &Arc<Node>, at: usize) {
        if self.is_full() || !self.seen.insert((Arc::as_ptr(node).addr(), at)) {
            return;
        }
        let segments = self.pattern.segments.as_slice();
        // The rest of the query can be matched below a mark that covers everything below it.
        let at_end = segments[at..].iter().all(|segment| *segment == Segment::Deep);
        self.take_marks(node, |mark| mark.below || at_end);
        if at == segments.len() && self.pattern.below {
            self.take_everything_below(node);
            return;
        }
        if let Some(deep) = &node.deep {
            self.visit_deep(deep, at);
        }
        let Some(segment) = segments.get(at) else {
            return;
        };
        match segment {
            Segment::Literal(name) => self.visit_name(node, name, at + 1),
            Segment::Glob(glob) => self.visit_glob(node, segment, glob, at + 1),
            Segment::Deep => {
                self.visit(node, at + 1);
                self.visit_children(node, at);
            }
        }
    }

    /// Visits a `**` of the trie: it may end here, or first swallow segments of the query.
    fn visit_deep(&mut self, deep: &Arc<Node>, at: usize) {
        for swallowed_to in at..=self.pattern.segments.len() {
            self.visit(deep, swallowed_to);
        }
    }

    fn visit_name(&mut self, node: &Arc<Node>, name: &str, next: usize) {
        if let Some(child) = node.literals.get(name) {
            self.visit(child, next);
        }
        for child in node.globs_matching(name) {
            self.visit(child, next);
        }
    }

    fn visit_glob(&mut self, node: &Arc<Node>, segment: &Segment, glob: &SegmentGlob, next: usize) {
        let prefix = glob.literal_prefix();
        let candidates = node.literals.from(prefix.as_str());
        for (name, child) in candidates.take_while(|(name, _)| name.starts_with(&prefix)) {
            if self.is_full() {
                return;
            }
            if glob.matches(name) {
                self.visit(child, next);
            }
        }
        for (_, child) in node.globs.iter() {
            if segment.meets(&Segment::Glob(child.glob.clone())) {
                self.visit(&child.node, next);
            }
        }
    }

    /// Visits every child: the query's `**` swallows one segment.
    fn visit_children(&mut self, node: &Arc<Node>, at: usize) {
        for (_, child) in node.literals.iter() {
            if self.is_full() {
                return;
            }
            self.visit(child, at);
        }
        for (_, child) in node.globs.iter() {
            self.visit(&child.node, at);
        }
    }

    fn take_everything_below(&mut self, node: &Arc<Node>) {
        if self.is_full() {
            return;
        }
        self.take_marks(node, |_| true);
        for (_, child) in node.literals.iter() {
            self.take_everything_below(child);
        }
        for (_, child) in node.globs.iter() {
            self.take_everything_below(&child.node);
        }
        if let Some(deep) = &node.deep {
            self.take_everything_below(deep);
        }
    }

    fn take_marks(&mut self, node: &Node, meets: impl Fn(&Mark) -> bool) {
        for (mark, holder) in node.marks.iter() {
            if self.is_full() {
                return;
            }
            let same_scope = symbols_meet(self.pattern.scope(), mark.symbol.as_ref());
            if same_scope && meets(mark) && (self.counts)(&mark.lease, holder) {
                self.found.insert(mark.lease.clone());
            }
        }
    }
}
