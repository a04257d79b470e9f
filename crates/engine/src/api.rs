//! The operations that `althing do`, HTTP and MCP offer, by name and from one table.
//!
//! A name is a command (changes something, needs a caller), a query of the state, or a query of the
//! trail. Each has a JSON Schema made from the Rust type that reads its arguments.

use althing_kernel::access::Viewer;
use althing_kernel::query::Query;
use althing_kernel::{Command, Span, WorkspaceId};
use althing_trail::head::verifier_key;
use althing_trail::proof::{Inclusion, ProofError};
use althing_trail::verify::Options;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::archive::{compact, tiers};
use crate::engine::Engine;
use crate::engine::client::Client;
use crate::error::EngineError;
use crate::read::history::{self, Moment};
use crate::read::row::Source;
use crate::read::trail_query::TrailQuery;
use crate::recovery::verify;
use crate::reports::OfRun;
use crate::reports::approvals::approvals;
use crate::reports::failures::{OfFailures, failures};
use crate::reports::flow::{OfFlow, flow};
use crate::reports::runs::{self, Compare};
use crate::reports::stats::TrailStats;
use crate::reports::timeline::{OfTimeline, timeline};
use crate::screen::masked;

/// Largest size of the arguments, in bytes.
pub const ARGS_BYTES_MAX: usize = 1 << 20;

/// Kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Changes something.
    Command,
    /// Reads something.
    Question,
}

/// An operation in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Operation {
    /// The name.
    pub name: &'static str,
    /// Kind of operation.
    pub sort: Sort,
    /// One-line description.
    pub help: &'static str,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Prove {
    /// The sequence number of the entry.
    seq: u64,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Verify {
    /// Check every signature on its own, not only the newest head's.
    every_signature: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diff {
    /// The first moment.
    from: Moment,
    /// The second moment; now if left out.
    #[serde(default)]
    to: Moment,
}

/// Arguments of `trail.compact`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compact {
    /// Only this workspace, even if it ended a moment ago.
    pub workspace: Option<WorkspaceId>,
    /// Only workspaces that ended at least so many seconds ago; the project's setting if left out.
    pub older_than_s: Option<u64>,
    /// Only report what would be done.
    pub dry_run: bool,
}

