//! Which of what is remembered matters for a question, a path, or both.
//!
//! Words are ranked the way full-text engines do it (BM25): a rare word that an item says often
//! counts more than a common one. On top of that count ties to the path at hand, tags, and how
//! recent an item is; what is over, stale or replaced counts less.
//!
//! The index is a few maps in memory. `SQLite`'s FTS5 was measured for the same and takes a tenth of
//! a second and more for a common word among a hundred thousand items; this takes milliseconds. And
//! a question cannot be a syntax error, since it is never a piece of syntax.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many different words of a question are looked up.
const QUESTION_WORDS_MAX: usize = 32;
/// How much of a word counts.
const WORD_CHARS_MAX: usize = 48;
/// How many items below a path are looked at.
const BELOW_MAX: usize = 2_000;
/// BM25: how soon saying a word again stops mattering, and how much longer texts are discounted.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.4;
/// A tag says what an item is about: it counts as if the word were said so often.
const TAG_COUNT: u16 = 3;
/// What a tie to the path at hand is worth in points, of which a rare word has about eight.
const PATH_POINTS: f64 = 10.0;
/// How much more the newest item counts than the oldest that is otherwise its equal.
const RECENCY_SHARE: f64 = 0.15;

/// Something remembered, as far as ranking needs to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// What it says.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The paths it is about. What follows a wildcard is not looked at.
    pub paths: Vec<String>,
    /// Where on the trail it last changed.
    pub updated_seq: u64,
    /// Whether it still holds.
    pub live: bool,
    /// Whether it is old enough to be doubted.
    pub stale: bool,
    /// Whether something else took its place.
    pub superseded: bool,
}

/// What is asked for. Everything may be empty: then the newest items matter most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// Any text at all.
    pub text: &'a str,
    /// The path at hand.
    pub path: Option<&'a str>,
    /// Only items of these kinds; all if there are none.
    pub kinds: &'a [&'a str],
    /// Whether what has nothing to do with the question fills the places left, newest first.
    pub fill: bool,
    /// How many items are wanted.
    pub limit: usize,
}

/// An item that matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Which.
    pub id: String,
    /// How much, compared with others of the same answer.
    pub points: f64,
    /// Whether it says words of the question.
    pub by_words: bool,
    /// Whether it is tied to the path.
    pub by_path: bool,
}

/// What is remembered, by its words, paths and age.
#[derive(Default)]
pub struct Index {
    /// Items by number. A number is given once; what left is none.
    slots: Vec<Option<Slot>>,
    /// What ranking reads of every item, close together: same numbers.
    traits: Vec<Traits>,
    numbers: HashMap<String, u32>,
    /// For each word the items that say it, in the order in which they came.
    postings: HashMap<Box<str>, Vec<Posting>>,
    paths: BTreeMap<String, Vec<u32>>,
    by_age: BTreeSet<(u64, u32)>,
    words_total: u64,
}

struct Slot {
    id: String,
    kind: Box<str>,
    paths: Vec<String>,
}

#[derive(Clone, Copy)]
struct Traits {
    updated_seq: u64,
    /// What it counts, compared with an item that holds. One that left counts nothing.
    weight: f32,
    words: u32,
}

#[derive(Clone, Copy)]
struct Posting {
    item: u32,
    count: u16,
}

impl FromIterator<Item> for Index {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        let mut index = Index::default();
        for item in items {
            index.put(&item);
        }
        index
    }
}

impl Index {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Puts an item in, in the place of the one with its id.
    pub fn put(&mut self, item: &Item) {
        self.remove(&item.id);
        let Ok(number) = u32::try_from(self.slots.len()) else { return };
        let counts = counted(item);
        let words = counts.values().map(|count| u32::from(*count)).sum();
        for (word, count) in counts {
            self.postings.entry(word).or_default().push(Posting { item: number, count });
        }
        let paths: BTreeSet<String> = item.paths.iter().map(|path| fixed_part(path)).collect();
        for path in &paths {
            self.paths.entry(path.clone()).or_default().push(number);
        }
        self.by_age.insert((item.updated_seq, number));
        self.numbers.insert(item.id.clone(), number);
        self.words_total += u64::from(words);
        self.slots.push(Some(Slot {
            id: item.id.clone(),
            kind: item.kind.as_str().into(),
            paths: paths.into_iter().collect(),
        }));
        self.traits.push(Traits { updated_seq: item.updated_seq, weight: weight(item), words });
    }

