//! Timeline of one workspace: its entries, and its time in each state.

use althing_kernel::access::Viewer;
use althing_kernel::{Span, Timestamp, WorkspaceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::lanes::{Lane, Lanes};
use super::usage::Usages;
use crate::error::EngineError;
use crate::read::row::{Row, Source, text};
use crate::read::trail_query::{ENTRIES_MAX, TrailQuery};

/// Default number of entries shown.
const ENTRIES_DEFAULT: usize = 200;

/// `view.workspace`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfTimeline {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// How many of its last entries (default 200, at most 10,000).
    #[serde(default)]
    pub last: Option<usize>,
}

/// The timeline of a workspace.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// The workspace and its states; `None` if the viewer may read no entry about it.
    pub lane: Option<Lane>,
    /// Time it spent in each state.
    pub spent: BTreeMap<String, Span>,
    /// Number of entries in its local trail.
    pub count: u64,
    /// Number of entries that were deleted with archives and are not included.
    pub deleted_entries: u64,
    /// Number of entries of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Time of its last entry.
    pub last_at: Timestamp,
    /// Its last entries, in order.
    pub entries: Vec<Box<RawValue>>,
}

/// The timeline of a workspace. A viewer who may not read it gets an empty one, and the attempt is
/// recorded.
pub fn timeline(
    source: &Source,
    viewer: Viewer<'_>,
    asked: &OfTimeline,
) -> Result<Timeline, EngineError> {
    let query = TrailQuery { workspace: Some(asked.workspace.clone()), ..TrailQuery::default() };
    let query = match source {
        Source::Project(engine) => engine.narrowed(query, viewer)?,
        Source::File(_) => Some(query),
    };
    let mut reading = Reading::new(&asked.workspace, asked.last.unwrap_or(ENTRIES_DEFAULT));
    let mut deleted = 0;
    if let Some(query) = query {
        let after = beginning(source, &asked.workspace)?;
        source
            .each_deleted(&mut |_, stub| deleted += u64::from(stub.workspace == asked.workspace))?;
        source.each(after, &mut |row| {
            reading.about_task(row);
            if query.fits(row) {
                reading.take(row);
            }
            Ok(())
        })?;
    }
    Ok(Timeline { deleted_entries: deleted, ..reading.finish()? })
}

fn beginning(source: &Source, id: &WorkspaceId) -> Result<u64, EngineError> {
    let Source::Project(engine) = source else { return Ok(0) };
    let world = engine.world()?;
    let began = world.state.workspace(id).map(|known| known.charter.created_at);
    began.map_or(Ok(0), |began| source.before(began))
}

struct Reading<'a> {
    id: &'a WorkspaceId,
    wanted: usize,
    lanes: Lanes,
    usages: Usages,
    kinds: BTreeMap<String, u64>,
    count: u64,
    last_at: Timestamp,
    lines: std::collections::VecDeque<String>,
}

impl<'a> Reading<'a> {
    fn new(id: &'a WorkspaceId, wanted: usize) -> Self {
        Reading {
            id,
            wanted: wanted.min(ENTRIES_MAX),
            lanes: Lanes::default(),
            usages: Usages::default(),
            kinds: BTreeMap::new(),
            count: 0,
            last_at: Timestamp::default(),
            lines: std::collections::VecDeque::new(),
        }
    }

    /// Tracks names of tasks, which are in the trail of the root, and the task of this workspace.
    fn about_task(&mut self, row: &Row<'_>) {
        if row.kind == "task_assigned" && row.line.contains(self.id.as_str()) {
            let body = row.body();
            if text(&body, "workspace_id") == Some(self.id.as_str()) {
                let task = text(&body, "task_id").unwrap_or_default().to_owned();
                self.lanes.works_on(self.id.as_str(), &task);
            }
        }
    }

    fn take(&mut self, row: &Row<'_>) {
        self.count += 1;
        self.last_at = row.at;
        *self.kinds.entry(row.kind.clone().into_owned()).or_default() += 1;
        let id = self.id.as_str();
        match &*row.kind {
            "workspace_created" => self.lanes.created(row, &row.body()),
            "workspace_state_changed" => {
                let body = row.body();
                self.lanes.step(row, id, text(&body, "to_state").unwrap_or_default());
            }
            "migration_completed" => self.lanes.migrated(&row.body()),
            "checkpoint_created" => {
                self.usages.take(row, &row.body());
                self.lanes.checkpoint(row, id);
            }
            "meter.reported" => self.usages.take(row, &row.body()),
            _ => {}
        }
        if self.lines.len() == self.wanted {
            self.lines.pop_front();
        }
        if self.wanted > 0 {
            self.lines.push_back(row.line.to_owned());
        }
    }

    fn finish(self) -> Result<Timeline, EngineError> {
        let lane = self.lanes.finish(&self.usages).pop();
        let spent = lane.as_ref().map(|lane| lane.spent(self.last_at)).unwrap_or_default();
        let spent = spent.into_iter().map(|(state, span)| (state.to_owned(), span)).collect();
        let raw = self.lines.into_iter().map(RawValue::from_string);
        let entries = raw.collect::<Result<_, _>>();
        Ok(Timeline {
            spent,
            lane,
            count: self.count,
            deleted_entries: 0,
            kinds: self.kinds,
            last_at: self.last_at,
            entries: entries.map_err(|error| EngineError::Defect(error.to_string()))?,
        })
    }
}
