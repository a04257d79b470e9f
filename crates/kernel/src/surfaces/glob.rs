//! A path segment with wildcards: matching a name against it, and finding names that two of them
//! share.

use std::collections::VecDeque;

/// An element of a segment pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Token {
    /// Exactly this character.
    Char(char),
    /// One character of a set (`?` is the set of all).
    One(CharSet),
    /// Any run of characters, possibly empty.
    Star,
}

/// A set of characters that can stand in a file name, as sorted ranges that do not touch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CharSet(Vec<(char, char)>);

/// The separators and NUL, which no file name contains.
const NEVER_IN_A_NAME: [char; 3] = ['\0', '/', '\\'];

impl CharSet {
    /// The set of all characters a name can have.
    pub(crate) fn any() -> Self {
        CharSet::complement_of(&[])
    }

    /// The characters of the given ranges.
    pub(crate) fn of(ranges: &[(char, char)]) -> Self {
        CharSet::any().minus_complement(ranges)
    }

    /// Every character a name can have except those of the given ranges.
    pub(crate) fn except(ranges: &[(char, char)]) -> Self {
        CharSet::complement_of(ranges)
    }

    fn minus_complement(&self, ranges: &[(char, char)]) -> Self {
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable();
        let mut merged: Vec<(char, char)> = Vec::with_capacity(sorted.len());
        for (low, high) in sorted {
            match merged.last_mut() {
                Some(last) if low <= last.1 => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        self.and(&CharSet(merged))
    }

    fn complement_of(ranges: &[(char, char)]) -> Self {
        let mut gaps: Vec<(char, char)> = ranges.to_vec();
        gaps.extend(NEVER_IN_A_NAME.iter().map(|&c| (c, c)));
        gaps.sort_unstable();
        let mut kept = Vec::with_capacity(gaps.len() + 1);
        let mut next = Some('\0');
        for (low, high) in gaps {
            if let Some(start) = next {
                if start < low {
                    kept.push((start, before(low)));
                }
                if high >= start {
                    next = after(high);
                }
            }
        }
        if let Some(start) = next {
            kept.push((start, char::MAX));
        }
        CharSet(kept)
    }

    fn and(&self, other: &CharSet) -> CharSet {
        let mut shared = Vec::new();
        let (mut a, mut b) = (self.0.as_slice(), other.0.as_slice());
        while let (Some(&(a_low, a_high)), Some(&(b_low, b_high))) = (a.first(), b.first()) {
            let (low, high) = (a_low.max(b_low), a_high.min(b_high));
            if low <= high {
                shared.push((low, high));
            }
            if a_high <= b_high {
                a = &a[1..];
            } else {
                b = &b[1..];
            }
        }
        CharSet(shared)
    }

    /// Whether two sets share a character other than a dot, and whether they share the dot.
    fn shared_with(&self, other: &CharSet) -> (bool, bool) {
        let dot = self.contains('.') && other.contains('.');
        let (mut a, mut b) = (self.0.as_slice(), other.0.as_slice());
        while let (Some(&(a_low, a_high)), Some(&(b_low, b_high))) = (a.first(), b.first()) {
            let (low, high) = (a_low.max(b_low), a_high.min(b_high));
            if low <= high && (low, high) != ('.', '.') {
                return (true, dot);
            }
            if a_high <= b_high {
                a = &a[1..];
            } else {
                b = &b[1..];
            }
        }
        (false, dot)
    }

    pub(crate) fn contains(&self, c: char) -> bool {
        let after_it = self.0.partition_point(|&(low, _)| low <= c);
        after_it > 0 && c <= self.0[after_it - 1].1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// If the set is one character, that character.
    pub(crate) fn single(&self) -> Option<char> {
        match self.0.as_slice() {
            [(low, high)] if low == high => Some(*low),
            _ => None,
        }
    }

    /// A member other than a dot, preferably a readable one, if there is any.
    fn sample_not_dot(&self) -> Option<char> {
        let readable = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("_-+=@~ ".chars());
        readable.into_iter().find(|&c| self.contains(c)).or_else(|| {
            self.0.iter().find_map(|&(low, high)| {
                if low == '.' { after(low).filter(|&c| c <= high) } else { Some(low) }
            })
        })
    }
}

fn before(c: char) -> char {
    let code = u32::from(c).saturating_sub(1);
    char::from_u32(code).unwrap_or('\u{D7FF}')
}

fn after(c: char) -> Option<char> {
    if c == char::MAX {
        return None;
    }
    Some(char::from_u32(u32::from(c) + 1).unwrap_or('\u{E000}'))
}

/// A segment with at least one wildcard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentGlob {
    /// The text as written; two globs with the same text are the same glob.
    pub(super) text: std::sync::Arc<str>,
    /// The parsed pattern.
    pub(super) tokens: Vec<Token>,
}

impl SegmentGlob {
    /// Whether the glob matches this name.
    pub(crate) fn matches(&self, name: &str) -> bool {
        if name.is_empty() || name == "." || name == ".." {
            return false;
        }
        // The usual wildcard match: on a mismatch, let the last star swallow one more character.
        let tokens = self.tokens.as_slice();
        let mut at_token = 0;
        let mut rest = name.chars();
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let mut ahead = rest.clone();
            match (tokens.get(at_token), ahead.next()) {
                (Some(Token::Star), _) => {
                    at_token += 1;
                    retry = Some((at_token, rest.clone()));
                    continue;
                }
                (Some(token), Some(c)) if token.accepts(c) => {
                    at_token += 1;
                    rest = ahead;
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            let Some((after_star, swallowed)) = &mut retry else {
                return false;
            };
            if swallowed.next().is_none() {
                return false;
            }
            at_token = *after_star;
            rest = swallowed.clone();
        }
    }

    /// The characters every matching name begins with.
    pub(crate) fn literal_prefix(&self) -> String {
        self.tokens.iter().map_while(Token::literal).collect()
    }

    /// The characters every matching name ends with, last first.
    pub(crate) fn literal_suffix_reversed(&self) -> String {
        self.tokens.iter().rev().map_while(Token::literal).collect()
    }
}

impl Token {
    fn accepts(&self, c: char) -> bool {
        match self {
            Token::Char(own) => *own == c,
            Token::One(set) => set.contains(c),
            Token::Star => false,
        }
    }

    fn literal(&self) -> Option<char> {
        match self {
            Token::Char(c) => Some(*c),
            _ => None,
        }
    }

    /// Whether some character other than a dot fits both tokens, and whether a dot does.
    fn shared_with(&self, other: &Token) -> (bool, bool) {
        match (self, other) {
            (Token::Char(c), other) | (other, Token::Char(c)) => {
                let fits = *other == Token::Star || other.accepts(*c);
                (fits && *c != '.', fits && *c == '.')
            }
            (Token::One(a), Token::One(b)) => a.shared_with(b),
            (Token::One(set), Token::Star) | (Token::Star, Token::One(set)) => set.shared_with(set),
            (Token::Star, Token::Star) => (true, true),
        }
    }

    fn as_set(&self) -> CharSet {
        match self {
            Token::Char(c) => CharSet(vec![(*c, *c)]),
            Token::One(set) => set.clone(),
            Token::Star => CharSet::any(),
        }
    }
}

/// How much of a name has been read, as far as needed to exclude the empty name, `.` and `..`,
/// which name no file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Nothing = 0,
    Dot = 1,
    DotDot = 2,
    AName = 3,
}

impl Read {
    fn then(self, is_dot: bool) -> Read {
        match (self, is_dot) {
            (Read::Nothing, true) => Read::Dot,
            (Read::Dot, true) => Read::DotDot,
            _ => Read::AName,
        }
    }
}

/// Whether some name matches both patterns.
///
/// Each cell of the table stands for a place in both patterns and holds the ways to have read a
/// name up to there. Every step leads to a later cell, so one pass in order is enough and the
/// cost is the product of the two lengths, whatever the patterns are.
pub(crate) fn names_meet(a: &[Token], b: &[Token]) -> bool {
    let mut row = vec![Reads::default(); b.len() + 1];
    row[0] = Reads::NOTHING;
    for token_a in a.iter().map(Some).chain([None]) {
        let mut next = vec![Reads::default(); b.len() + 1];
        for at in 0..=b.len() {
            let token_b = b.get(at);
            if let (Some(token_a), Some(token_b)) = (token_a, token_b) {
                let stars = (*token_a == Token::Star, *token_b == Token::Star);
                let shared = token_a.shared_with(token_b);
                if stars == (true, true) {
                    row[at] = row[at].and_any_more();
                }
                let read = row[at].then(shared);
                match stars {
                    (false, false) => next[at + 1].add(read),
                    (true, false) => row[at + 1].add(read),
                    (false, true) => next[at].add(read),
                    (true, true) => {}
                }
            }
            // A star may end without consuming anything more.
            let here = row[at];
            if token_a == Some(&Token::Star) {
                next[at].add(here);
            }
            if token_b == Some(&Token::Star) {
                row[at + 1].add(here);
            }
        }
        if token_a.is_none() {
            return row[b.len()].has_a_name();
        }
        row = next;
    }
    false
}

/// A set of [`Read`]s.
#[derive(Clone, Copy, Default)]
struct Reads(u8);

impl Reads {
    const NOTHING: Reads = Reads(1 << Read::Nothing as u8);

    fn add(&mut self, other: Reads) {
        self.0 |= other.0;
    }

    fn has_a_name(self) -> bool {
        self.0 & (1 << Read::AName as u8) != 0
    }

    /// The set after one more character, given whether a character other than a dot is possible and
    /// whether a dot is.
    fn then(self, (other, dot): (bool, bool)) -> Reads {
        let mut after = Reads::default();
        for read in [Read::Nothing, Read::Dot, Read::DotDot, Read::AName] {
            if self.0 & (1 << read as u8) != 0 {
                if other {
                    after.0 |= 1 << read.then(false) as u8;
                }
                if dot {
                    after.0 |= 1 << read.then(true) as u8;
                }
            }
        }
        after
    }

    /// After any number of any characters.
    fn and_any_more(self) -> Reads {
        let mut all = self;
        for _ in 0..3 {
            all.add(all.then((true, true)));
        }
        all
    }
}

/// A shortest name that both patterns match, if there is one.
///
/// This walks the product of the two patterns breadth first, so the answer is exact.
pub(crate) fn common_name(a: &[Token], b: &[Token]) -> Option<String> {
    #[derive(Clone, Copy)]
    struct Step {
        a: usize,
        b: usize,
        read: Read,
        /// The step this one came from, and the character consumed on the way.
        from: usize,
        via: Option<char>,
    }

    let width = b.len() + 1;
    let slot = |step: &Step| (step.a * width + step.b) * 4 + step.read as usize;
    let mut seen = vec![false; (a.len() + 1) * width * 4];
    let mut steps = vec![Step { a: 0, b: 0, read: Read::Nothing, from: usize::MAX, via: None }];
    let mut queue = VecDeque::from([0usize]);
    seen[slot(&steps[0])] = true;

    while let Some(index) = queue.pop_front() {
        let here = steps[index];
        if here.a == a.len() && here.b == b.len() && here.read == Read::AName {
            let mut name = Vec::new();
            let mut walk = &here;
            loop {
                name.extend(walk.via);
                match steps.get(walk.from) {
                    Some(earlier) => walk = earlier,
                    None => return Some(name.iter().rev().collect()),
                }
            }
        }
        let mut visit = |step: Step| {
            if !std::mem::replace(&mut seen[slot(&step)], true) {
                queue.push_back(steps.len());
                steps.push(step);
            }
        };
        let (token_a, token_b) = (a.get(here.a), b.get(here.b));
        // A star may end without consuming anything more.
        if token_a == Some(&Token::Star) {
            visit(Step { a: here.a + 1, from: index, via: None, ..here });
        }
        if token_b == Some(&Token::Star) {
            visit(Step { b: here.b + 1, from: index, via: None, ..here });
        }
        let (Some(token_a), Some(token_b)) = (token_a, token_b) else {
            continue;
        };
        let shared = token_a.as_set().and(&token_b.as_set());
        let dot = shared.contains('.').then_some('.');
        for c in shared.sample_not_dot().into_iter().chain(dot) {
            visit(Step {
                a: here.a + usize::from(*token_a != Token::Star),
                b: here.b + usize::from(*token_b != Token::Star),
                read: here.read.then(c == '.'),
                from: index,
                via: Some(c),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> Token {
        Token::One(CharSet::any())
    }

    fn word(text: &str) -> Vec<Token> {
        text.chars().map(|c| if c == '*' { Token::Star } else { Token::Char(c) }).collect()
    }

    #[test]
    fn sets_are_exact_at_their_edges() {
        let lower = CharSet::of(&[('a', 'z')]);
        assert!(lower.contains('a') && lower.contains('z') && !lower.contains('{'));
        let others = CharSet::except(&[('a', 'z')]);
        assert!(!others.contains('a') && others.contains('{') && !others.contains('/'));
        assert!(lower.and(&others).is_empty());
        assert!(CharSet::of(&[('/', '/')]).is_empty(), "a separator is never part of a name");
        assert!(CharSet::except(&[('\0', char::MAX)]).is_empty());
        assert_eq!(CharSet::of(&[('q', 'q')]).single(), Some('q'));
        assert!(CharSet::any().contains('\u{D7FF}') && CharSet::any().contains('\u{E000}'));
        assert_eq!(
            CharSet::of(&[('m', 'p'), ('a', 'n')]),
            CharSet::of(&[('a', 'p')]),
            "overlapping ranges are one range"
        );
    }

    #[test]
    fn a_question_mark_is_one_character_not_one_byte() {
        let glob = SegmentGlob { text: "?".into(), tokens: vec![any()] };
        assert!(glob.matches("é") && glob.matches("x"));
        assert!(!glob.matches("xy") && !glob.matches("") && !glob.matches("."));
    }

    #[test]
    fn stars_backtrack() {
        let glob = SegmentGlob { text: "*ab*b".into(), tokens: word("*ab*b") };
        for name in ["abb", "xabyb", "ababab", "aabbb"] {
            assert!(glob.matches(name), "{name}");
        }
        for name in ["ab", "b", "abx"] {
            assert!(!glob.matches(name), "{name}");
        }
    }

    #[test]
    fn meeting_is_having_a_common_name() {
        let set = |low, high| Token::One(CharSet::of(&[(low, high)]));
        let pieces =
            [Token::Star, any(), Token::Char('.'), Token::Char('a'), set('a', 'b'), set('-', '.')];
        let mut patterns: Vec<Vec<Token>> = vec![Vec::new()];
        for _ in 0..3 {
            let longer = patterns.iter().flat_map(|pattern| {
                pieces
                    .iter()
                    .map(|piece| [pattern.as_slice(), std::slice::from_ref(piece)].concat())
            });
            patterns = [vec![Vec::new()], longer.collect()].concat();
        }
        for a in &patterns {
            for b in &patterns {
                assert_eq!(names_meet(a, b), common_name(a, b).is_some(), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn common_names_are_shortest_and_never_dots() {
        assert_eq!(common_name(&word("a*"), &word("*b")).as_deref(), Some("ab"));
        assert_eq!(common_name(&word("a*"), &word("b*")), None);
        assert_eq!(common_name(&word("*"), &word("*")).map(|name| name.len()), Some(1));
        assert_eq!(common_name(&word(".*"), &[any()]), None, "they share only the dot");
        assert_eq!(common_name(&word(".*"), &[any(), any()]).as_deref(), Some(".a"));
        assert_eq!(
            common_name(&[any(), any()], &[Token::Char('.'), Token::Char('.')]),
            None,
            "they share only the double dot"
        );
        assert_eq!(common_name(&word("..*"), &[any(), any(), any()]).as_deref(), Some("..a"));
    }
}