    /// Takes an item out. Says whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(number) = self.numbers.remove(id) else { return false };
        let Some(slot) = self.slots.get_mut(number as usize).and_then(Option::take) else {
            return false;
        };
        if let Some(own) = self.traits.get_mut(number as usize) {
            self.by_age.remove(&(own.updated_seq, number));
            self.words_total -= u64::from(own.words);
            own.weight = 0.0;
        }
        for path in slot.paths {
            if let Some(tied) = self.paths.get_mut(&path) {
                tied.retain(|own| *own != number);
                if tied.is_empty() {
                    self.paths.remove(&path);
                }
            }
        }
        self.tidy();
        true
    }

    /// Forgets the numbers of what left, once that is most of them.
    fn tidy(&mut self) {
        const LEFT_MIN: usize = 1_024;
        let left = self.slots.len() - self.numbers.len();
        if left < LEFT_MIN || left < self.numbers.len() {
            return;
        }
        let mut moved: Vec<Option<u32>> = Vec::with_capacity(self.slots.len());
        let mut next = 0;
        for slot in &self.slots {
            moved.push(slot.is_some().then_some(next));
            next += u32::from(slot.is_some());
        }
        let now = |number: u32| moved.get(number as usize).copied().flatten();
        self.postings.retain(|_, postings| {
            postings.retain_mut(|own| {
                now(own.item).is_some_and(|new| {
                    own.item = new;
                    true
                })
            });
            !postings.is_empty()
        });
        for tied in self.paths.values_mut() {
            for own in tied {
                *own = now(*own).unwrap_or(*own);
            }
        }
        self.by_age =
            self.by_age.iter().filter_map(|(seq, own)| Some((*seq, now(*own)?))).collect();
        for own in self.numbers.values_mut() {
            *own = now(*own).unwrap_or(*own);
        }
        self.slots.retain(Option::is_some);
        self.traits.retain(|own| own.weight > 0.0);
    }

    /// What matters most for a question, most first. Equals are in the order of their ids.
    pub fn rank(&self, question: &Question<'_>) -> Vec<Hit> {
        let mut points = self.by_words(question.text);
        let ties = question.path.map(|path| self.ties(path)).unwrap_or_default();
        for number in ties.keys() {
            points.entry_or_zero(*number);
        }
        let age = self.age();
        let mut hits: Vec<(f64, u32)> = points
            .touched
            .iter()
            .filter(|number| self.wanted(**number, question))
            .filter_map(|number| {
                let own = self.traits.get(*number as usize)?;
                let tie = ties.get(number).copied().unwrap_or_default();
                let all = points.of(*number) + PATH_POINTS * tie;
                Some((all * age.factor(own) * f64::from(own.weight), *number))
            })
            .collect();
        self.first(&mut hits, question.limit);
        let mut found: Vec<Hit> = hits
            .iter()
            .filter_map(|(all, number)| {
                let by_path = ties.contains_key(number);
                self.hit(*number, *all, points.of(*number) > 0.0, by_path)
            })
            .collect();
        if question.fill {
            self.fill(question, &points, &mut found);
        }
        found
    }

    /// Keeps the first, in order, without sorting the rest.
    fn first(&self, hits: &mut Vec<(f64, u32)>, limit: usize) {
        let id = |number: u32| self.slot(number).map(|slot| slot.id.as_str());
        let order = |a: &(f64, u32), b: &(f64, u32)| {
            b.0.total_cmp(&a.0).then_with(|| id(a.1).cmp(&id(b.1)))
        };
        if hits.len() > limit {
            hits.select_nth_unstable_by(limit, order);
            hits.truncate(limit);
        }
        hits.sort_unstable_by(order);
    }

    /// The newest that are not named yet, those that hold before those that do not.
    fn fill(&self, question: &Question<'_>, points: &Points, found: &mut Vec<Hit>) {
        for holds in [true, false] {
            for (_, number) in self.by_age.iter().rev() {
                if found.len() >= question.limit {
                    return;
                }
                let own = self.traits.get(*number as usize);
                let is_next = own.is_some_and(|own| (own.weight >= 1.0) == holds);
                if is_next && !points.is_touched(*number) && self.wanted(*number, question) {
                    found.extend(self.hit(*number, 0.0, false, false));
                }
            }
        }
    }

    fn hit(&self, number: u32, points: f64, by_words: bool, by_path: bool) -> Option<Hit> {
        let id = self.slot(number)?.id.clone();
        Some(Hit { id, points, by_words, by_path })
    }

    fn slot(&self, number: u32) -> Option<&Slot> {
        self.slots.get(number as usize)?.as_ref()
    }

    fn wanted(&self, number: u32, question: &Question<'_>) -> bool {
        let kinds = question.kinds;
        kinds.is_empty() || self.slot(number).is_some_and(|slot| kinds.contains(&&*slot.kind))
    }

    fn age(&self) -> Age {
        let seq = |end: Option<&(u64, u32)>| end.map_or(0, |(seq, _)| *seq);
        let (first, last) = (seq(self.by_age.first()), seq(self.by_age.last()));
        Age { first, span: (last - first).max(1) }
    }

    fn by_words(&self, text: &str) -> Points {
        let mut points = Points::new(self.slots.len());
        let items = self.len() as u64;
        let mean = ratio(self.words_total, items.max(1)).max(1.0);
        for word in asked(text) {
            let Some(postings) = self.postings.get(word.as_str()) else { continue };
            let said_by = (postings.len() as u64).min(items);
            let rarity = (1.0 + ratio(2 * (items - said_by) + 1, 2 * said_by + 1)).ln();
            for posting in postings {
                let own = self.traits.get(posting.item as usize);
                let Some(own) = own.filter(|own| own.weight > 0.0) else { continue };
                let count = f64::from(posting.count);
                let length = f64::from(own.words) / mean;
                let damped = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
                points.add(posting.item, rarity * count * (SATURATION + 1.0) / (count + damped));
            }
        }
        points
    }

    /// How much items are tied to a path: 1 for the path itself, less for what is around it.
    fn ties(&self, path: &str) -> HashMap<u32, f64> {
        let path = fixed_part(path);
        let mut ties = HashMap::new();
        if path.is_empty() {
            return ties;
        }
        let mut tie = |path: &str, much: f64| {
            for number in self.paths.get(path).into_iter().flatten() {
                let own: &mut f64 = ties.entry(*number).or_default();
                *own = own.max(much);
            }
        };
        tie(&path, 1.0);
        let mut much = 0.8;
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            tie(folder, much);
            (above, much) = (folder, much * 0.8);
        }
        let below = format!("{path}/");
        let range = self.paths.range(below.clone()..);
        for (own, _) in range.take_while(|(own, _)| own.starts_with(&below)).take(BELOW_MAX) {
            tie(own, 0.6);
        }
        ties
    }
}