impl Compact {
    /// The request, with defaults filled in from the engine's options.
    pub fn request(&self, engine: &Engine) -> compact::Request {
        let set = engine.options().compact_after.unwrap_or_default();
        compact::Request {
            workspace: self.workspace.clone(),
            older_than: self.older_than_s.map_or(set, Span::from_secs),
            limit: u64::MAX,
            dry_run: self.dry_run,
        }
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Nothing {}

const TRAIL: &[(&str, &str)] = &[
    ("trail.query", "Entries of the trail."),
    ("trail.head", "The newest signed head."),
    ("trail.prove", "A proof that an entry is covered by the newest head."),
    ("trail.verify", "Check the whole trail."),
    ("trail.at", "The state at a moment of the past."),
    ("trail.diff", "Changes between two moments; until now, without the second."),
    ("trail.stats", "Counts of entries by group, and sums of a numeric field."),
    ("trail.runs", "A digest of each run."),
    ("trail.compare", "A comparison of two runs."),
    ("trail.failures", "Bursts of similar failures."),
    ("view.run", "A digest of one run, with its workspaces."),
    ("view.workspace", "The entries of one workspace, and its time in each state."),
    ("view.flow", "Messages between the workspaces of a run."),
    ("view.highway", "Requests to people in a run, and their answers."),
    ("trail.tiers", "Storage tiers of the trail: hot, warm, cold, and the archives."),
    ("trail.compact", "Move entries of ended workspaces to an archive."),
];

/// All operations, commands first.
pub fn list() -> Vec<Operation> {
    let of = |sort, table: &'static [(&'static str, &'static str)]| {
        table.iter().map(move |(name, help)| Operation { name, sort, help })
    };
    of(Sort::Command, Command::DOORS)
        .chain(of(Sort::Question, Query::DOORS))
        .chain(of(Sort::Question, TRAIL))
        .collect()
}

/// The schema of an operation's arguments.
pub fn schema(name: &str) -> Option<Schema> {
    let trail = |schema: Schema| {
        let help = TRAIL.iter().find(|(own, _)| *own == name).map_or("", |(_, help)| help);
        let mut schema = schema;
        schema.insert("description".to_owned(), help.into());
        schema
    };
    Command::schema(name).or_else(|| Query::schema(name)).or_else(|| {
        Some(trail(match name {
            "trail.query" => schemars::schema_for!(TrailQuery),
            "trail.head" | "trail.runs" | "trail.tiers" => schemars::schema_for!(Nothing),
            "trail.prove" => schemars::schema_for!(Prove),
            "trail.verify" => schemars::schema_for!(Verify),
            "trail.at" => schemars::schema_for!(Moment),
            "trail.diff" => schemars::schema_for!(Diff),
            "trail.stats" => schemars::schema_for!(TrailStats),
            "trail.compare" => schemars::schema_for!(Compare),
            "trail.failures" => schemars::schema_for!(OfFailures),
            "view.run" | "view.highway" => schemars::schema_for!(OfRun),
            "view.workspace" => schemars::schema_for!(OfTimeline),
            "view.flow" => schemars::schema_for!(OfFlow),
            "trail.compact" => schemars::schema_for!(Compact),
            _ => return None,
        }))
    })
}

/// A parsed request.
pub enum Request {
    /// Changes something.
    Command(Box<Command>),
    /// Queries the state.
    Query(Query),
    /// Queries the trail.
    Trail(TrailRequest),
}

/// A query of the trail.
pub enum TrailRequest {
    /// `trail.query`
    Query(Box<TrailQuery>),
    /// `trail.head`
    Head,
    /// `trail.prove`
    Prove(u64),
    /// `trail.verify`
    Verify(bool),
    /// `trail.at`
    At(Moment),
    /// `trail.diff`
    Diff(Moment, Moment),
    /// `trail.tiers`
    Tiers,
    /// `trail.compact`
    Compact(Compact),
    /// Statistics and reports.
    View(ViewRequest),
}

/// A query for statistics or a report.
pub enum ViewRequest {
    /// `trail.stats`
    Stats(Box<TrailStats>),
    /// `trail.runs`
    Runs,
    /// `trail.compare`
    Compare(Compare),
    /// `trail.failures`
    Failures(OfFailures),
    /// `view.run`
    Run(OfRun),
    /// `view.workspace`
    Workspace(OfTimeline),
    /// `view.flow`
    Flow(OfFlow),
    /// `view.highway`
    Approvals(OfRun),
}

impl ViewRequest {
    fn read(name: &str, args: &str) -> Option<Result<Self, serde_json::Error>> {
        use serde_json::from_str as read;
        Some(match name {
            "trail.stats" => read(args).map(|asked| ViewRequest::Stats(Box::new(asked))),
            "trail.runs" => read::<Nothing>(args).map(|_| ViewRequest::Runs),
            "trail.compare" => read(args).map(ViewRequest::Compare),
            "trail.failures" => read(args).map(ViewRequest::Failures),
            "view.run" => read(args).map(ViewRequest::Run),
            "view.workspace" => read(args).map(ViewRequest::Workspace),
            "view.flow" => read(args).map(ViewRequest::Flow),
            "view.highway" => read(args).map(ViewRequest::Approvals),
            _ => return None,
        })
    }

