//! Ranking of records by relevance for a question, a path, or both.
//!
//! Words are ranked as full-text engines do it (BM25): a rare word that an item says often counts
//! more than a common one. Added to that are ties to the path at hand, tags, and recency; items
//! that are closed, stale or superseded count less.
//!
//! The index is a few maps in memory. `SQLite`'s FTS5 was measured for the same task and takes a
//! tenth of a second and more for a common word among a hundred thousand items; this takes
//! milliseconds. And a question cannot be a syntax error, since it is never parsed as syntax.

mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use words::{asked, each_word};

/// Most items below a path that are considered.
const BELOW_MAX: usize = 2_000;
/// BM25 parameters: saturation of repeated words, and discount of longer texts.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.4;
/// Number of occurrences that a tag counts as.
const TAG_COUNT: u16 = 3;
/// Points for a tie to the path at hand; a rare word has about eight.
const PATH_POINTS: f64 = 10.0;
/// Bonus of the newest item over the oldest, as a share.
const RECENCY_SHARE: f64 = 0.15;
/// Weight of a stale item.
const STALE_WEIGHT: f64 = 0.6;

/// The fields of a record that ranking needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its text.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The paths it is about. Anything after a wildcard is ignored.
    pub paths: Vec<String>,
    /// Position in the trail of its last change.
    pub updated_seq: u64,
    /// Whether it is live.
    pub live: bool,
    /// Time from which on it is stale, in the unit of [`Question::now`].
    pub stale_from: Option<u64>,
    /// Whether another record supersedes it.
    pub superseded: bool,
}

/// A question. Everything may be empty: then the newest items rank first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    /// Free text.
    pub text: &'a str,
    /// The path at hand.
    pub path: Option<&'a str>,
    /// Only items of these kinds; all if empty.
    pub kinds: &'a [&'a str],
    /// Current time.
    pub now: u64,
    /// Whether unrelated items fill the remaining places, newest first.
    pub fill: bool,
    /// Kinds of which only related items are wanted.
    pub only_related: &'a [&'a str],
    /// Number of items wanted.
    pub limit: usize,
}

/// A relevant item.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// Points, comparable within one answer.
    pub points: f64,
    /// Whether it contains words of the question.
    pub by_words: bool,
    /// Whether it is tied to the path.
    pub by_path: bool,
}

/// The index of records by words, paths and age.
#[derive(Default)]
pub struct Index {
    /// Items by number. Numbers are not reused; removed items leave a gap.
    slots: Vec<Option<Slot>>,
    /// Fields of every item that ranking reads, close together; same numbers.
    traits: Vec<Traits>,
    numbers: HashMap<String, u32>,
    /// Words by number. The number of a word that no item contains is reused.
    words: Vec<Word>,
    word_numbers: HashMap<Arc<str>, u32>,
    free_words: Vec<u32>,
    /// Kinds by number.
    kinds: Vec<String>,
    paths: BTreeMap<String, Vec<u32>>,
    by_age: BTreeSet<(u64, u32)>,
    words_total: u64,
}

struct Slot {
    id: String,
    paths: Vec<String>,
    words: Box<[u32]>,
}

#[derive(Clone, Copy)]
struct Traits {
    updated_seq: u64,
    stale_from: u64,
    /// Weight compared with a live item; 0 for a removed one.
    weight: f32,
    words: u32,
    kind: u16,
}