/// From when to when items are.
struct Age {
    first: u64,
    span: u64,
}

impl Age {
    fn factor(&self, own: &Traits) -> f64 {
        1.0 + RECENCY_SHARE * ratio(own.updated_seq.saturating_sub(self.first), self.span)
    }
}

/// What the points of items add up to. A list of all numbers is cheaper than a map when a common
/// word is said by most of them.
struct Points {
    points: Vec<f64>,
    touched: Vec<u32>,
}

impl Points {
    fn new(items: usize) -> Self {
        Points { points: vec![-1.0; items], touched: Vec::new() }
    }

    fn entry_or_zero(&mut self, number: u32) {
        self.add(number, 0.0);
    }

    fn add(&mut self, number: u32, points: f64) {
        if let Some(own) = self.points.get_mut(number as usize) {
            if *own < 0.0 {
                *own = 0.0;
                self.touched.push(number);
            }
            *own += points;
        }
    }

    fn of(&self, number: u32) -> f64 {
        self.points.get(number as usize).map_or(0.0, |own| own.max(0.0))
    }

    fn is_touched(&self, number: u32) -> bool {
        self.points.get(number as usize).is_some_and(|own| *own >= 0.0)
    }
}

/// What an item counts, compared with one that holds.
fn weight(item: &Item) -> f32 {
    let mut weight = 1.0;
    for (is, times) in [(!item.live, 0.4), (item.stale, 0.6), (item.superseded, 0.3)] {
        if is {
            weight *= times;
        }
    }
    weight
}