    /// Answers the query from what a viewer may read.
    fn answer(
        &self,
        engine: &Engine,
        viewer: Viewer<'_>,
    ) -> Result<Result<Box<RawValue>, serde_json::Error>, EngineError> {
        let (source, scope) = (Source::Project(engine.clone()), engine.scope(viewer)?);
        Ok(match self {
            ViewRequest::Stats(asked) => to_raw_value(&asked.of(engine, viewer)?),
            ViewRequest::Runs => to_raw_value(&runs::runs(&source, &scope)?),
            ViewRequest::Compare(Compare { a, b }) => {
                let of = |run| runs::run(&source, &scope, Some(run));
                to_raw_value(&runs::compare(of(a)?, of(b)?))
            }
            ViewRequest::Failures(asked) => {
                let now = engine.moment(&engine.world()?.state);
                to_raw_value(&failures(&source, &scope, now, asked)?)
            }
            ViewRequest::Run(asked) => {
                to_raw_value(&runs::run(&source, &scope, asked.run.as_ref())?)
            }
            ViewRequest::Workspace(asked) => to_raw_value(&timeline(&source, viewer, asked)?),
            ViewRequest::Flow(asked) => to_raw_value(&flow(&source, &scope, asked)?),
            ViewRequest::Approvals(asked) => to_raw_value(&approvals(&source, &scope, asked)?),
        })
    }
}

/// Parses a request. Unknown fields are errors, so a request is understood completely or refused.
pub fn read(name: &str, args: &str) -> Result<Request, EngineError> {
    if args.len() > ARGS_BYTES_MAX {
        let message =
            format!("arguments of {} bytes are over the limit of {ARGS_BYTES_MAX}", args.len());
        return Err(EngineError::Invalid(message));
    }
    let args = if args.trim().is_empty() { "{}" } else { args };
    // Serde would read a list as the fields in their order, which is no documented form.
    if !args.trim_start().starts_with('{') {
        return Err(EngineError::Invalid(format!("{name}: arguments are a JSON object")));
    }
    let misread = |error: serde_json::Error| {
        EngineError::Invalid(format!("{name}: {}", masked(&error.to_string())))
    };
    if let Some(command) = Command::read(name, args) {
        return command.map(|command| Request::Command(Box::new(command))).map_err(misread);
    }
    if let Some(query) = Query::read(name, args) {
        return query.map(Request::Query).map_err(misread);
    }
    if let Some(view) = ViewRequest::read(name, args) {
        return view.map(|view| Request::Trail(TrailRequest::View(view))).map_err(misread);
    }
    let trail = match name {
        "trail.query" => {
            serde_json::from_str(args).map(|asked| TrailRequest::Query(Box::new(asked)))
        }
        "trail.head" => serde_json::from_str::<Nothing>(args).map(|_| TrailRequest::Head),
        "trail.prove" => serde_json::from_str::<Prove>(args).map(|p| TrailRequest::Prove(p.seq)),
        "trail.verify" => {
            serde_json::from_str::<Verify>(args).map(|v| TrailRequest::Verify(v.every_signature))
        }
        "trail.at" => serde_json::from_str(args).map(TrailRequest::At),
        "trail.diff" => {
            serde_json::from_str::<Diff>(args).map(|d| TrailRequest::Diff(d.from, d.to))
        }
        "trail.tiers" => serde_json::from_str::<Nothing>(args).map(|_| TrailRequest::Tiers),
        "trail.compact" => serde_json::from_str(args).map(TrailRequest::Compact),
        _ => {
            let message = format!("there is no command or question called {name:?}");
            return Err(EngineError::Invalid(message));
        }
    };
    trail.map(Request::Trail).map_err(misread)
}

/// Carries a request out. Commands need a client; queries are answered with what the viewer may
/// see.
pub fn perform(
    engine: &Engine,
    client: Option<&Client>,
    viewer: Viewer<'_>,
    request: Request,
) -> Result<Box<RawValue>, EngineError> {
    let json = |value: Result<Box<RawValue>, serde_json::Error>| {
        value.map_err(|error| EngineError::Defect(error.to_string()))
    };
    match request {
        Request::Command(command) => {
            let client = client.ok_or(EngineError::NoCaller)?;
            json(to_raw_value(&client.execute(*command)?))
        }
        Request::Query(query) => json(to_raw_value(&engine.ask_as(&query, viewer)?)),
        Request::Trail(request) => json(about_trail(engine, request, viewer)?),
    }
}

/// Answers a query of the trail.
fn about_trail(
    engine: &Engine,
    request: TrailRequest,
    viewer: Viewer<'_>,
) -> Result<Result<Box<RawValue>, serde_json::Error>, EngineError> {
    Ok(match request {
        TrailRequest::Query(query) => {
            let found = match engine.narrowed(*query, viewer)? {
                Some(query) => query.find(&mut *engine.reader()?)?,
                None => Vec::new(),
            };
            let lines: Result<Vec<_>, _> =
                found.iter().map(crate::read::trail_query::Found::raw).collect();
            lines.and_then(|lines| to_raw_value(&lines))
        }
        TrailRequest::Head => to_raw_value(&head(engine)?),
        TrailRequest::Prove(seq) => {
            engine.check_reads_everything(viewer)?;
            to_raw_value(&prove(engine, seq)?)
        }
        TrailRequest::Verify(every_signature) => {
            let options = Options { every_signature, ..Options::default() };
            let mut log = engine.reader()?;
            let verdict = verify::verify(engine.home(), &mut *log, options, &mut |_, _| {})?;
            to_raw_value(&verdict.sound()?)
        }
        TrailRequest::At(moment) => {
            engine.check_reads_everything(viewer)?;
            to_raw_value(&history::at(engine, moment)?)
        }
        TrailRequest::Diff(from, to) => {
            engine.check_reads_everything(viewer)?;
            to_raw_value(&history::diff(engine, from, to)?)
        }
        TrailRequest::View(view) => view.answer(engine, viewer)?,
        TrailRequest::Tiers => {
            engine.check_reads_everything(viewer)?;
            to_raw_value(&tiers::tiers(engine, &mut |_, _| {})?)
        }
        TrailRequest::Compact(asked) => {
            engine.check_reads_everything(viewer)?;
            to_raw_value(&compact::run(engine, &asked.request(engine), &mut |_, _| {})?)
        }
    })
}

/// The newest head, and the key to check it with.
#[derive(serde::Serialize)]
pub struct HeadView {
    /// Number of entries it covers.
    pub size: u64,
    /// The root of the tree.
    pub root: String,
    /// The signed head as it stands in the trail.
    pub note: String,
    /// The key, in the verifier-key format of signed notes.
    pub verifier_key: String,
}

/// The newest head.
pub fn head(engine: &Engine) -> Result<HeadView, EngineError> {
    let mut log = engine.reader()?;
    let last = log.position()?;
    let found = log.head_of(last)?;
    let world = engine.world()?;
    let (Some((_, note)), Some(project)) = (found, world.state.project()) else {
        return Err(EngineError::Damaged { seq: last, what: "there is no commit".to_owned() });
    };
    let signed = althing_trail::SignedHead::parse(&note)
        .map_err(|error| EngineError::Damaged { seq: last, what: error.to_string() })?;
    Ok(HeadView {
        size: signed.head().size,
        root: signed.head().root.to_string(),
        note,
        verifier_key: verifier_key(&project.id, &project.runtime_key),
    })
}

/// Proves that the newest head covers an entry.
pub fn prove(engine: &Engine, seq: u64) -> Result<Inclusion, EngineError> {
    Inclusion::make(&mut *engine.reader()?, seq).map_err(|error| match error {
        ProofError::NoEntry(seq) => EngineError::NotFound(format!("the trail has no entry {seq}")),
        ProofError::Log(error) => EngineError::Store(error),
        ProofError::Pruned(seq) => EngineError::Pruned { seq },
        other => EngineError::Damaged { seq, what: other.to_string() },
    })
}