/// A word, and the items that contain it in the order in which they were added.
struct Word {
    text: Arc<str>,
    postings: Vec<Posting>,
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
    /// Number of items.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Adds an item, replacing the one with its id.
    pub fn put(&mut self, item: &Item) {
        self.remove(&item.id);
        let Ok(number) = u32::try_from(self.slots.len()) else { return };
        let counts = self.counted(item);
        let counts_by_word = counts.iter().map(|(_, count)| u32::from(*count)).sum();
        for (word, count) in &counts {
            self.words[*word as usize].postings.push(Posting { item: number, count: *count });
        }
        let paths: BTreeSet<String> = item.paths.iter().map(|path| fixed_part(path)).collect();
        for path in &paths {
            self.paths.entry(path.clone()).or_default().push(number);
        }
        self.by_age.insert((item.updated_seq, number));
        self.numbers.insert(item.id.clone(), number);
        self.words_total += u64::from(counts_by_word);
        let kind = self.kind_number(&item.kind);
        self.traits.push(Traits {
            updated_seq: item.updated_seq,
            stale_from: item.stale_from.unwrap_or(u64::MAX),
            weight: weight(item),
            words: counts_by_word,
            kind,
        });
        self.slots.push(Some(Slot {
            id: item.id.clone(),
            paths: paths.into_iter().collect(),
            words: counts.into_iter().map(|(word, _)| word).collect(),
        }));
    }

    /// The words of an item, with their counts.
    fn counted(&mut self, item: &Item) -> Vec<(u32, u16)> {
        let mut counts_by_word: Vec<(u32, u16)> = Vec::new();
        let mut add = |text: &str, count: u16| {
            each_word(text, |word| counts_by_word.push((self.word_number(word), count)));
        };
        add(&item.text, 1);
        add(&item.kind, 1);
        for tag in &item.tags {
            add(tag, TAG_COUNT);
        }
        for path in &item.paths {
            add(path, 1);
        }
        counts_by_word.sort_unstable_by_key(|(word, _)| *word);
        counts_by_word.dedup_by(|again, first| {
            let same = again.0 == first.0;
            if same {
                first.1 = first.1.saturating_add(again.1);
            }
            same
        });
        counts_by_word
    }