fn ratio(part: u64, whole: u64) -> f64 {
    let float = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    float(part) / float(whole)
}

/// A path without its ornaments, up to its first wildcard.
fn fixed_part(path: &str) -> String {
    let path = path.replace('\\', "/");
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let fixed = parts.take_while(|part| !part.contains(['*', '?', '[', '{']));
    fixed.collect::<Vec<_>>().join("/")
}

/// The words of an item, with how often it says them.
fn counted(item: &Item) -> HashMap<Box<str>, u16> {
    let mut counts: HashMap<Box<str>, u16> = HashMap::new();
    let mut add = |text: &str, count: u16| {
        each_word(text, |word| {
            if let Some(own) = counts.get_mut(word) {
                *own = own.saturating_add(count);
            } else {
                counts.insert(word.into(), count);
            }
        });
    };
    add(&item.text, 1);
    add(&item.kind, 1);
    for tag in &item.tags {
        add(tag, TAG_COUNT);
    }
    for path in &item.paths {
        add(path, 1);
    }
    counts
}

/// Words that questions are made with and that say nothing of what they are about.
const FILLERS: &[&str] = &[
    "a", "about", "an", "and", "are", "be", "can", "did", "do", "doe", "for", "from", "had", "has",
    "have", "how", "i", "if", "in", "is", "it", "of", "on", "or", "our", "should", "so", "that",
    "the", "their", "there", "thi", "to", "wa", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "you",
];

/// The words a question is about, each once.
fn asked(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    each_word(text, |word| {
        if words.len() < 4 * QUESTION_WORDS_MAX && !words.iter().any(|own| own == word) {
            words.push(word.to_owned());
        }
    });
    let says_something = |word: &String| !FILLERS.contains(&word.as_str());
    if words.iter().any(says_something) {
        words.retain(says_something);
    }
    words.truncate(QUESTION_WORDS_MAX);
    words
}

/// Hands out the words of a text in the form in which they are compared. A name in humps is told
/// whole and in its parts; a sign that is a word stands alone.
fn each_word(text: &str, mut tell: impl FnMut(&str)) {
    let mut buffer = String::new();
    for whole in text.split(|sign: char| !sign.is_alphanumeric()).filter(|own| !own.is_empty()) {
        if whole.chars().any(is_word_alone) {
            for sign in whole.chars() {
                tell(stem(sign.encode_utf8(&mut [0; 4]), &mut buffer));
            }
            continue;
        }
        tell(stem(whole, &mut buffer));
        let mut start = 0;
        let mut was_lower = false;
        for (at, sign) in whole.char_indices() {
            if was_lower && sign.is_uppercase() {
                tell(stem(&whole[start..at], &mut buffer));
                start = at;
            }
            was_lower = sign.is_lowercase();
        }
        if start > 0 {
            tell(stem(&whole[start..], &mut buffer));
        }
    }
}

/// Signs of scripts that put no spaces between words.
fn is_word_alone(sign: char) -> bool {
    matches!(sign, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// A word without the endings that English puts on it. Rough, and the same on both sides.
fn stem<'a>(word: &str, buffer: &'a mut String) -> &'a str {
    buffer.clear();
    buffer.extend(word.chars().take(WORD_CHARS_MAX).flat_map(char::to_lowercase));
    if !buffer.is_ascii() || buffer.len() < 4 {
        return buffer;
    }
    if buffer.ends_with("ies") {
        buffer.truncate(buffer.len() - 3);
        buffer.push('y');
    } else if buffer.ends_with('s') && !buffer.ends_with("ss") && !buffer.ends_with("us") {
        buffer.truncate(buffer.len() - 1);
    }
    for (ending, left) in [("ing", 3), ("ed", 3)] {
        if buffer.ends_with(ending) && buffer.len() >= ending.len() + left {
            buffer.truncate(buffer.len() - ending.len());
            let bytes = buffer.as_bytes();
            if let [.., a, b] = bytes
                && a == b
                && !b"lsz".contains(b)
            {
                buffer.pop();
            }
            break;
        }
    }
    if buffer.len() > 3 && buffer.ends_with('e') {
        buffer.pop();
    }
    buffer
}

#[cfg(test)]
mod tests;
