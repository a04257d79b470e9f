//! Figures about the trail: how many entries, grouped by what, and what a number in them adds up
//! to.
//!
//! Entries are looked at one after another and forgotten; only the groups are remembered.

use althing_kernel::Timestamp;
use althing_kernel::access::Viewer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::EngineError;
use crate::field::{Field, FieldError};
use crate::places::Places;
use crate::row::{Row, Source};
use crate::trail_query::TrailQuery;

/// The most groups one answer is made of.
pub const GROUPS_MAX: usize = 100_000;
/// The most dimensions entries are grouped by at once.
const DIMENSIONS_MAX: usize = 8;

/// What entries are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// What happened.
    Kind,
    /// Who caused it.
    Actor,
    /// The role of its workspace.
    Role,
    /// Its workspace.
    Workspace,
    /// The run it belongs to, by its root.
    Run,
    /// The group of its workspace.
    Group,
    /// Who answered for its workspace at the time.
    Owner,
    /// Who caused its workspace.
    Originator,
    /// When, in pieces of this many microseconds.
    Time(u64),
    /// A field of the entry.
    Field(Field),
}

const WORDS: &[(&str, Dimension)] = &[
    ("kind", Dimension::Kind),
    ("actor", Dimension::Actor),
    ("role", Dimension::Role),
    ("workspace", Dimension::Workspace),
    ("run", Dimension::Run),
    ("group", Dimension::Group),
    ("owner", Dimension::Owner),
    ("originator", Dimension::Originator),
    ("minute", Dimension::Time(60_000_000)),
    ("hour", Dimension::Time(3_600_000_000)),
    ("day", Dimension::Time(86_400_000_000)),
];

impl Dimension {
    fn asks_whose(&self) -> bool {
        self.asks_history()
            || matches!(self, Dimension::Role | Dimension::Run | Dimension::Originator)
    }

    /// Whether only the trail itself tells, and not the state it led to.
    fn asks_history(&self) -> bool {
        matches!(self, Dimension::Owner | Dimension::Group)
    }

    /// Where an entry stands in this dimension; nothing if it has no place there.
    fn of(&self, row: &Row<'_>, entry: &Value, places: &Places) -> Value {
        let place = || places.of(row);
        match self {
            Dimension::Kind => row.kind.as_ref().into(),
            Dimension::Actor => row.actor.as_ref().into(),
            Dimension::Workspace => row.workspace.as_deref().into(),
            Dimension::Role => place().map(|place| place.role.as_str()).into(),
            Dimension::Run => place().map(|place| place.run.as_str()).into(),
            Dimension::Group => place().and_then(|place| place.group.as_deref()).into(),
            Dimension::Owner => place().map(|place| place.owner(row.seq)).into(),
            Dimension::Originator => places.originator(row).into(),
            Dimension::Time(piece) => (row.at.micros() - row.at.micros() % piece).into(),
            Dimension::Field(field) => field.of(entry).cloned().unwrap_or_default(),
        }
    }
}

impl std::fmt::Display for Dimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Dimension::Field(field) = self {
            return field.fmt(f);
        }
        f.pad(WORDS.iter().find(|(_, own)| own == self).map_or("time", |(word, _)| word))
    }
}

impl std::str::FromStr for Dimension {
    type Err = FieldError;

    fn from_str(text: &str) -> Result<Self, FieldError> {
        match WORDS.iter().find(|(word, _)| *word == text) {
            Some((_, dimension)) => Ok(dimension.clone()),
            None => text.parse().map(Dimension::Field),
        }
    }
}

impl Serialize for Dimension {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Dimension {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// `trail.stats`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrailStats {
    /// Which entries count; without `limit` and `last`.
    pub filter: TrailQuery,
    /// What they are grouped by: `kind`, `actor`, `role`, `workspace`, `run`, `group`,
    /// `owner`, `originator`, `minute`, `hour`, `day` (of UTC), or a field such as `to_state`.
    #[schemars(with = "Vec<String>")]
    pub group_by: Vec<Dimension>,
    /// A number in them, such as `resource_usage.cost`, to be added up.
    pub sum: Option<Field>,
    /// At most this many groups, the largest ones; all, if left out.
    pub top: Option<usize>,
}

/// What a number comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// How many entries have the number.
    pub values: u64,
    /// All of them together.
    pub sum: i128,
    /// The smallest.
    pub min: Option<i64>,
    /// The largest.
    pub max: Option<i64>,
    /// The mean, rounded towards zero.
    pub avg: Option<i128>,
}

/// The entries that have the same place in every dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Where they stand, in the order of the dimensions.
    pub key: Vec<Value>,
    /// How many there are.
    pub count: u64,
    /// When the first happened.
    pub first_at: Timestamp,
    /// When the last happened.
    pub last_at: Timestamp,
    /// What the number comes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

/// Figures about the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// What the entries are grouped by.
    pub group_by: Vec<Dimension>,
    /// The number that is added up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Field>,
    /// How many entries count.
    pub count: u64,
    /// How many more were deleted with archives that may have counted, as far as place, time, kind
    /// and workspace tell: the figures are of what is left.
    pub deleted_entries: u64,
    /// What the number comes to over all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The groups: by time if that comes first, else the largest first.
    pub groups: Vec<Group>,
    /// How many smaller groups are not shown.
    pub left_out: usize,
}

/// Figures that are being gathered.
#[derive(Clone, Debug)]
struct Tally {
    count: u64,
    first_at: Timestamp,
    last_at: Timestamp,
    values: u64,
    sum: i128,
    range: Option<(i64, i64)>,
}