    fn word_number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.word_numbers.get(text) {
            return *number;
        }
        let text: Arc<str> = text.into();
        let word = Word { text: text.clone(), postings: Vec::new() };
        let number = if let Some(number) = self.free_words.pop() {
            self.words[number as usize] = word;
            number
        } else {
            self.words.push(word);
            u32::try_from(self.words.len() - 1).unwrap_or(u32::MAX)
        };
        self.word_numbers.insert(text, number);
        number
    }

    fn kind_number(&mut self, kind: &str) -> u16 {
        let known = self.kinds.iter().position(|own| own == kind);
        let number = known.unwrap_or_else(|| {
            self.kinds.push(kind.to_owned());
            self.kinds.len() - 1
        });
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    /// Removes an item. Returns whether it was there.
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
        for word in slot.words {
            self.unsay(word, number);
        }
        self.tidy();
        true
    }

    /// Removes an item from a word's postings. Numbers of items only grow, so postings are sorted.
    fn unsay(&mut self, word: u32, item: u32) {
        let own = &mut self.words[word as usize];
        if let Ok(at) = own.postings.binary_search_by_key(&item, |posting| posting.item) {
            own.postings.remove(at);
        }
        if own.postings.is_empty() {
            self.word_numbers.remove(&own.text);
            self.free_words.push(word);
        }
    }

    /// Renumbers the items once most numbers are unused.
    fn tidy(&mut self) {
        const LEFT_MIN: usize = 1_024;
        let left = self.slots.len() - self.numbers.len();
        if left < LEFT_MIN || left < self.numbers.len() {
            return;
        }
        let mut moved: Vec<u32> = Vec::with_capacity(self.slots.len());
        let mut next = 0;
        for slot in &self.slots {
            moved.push(next);
            next += u32::from(slot.is_some());
        }
        let now = |number: &mut u32| *number = moved[*number as usize];
        for word in &mut self.words {
            word.postings.iter_mut().for_each(|posting| now(&mut posting.item));
        }
        self.paths.values_mut().flatten().for_each(now);
        self.numbers.values_mut().for_each(now);
        self.by_age = self.by_age.iter().map(|(seq, own)| (*seq, moved[*own as usize])).collect();
        self.slots.retain(Option::is_some);
        self.traits.retain(|own| own.weight > 0.0);
    }

    /// The most relevant items for a question, best first. Equal ones are ordered by id.
    pub fn rank(&self, question: &Question<'_>) -> Vec<Hit> {
        let mut points = self.by_words(question.text);
        let ties = question.path.map(|path| self.ties(path)).unwrap_or_default();
        for number in ties.keys() {
            points.entry_or_zero(*number);
        }
        let age = self.age();
        let kinds = self.kinds_of(question);
        let mut hits: Vec<(f64, u32)> = points
            .touched
            .iter()
            .filter_map(|number| {
                let own = self.chosen(*number, &kinds)?;
                let tie = ties.get(number).copied().unwrap_or_default();
                let all = points.of(*number) + PATH_POINTS * tie;
                Some((all * age.factor(own) * own.weight_at(question.now), *number))
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
            self.fill(question, &kinds, &points, &mut found);
        }
        found
    }

    /// Keeps the best, sorted, without sorting the rest.
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

    /// Adds the newest items that are not included yet, live ones first.
    fn fill(&self, question: &Question<'_>, kinds: &[bool], points: &Points, found: &mut Vec<Hit>) {
        let fills = |kind: &String| !question.only_related.contains(&kind.as_str());
        let all = self.kinds.iter().zip(kinds);
        let kinds: Vec<bool> = all.map(|(kind, asked)| *asked && fills(kind)).collect();
        for holds in [true, false] {
            for (_, number) in self.by_age.iter().rev() {
                if found.len() >= question.limit {
                    return;
                }
                let own = self.chosen(*number, &kinds);
                let is_next = own.is_some_and(|own| (own.weight_at(question.now) >= 1.0) == holds);
                if is_next && !points.is_touched(*number) {
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

    /// The kinds that are asked for, by number.
    fn kinds_of(&self, question: &Question<'_>) -> Vec<bool> {
        let asked = |kind: &String| question.kinds.contains(&kind.as_str());
        self.kinds.iter().map(|kind| question.kinds.is_empty() || asked(kind)).collect()
    }

    /// The fields of an item, if it is of a kind that is asked for.
    fn chosen(&self, number: u32, kinds: &[bool]) -> Option<&Traits> {
        let own = self.traits.get(number as usize)?;
        kinds.get(usize::from(own.kind))?.then_some(own)
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
            let Some(number) = self.word_numbers.get(word.as_str()) else { continue };
            let postings = &self.words[*number as usize].postings;
            let found_in = (postings.len() as u64).min(items);
            let rarity = (1.0 + ratio(2 * (items - found_in) + 1, 2 * found_in + 1)).ln();
            for posting in postings {
                let Some(own) = self.traits.get(posting.item as usize) else { continue };
                let count = f64::from(posting.count);
                let length = f64::from(own.words) / mean;
                let damped = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
                points.add(posting.item, rarity * count * (SATURATION + 1.0) / (count + damped));
            }
        }
        points
    }

    /// Ties of items to a path: 1 for the path itself, less for paths around it.
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

impl Traits {
    /// Its weight at a time.
    fn weight_at(&self, now: u64) -> f64 {
        f64::from(self.weight) * if now >= self.stale_from { STALE_WEIGHT } else { 1.0 }
    }
}

/// The range of positions of all items.
struct Age {
    first: u64,
    span: u64,
}

impl Age {
    fn factor(&self, own: &Traits) -> f64 {
        1.0 + RECENCY_SHARE * ratio(own.updated_seq.saturating_sub(self.first), self.span)
    }
}

/// Sums of points by item number. A list of all numbers is cheaper than a map when most items
/// contain a common word.
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

/// Weight of an item compared with a live one, before staleness.
fn weight(item: &Item) -> f32 {
    let mut weight = 1.0;
    for (is, times) in [(!item.live, 0.4), (item.superseded, 0.3)] {
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

/// A normalized path up to its first wildcard.
fn fixed_part(path: &str) -> String {
    let path = path.replace('\\', "/");
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    let fixed = parts.take_while(|part| !part.contains(['*', '?', '[', '{']));
    fixed.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
