//! Statistics of the trail: counts and sums over entries, grouped.
//!
//! Entries are read one after another and forgotten; only the groups are kept in memory.

use althing_kernel::Timestamp;
use althing_kernel::access::Viewer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::EngineError;
use crate::read::field::{Field, FieldError};
use crate::read::row::{Row, Source};
use crate::read::trail_query::TrailQuery;
use crate::read::workspace_info::WorkspaceDirectory;

/// Most groups in memory.
pub const GROUPS_MAX: usize = 100_000;
/// Most dimensions to group by at once.
const DIMENSIONS_MAX: usize = 8;

/// A dimension to group by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Kind of event.
    Kind,
    /// Actor.
    Actor,
    /// The role of its workspace.
    Role,
    /// Its workspace.
    Workspace,
    /// Its run, by the root.
    Run,
    /// The group of its workspace.
    Group,
    /// Owner of its workspace at the time.
    Owner,
    /// Originator of its workspace.
    Originator,
    /// Time, in intervals of this many microseconds.
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
    fn needs_workspace_info(&self) -> bool {
        self.asks_history()
            || matches!(self, Dimension::Role | Dimension::Run | Dimension::Originator)
    }

    /// Whether this needs a walk through the trail, because the state does not keep it.
    fn asks_history(&self) -> bool {
        matches!(self, Dimension::Owner | Dimension::Group)
    }

    /// The value of an entry in this dimension; null if it has none.
    fn of(&self, row: &Row<'_>, entry: &Value, places: &WorkspaceDirectory) -> Value {
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
    /// Entries to count; without `limit` and `last`.
    pub filter: TrailQuery,
    /// Dimensions to group by: `kind`, `actor`, `role`, `workspace`, `run`, `group`, `owner`,
    /// `originator`, `minute`, `hour`, `day` (of UTC), or a field such as `to_state`.
    #[schemars(with = "Vec<String>")]
    pub group_by: Vec<Dimension>,
    /// A numeric field to sum, such as `resource_usage.cost`.
    pub sum: Option<Field>,
    /// At most this many groups, the largest ones; all, if left out.
    pub top: Option<usize>,
}

/// Statistics of a numeric field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Number of entries that have the field.
    pub values: u64,
    /// Sum.
    pub sum: i128,
    /// Smallest value.
    pub min: Option<i64>,
    /// Largest value.
    pub max: Option<i64>,
    /// Mean, rounded towards zero.
    pub avg: Option<i128>,
}

/// Entries with the same value in every dimension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Their values, in the order of the dimensions.
    pub key: Vec<Value>,
    /// Number of entries.
    pub count: u64,
    /// Time of the first.
    pub first_at: Timestamp,
    /// Time of the last.
    pub last_at: Timestamp,
    /// Statistics of the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

/// Statistics of the trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Dimensions of the groups.
    pub group_by: Vec<Dimension>,
    /// The field that is summed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Field>,
    /// Number of entries.
    pub count: u64,
    /// Number of entries deleted with archives that may have matched, judging by position, time,
    /// kind and workspace; they are not included.
    pub deleted_entries: u64,
    /// Statistics of the field over all entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The groups: by time if that is the first dimension, else the largest first.
    pub groups: Vec<Group>,
    /// Number of smaller groups that are left out.
    pub left_out: usize,
}

/// Statistics being computed.
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

    /// Whether the answer needs facts about workspaces.
    fn needs_workspace_info(&self) -> bool {
        self.filter.needs_workspace_info()
            || self.group_by.iter().any(Dimension::needs_workspace_info)
    }

    /// Statistics of a project's trail, from what a viewer may read.
    pub fn of(
        &self,
        engine: &crate::engine::Engine,
        viewer: Viewer<'_>,
    ) -> Result<Stats, EngineError> {
        let source = Source::Project(engine.clone());
        self.check()?;
        // Entries appended during the count are left out.
        let end = engine.world()?.seq();
        let upto = Some(self.filter.upto.unwrap_or(end).min(end));
        let asked = TrailQuery { upto, ..self.filter.clone() };
        let Some(filter) = engine.narrowed(asked, viewer)? else {
            return Ok(self.answer(&Tally::new(Timestamp::default()), BTreeMap::new()));
        };
        self.gather(&source, filter)
    }

    /// Statistics of an exported trail.
    pub fn of_file(&self, path: &std::path::Path) -> Result<Stats, EngineError> {
        self.check()?;
        self.gather(&Source::File(path.to_owned()), self.filter.clone())
    }

    fn gather(&self, source: &Source, mut filter: TrailQuery) -> Result<Stats, EngineError> {
        if self.needs_workspace_info() {
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