impl Tally {
    fn new(at: Timestamp) -> Self {
        Tally { count: 0, first_at: at, last_at: at, values: 0, sum: 0, range: None }
    }

    fn take(&mut self, at: Timestamp, number: Option<i64>) {
        self.count += 1;
        self.last_at = at;
        if let Some(number) = number {
            self.values += 1;
            self.sum += i128::from(number);
            let (min, max) = self.range.unwrap_or((number, number));
            self.range = Some((min.min(number), max.max(number)));
        }
    }

    fn figures(&self) -> Figures {
        Figures {
            values: self.values,
            sum: self.sum,
            min: self.range.map(|(min, _)| min),
            max: self.range.map(|(_, max)| max),
            avg: self.sum.checked_div(i128::from(self.values)),
        }
    }
}

impl TrailStats {
    fn check(&self) -> Result<(), EngineError> {
        let no = |message: &str| Err(EngineError::Invalid(message.to_owned()));
        if self.filter.limit.is_some() || self.filter.last {
            return no("figures are about all entries that fit: leave `limit` and `last` out");
        }
        if self.group_by.len() > DIMENSIONS_MAX {
            return no("entries are grouped by at most 8 things at once");
        }
        Ok(())
    }

    /// Whether it takes knowing which workspace is whose to answer it.
    fn asks_whose(&self) -> bool {
        self.filter.asks_whose() || self.group_by.iter().any(Dimension::asks_whose)
    }

    /// The figures of a project's trail, from what a viewer may read of it.
    pub fn of(&self, engine: &crate::Engine, viewer: Viewer<'_>) -> Result<Stats, EngineError> {
        let source = Source::Project(engine.clone());
        self.check()?;
        // What comes while this is being counted is left for the next time.
        let end = engine.world()?.seq();
        let upto = Some(self.filter.upto.unwrap_or(end).min(end));
        let asked = TrailQuery { upto, ..self.filter.clone() };
        let Some(filter) = engine.narrowed(asked, viewer)? else {
            return Ok(self.answer(&Tally::new(Timestamp::default()), BTreeMap::new()));
        };
        self.gather(&source, filter)
    }

    /// The figures of an exported trail.
    pub fn of_file(&self, path: &std::path::Path) -> Result<Stats, EngineError> {
        self.check()?;
        self.gather(&Source::File(path.to_owned()), self.filter.clone())
    }

    fn gather(&self, source: &Source, mut filter: TrailQuery) -> Result<Stats, EngineError> {
        if self.asks_whose() {
            let history =
                filter.owner.is_some() || self.group_by.iter().any(Dimension::asks_history);
            filter.places = Some(Arc::new(source.places(history)?));
        }
        let places = filter.places.clone().unwrap_or_default();
        let after = filter.since.map_or(Ok(0), |since| source.before(since))?;
        let after = after.max(filter.after.unwrap_or(0));
        let upto = filter.upto.unwrap_or(u64::MAX);
        let reads_all =
            self.sum.is_some() || self.group_by.iter().any(|by| matches!(by, Dimension::Field(_)));
        let mut groups: BTreeMap<String, (Vec<Value>, Tally)> = BTreeMap::new();
        let mut total = Tally::new(Timestamp::default());
        source.each(after, &mut |row| {
            if row.seq > upto || !filter.fits(row) {
                return Ok(());
            }
            let entry = if reads_all { row.entry() } else { Value::Null };
            let number = self.sum.as_ref().and_then(|field| field.of(&entry)?.as_i64());
            total.take(row.at, number);
            if self.group_by.is_empty() {
                return Ok(());
            }
            let key: Vec<Value> =
                self.group_by.iter().map(|by| by.of(row, &entry, &places)).collect();
            let named = Value::Array(key.clone()).to_string();
            let full = groups.len() >= GROUPS_MAX;
            let group = match groups.entry(named) {
                std::collections::btree_map::Entry::Vacant(_) if full => {
                    let message = format!("that makes more than {GROUPS_MAX} groups: narrow it");
                    return Err(EngineError::Invalid(message));
                }
                other => other.or_insert_with(|| (key, Tally::new(row.at))),
            };
            group.1.take(row.at, number);
            Ok(())
        })?;
        let mut deleted = 0;
        source.each_deleted(&mut |seq, stub| deleted += u64::from(filter.may_fit(seq, stub)))?;
        Ok(Stats { deleted_entries: deleted, ..self.answer(&total, groups) })
    }

    fn answer(&self, total: &Tally, groups: BTreeMap<String, (Vec<Value>, Tally)>) -> Stats {
        let summed = self.sum.is_some();
        let group = |(key, tally): (Vec<Value>, Tally)| Group {
            key,
            count: tally.count,
            first_at: tally.first_at,
            last_at: tally.last_at,
            figures: summed.then(|| tally.figures()),
        };
        let mut groups: Vec<Group> = groups.into_values().map(group).collect();
        let size = |group: &Group| {
            let sum = group.figures.as_ref().map_or(i128::from(group.count), |own| own.sum);
            (std::cmp::Reverse(sum), group.first_at)
        };
        groups.sort_by_key(size);
        let top = self.top.unwrap_or(usize::MAX).min(groups.len());
        let left_out = groups.len() - top;
        groups.truncate(top);
        if matches!(self.group_by.first(), Some(Dimension::Time(_))) {
            groups.sort_by_key(|group| group.key.first().and_then(Value::as_u64));
        }
        Stats {
            group_by: self.group_by.clone(),
            sum: self.sum.clone(),
            count: total.count,
            deleted_entries: 0,
            figures: summed.then(|| total.figures()),
            groups,
            left_out,
        }
    }
}
