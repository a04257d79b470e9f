//! Compaction: moving entries of ended workspaces to an archive, while others go on writing.
//!
//! The order of the steps makes it safe. An archive is written, read back, compared and synced
//! under its name; then it is recorded; only then are its lines in the store replaced by stubs, a
//! few at a time, each compared with the archive once more. A kill in between leaves every entry in
//! one place or the other, or in both, and the next compaction first finishes recorded archives
//! whose lines are still in the store.

use althing_kernel::archive::{Compact, Moved, Number, Range, is_archivable, may_be_archivable};
use althing_kernel::{Blob, Command, Kind, Span, State, Timestamp, WorkspaceId};
use althing_trail::archive::{ArchiveRecord, ArchiveWriter, Archives, Lines, Stage, check_files};
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::{Swap, Swapper};
use althing_trail::stub::Stub;
use althing_trail::{Commit, Entry, LogReader};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::engine::{Engine, Options};
use crate::error::EngineError;
use crate::snapshot;
use crate::snapshot::world::READ_BYTES;
use crate::store::archive_files::{self, ArchiveLock};

/// Most workspaces whose entries go into one archive.
const WORKSPACES_MAX: u64 = 4_096;
/// Workspaces per recording command, so that nobody waits long behind it.
const RECORDED_AT_ONCE: usize = 64;
/// Bytes of lines replaced in one turn while nobody else writes.
const SWAP_BYTES: usize = 1 << 20;
/// Bytes of lines replaced in one turn while others write: few enough that they hardly notice.
const SWAP_BYTES_SHARED: usize = 16 << 10;
/// Pause after a short turn, and the longest after a long one. A commit is replaced as a whole, so
/// a large one takes its time; then the pause is longer, so that hardly any command has to wait for
/// one.
const PAUSE: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// Duration of a short turn: about that of a command.
const SHORT: Duration = Duration::from_micros(250);
/// Length of the pause after a turn that was not short, in multiples of the turn.
const PAUSE_FACTOR: u32 = 100;
/// Time for which other writers count as active after they wrote.
const OTHERS_STAY: Duration = Duration::from_millis(100);
/// Number of ended workspaces that make a background compaction worthwhile.
const WORTHWHILE: usize = 100;
/// Longest time that fewer ended workspaces wait for more.
const WAIT_MAX: Span = Span::from_secs(24 * 60 * 60);
/// Most workspaces of a background compaction.
const BACKGROUND_WORKSPACES_MAX: u64 = 256;
/// Pause after a background compaction.
const BACKGROUND_PAUSE: Duration = Duration::from_mins(1);

/// Selection of workspaces to compact.
#[derive(Clone, Debug)]
pub struct Request {
    /// Only this workspace, even if it ended a moment ago.
    pub workspace: Option<WorkspaceId>,
    /// Only workspaces that ended at least so long ago.
    pub older_than: Span,
    /// At most so many workspaces.
    pub limit: u64,
    /// Only report what would be done.
    pub dry_run: bool,
}

/// Result of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The archives that were written.
    pub archives: Vec<Number>,
    /// Archives of an earlier attempt whose lines were replaced by stubs now.
    pub finished: Vec<Number>,
    /// Number of workspaces examined.
    pub workspaces: u64,
    /// Number of entries moved.
    pub archived: u64,
    /// Number of entries of the same workspaces that stayed.
    pub preserved: u64,
    /// Size of the moved entries, in bytes.
    pub bytes: u64,
    /// Size in the archives, in bytes.
    pub file_bytes: u64,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// Whether enough workspaces ended long enough ago for a background compaction.
pub(crate) fn is_worthwhile(state: &State, after: Span, now: Timestamp) -> bool {
    let due = |since: Timestamp, wait: Span| since.after(after).after(wait) <= now;
    let mut warm = state.warm();
    let wait = after.min(WAIT_MAX);
    warm.next().is_some_and(|(oldest, _)| due(oldest, wait))
        || state.warm().nth(WORTHWHILE - 1).is_some_and(|(since, _)| due(since, Span::default()))
}

/// Moves entries to archives. `progress` gets the number of entries examined, and the total.
pub fn run(
    engine: &Engine,
    request: &Request,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome, EngineError> {
    let mut outcome = Outcome { dry_run: request.dry_run, ..Outcome::default() };
    if request.dry_run {
        dry_run(engine, request, &mut outcome, progress)?;
        return Ok(outcome);
    }
    let home = engine.home();
    let _lock = ArchiveLock::take(home, engine.options().patience)?;
    outcome.finished = finish_open_archives(engine)?;
    let world = engine.world()?;
    archive_files::remove_leftovers(home, &world.state, &engine.reader()?.archive_records()?)?;
    while outcome.workspaces < request.limit {
        let before = outcome.workspaces;
        let most = (request.limit - before).min(WORKSPACES_MAX);
        if let Some(chosen) = choose(engine, request, most)? {
            compact(engine, chosen, &mut outcome, progress)?;
        }
        if outcome.workspaces == before || request.workspace.is_some() {
            break;
        }
    }
    Ok(outcome)
}

/// Counts for a workspace during the walk.
#[derive(Clone, Copy, Default)]
struct Tally {
    archived: u64,
    preserved: u64,
    range: Option<Range>,
}

impl Tally {
    fn archive(&mut self, seq: u64) {
        self.archived += 1;
        let from = self.range.map_or(seq, |range| range.from);
        self.range = Some(Range { from, to: seq });
    }
}

type Tallies = BTreeMap<String, Tally>;

/// The workspaces of one archive, and when the oldest of them was created.
struct Chosen {
    tallies: Tallies,
    since: Timestamp,
}

/// Selects workspaces. Refuses, on record, one that was asked for and has not ended.
fn choose(engine: &Engine, request: &Request, most: u64) -> Result<Option<Chosen>, EngineError> {
    let world = engine.world()?;
    let state = &world.state;
    let now = engine.moment(state);
    let ids: Vec<&WorkspaceId> = match &request.workspace {
        Some(id) if state.warm().any(|(_, own)| own == id) => vec![id],
        Some(id) if request.dry_run => {
            let message = format!("workspace {id} has not ended, or was already compacted");
            return Err(EngineError::NotFound(message));
        }
        Some(id) => {
            let nothing = Moved { archived: 0, preserved: 0, range: None, workspace: id.clone() };
            let asked = Compact { archive: None, hash: None, workspaces: vec![nothing] };
            engine.execute_own(Command::TrailCompact(asked))?;
            return Ok(None);
        }
        None => {
            let due = |since: &Timestamp| since.after(request.older_than) <= now;
            let warm = state.warm().take_while(|(since, _)| due(since));
            warm.map(|(_, id)| id).take(usize::try_from(most).unwrap_or(usize::MAX)).collect()
        }
    };
    let created = |id: &&WorkspaceId| state.workspace(id).map(|known| known.charter.created_at);
    let Some(since) = ids.iter().filter_map(created).min() else { return Ok(None) };
    let tallies = ids.iter().map(|id| (id.as_str().to_owned(), Tally::default())).collect();
    Ok(Some(Chosen { tallies, since }))
}

/// The workspace whose local trail a line is in. It is the last field of a line, and no other line
/// ends like that.
pub(crate) fn workspace_of(line: &str) -> Option<&str> {
    const NAME: &str = ",\"workspace\":\"";
    let rest = line.strip_suffix("\"}")?;
    // No id is longer than 64 bytes.
    let mut from = rest.len().saturating_sub(NAME.len() + 64);
    while !rest.is_char_boundary(from) {
        from += 1;
    }
    rest.get(from..)?.rsplit_once(NAME).map(|(_, id)| id)
}

/// A position in the log before everything since a time, found without reading much.
fn place_before(log: &mut dyn LogReader, since: Timestamp) -> Result<u64, EngineError> {
    let (mut low, mut high) = (0, log.position()?);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let commits = log.raw_tail(middle, 1)?;
        let first = commits.first().and_then(|commit| commit.slots().next());
        if first.and_then(time_of).is_some_and(|at| at < since) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The time of the entry in a line.
pub(crate) fn time_of(line: &str) -> Option<Timestamp> {
    if Stub::is_in(line) {
        return Stub::read(line).ok().map(|stub| stub.at);
    }
    Entry::read(line).ok().map(|entry| entry.stamped.at)
}

/// Receives a line that may be archived.
type Sink<'s> = &'s mut dyn FnMut(u64, &str, &Stub) -> Result<(), EngineError>;

/// Examines all entries since the oldest selected workspace was created.
fn walk(
    log: &mut dyn LogReader,
    chosen: &mut Chosen,
    number: Number,
    sink: Sink<'_>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    let end = log.position()?;
    let start = place_before(log, chosen.since)?;
    let mut after = start;
    while after < end {
        let commits = log.raw_tail(after, READ_BYTES)?;
        let Some(last) = commits.last() else { break };
        after = last.last;
        for commit in &commits {
            for (seq, line) in (commit.first..).zip(commit.slots()) {
                let Some(tally) = workspace_of(line).and_then(|id| chosen.tallies.get_mut(id))
                else {
                    continue;
                };
                match stub_of(seq, line, number)? {
                    Some(stub) => {
                        sink(seq, line, &stub)?;
                        tally.archive(seq);
                    }
                    None => tally.preserved += 1,
                }
            }
        }
        progress(after.min(end) - start, end - start);
    }
    Ok(())
}

/// The stub for a line, if it may be archived.
fn stub_of(seq: u64, line: &str, number: Number) -> Result<Option<Stub>, EngineError> {
    let damaged = |what: String| EngineError::Damaged { seq, what };
    if !kind_of(line).is_some_and(may_be_archivable) {
        return Ok(None);
    }
    let entry = Entry::read(line).map_err(|error| damaged(error.to_string()))?;
    if !is_archivable(&entry.stamped.draft.event) {
        return Ok(None);
    }
    // A damaged entry stays in the store, where it can be compared with a backup.
    if entry.seq != seq || !entry.is_own_hash(line) {
        return Err(damaged("its hash does not fit its content".to_owned()));
    }
    Ok(Stub::of(number, &entry))
}

/// The kind of the entry in a line. Text inside a line cannot look like this field, because its
/// quotes are escaped, and no later field has the same name.
fn kind_of(line: &str) -> Option<Kind> {
    const NAME: &[u8] = b",\"kind\":\"";
    let at = memchr::memmem::rfind(line.as_bytes(), NAME)? + NAME.len();
    line.get(at..)?.split('"').next()?.parse().ok()
}

/// Counts what a compaction would move, without changing anything.
fn dry_run(
    engine: &Engine,
    request: &Request,
    outcome: &mut Outcome,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    let Some(mut chosen) = choose(engine, request, request.limit)? else { return Ok(()) };
    let mut bytes = 0;
    let sink: Sink<'_> = &mut |_, line, _| {
        bytes += line.len() as u64 + 1;
        Ok(())
    };
    walk(&mut *engine.reader()?, &mut chosen, Number(0), sink, progress)?;
    outcome.bytes = bytes;
    count(outcome, &chosen.tallies);
    Ok(())
}

fn count(outcome: &mut Outcome, tallies: &Tallies) {
    outcome.workspaces += tallies.len() as u64;
    outcome.archived += tallies.values().map(|tally| tally.archived).sum::<u64>();
    outcome.preserved += tallies.values().map(|tally| tally.preserved).sum::<u64>();
}

/// Writes one archive, records it, and replaces its lines in the store by stubs.
fn compact(
    engine: &Engine,
    mut chosen: Chosen,
    outcome: &mut Outcome,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    let world = engine.world()?;
    let Some(project) = world.state.project() else { return Ok(()) };
    let (number, archives) = (world.state.next_archive(), engine.home().archives());
    let mut writer = ArchiveWriter::begin(&archives, number, project.id.clone())?;
    let sink: Sink<'_> = &mut |seq, line, stub| Ok(writer.add(seq, line, stub)?);
    walk(&mut *engine.reader()?, &mut chosen, number, sink, progress)?;
    let moved = chosen.tallies.iter().map(|(id, tally)| {
        let workspace =
            WorkspaceId::new(id).map_err(|error| EngineError::Defect(error.to_string()))?;
        let Tally { archived, preserved, range } = *tally;
        Ok(Moved { archived, preserved, range, workspace })
    });
    let moved = moved.collect::<Result<Vec<Moved>, EngineError>>()?;
    if writer.count() == 0 {
        record_archived(engine, None, &moved)?;
    } else {
        let written = writer.finish(moved.clone())?;
        let archive_record = ArchiveRecord { number, hash: written.hash, stage: Stage::Moving };
        record_archived(engine, Some((number, &archive_record.hash)), &moved)?;
        // So that opening the project does not need the archive from now on.
        snapshot::save(engine.home(), &*engine.world()?)?;
        replace_by_stubs(engine, &archives, &archive_record)?;
        outcome.archives.push(number);
        outcome.bytes += written.manifest.bytes();
        outcome.file_bytes += written.manifest.file_bytes();
    }
    count(outcome, &chosen.tallies);
    Ok(())
}

/// Records the archived workspaces, a few at a time.
fn record_archived(
    engine: &Engine,
    archive: Option<(Number, &Blob)>,
    moved: &[Moved],
) -> Result<(), EngineError> {
    for some in moved.chunks(RECORDED_AT_ONCE) {
        engine.execute_own(Command::TrailCompact(Compact {
            archive: archive.map(|(number, _)| number),
            hash: archive.map(|(_, hash)| hash.clone()),
            workspaces: some.to_vec(),
        }))?;
    }
    Ok(())
}

/// Finishes archives that were recorded before a compaction was stopped.
fn finish_open_archives(engine: &Engine) -> Result<Vec<Number>, EngineError> {
    let world = engine.world()?;
    let archives = engine.home().archives();
    let archive_records = engine.reader()?.archive_records()?;
    let mut finished = Vec::new();
    for (number, archive) in world.state.archives() {
        let known = archive_records.iter().find(|archive_record| archive_record.number == number);
        let is_open = known.is_none_or(|archive_record| archive_record.stage == Stage::Moving);
        if !is_open || archive.pruned.is_some() {
            continue;
        }
        let archive_record =
            ArchiveRecord { number, hash: archive.hash.clone(), stage: Stage::Moving };
        let checked = match check_files(&archives, &archive_record) {
            // An imported trail has all its entries, and no archives.
            Err(error) if error.kind == LogErrorKind::ArchiveMissing && known.is_none() => continue,
            other => other?,
        };
        let untold = |moved: &Moved| !world.state.is_compacted(&moved.workspace);
        let rest: Vec<Moved> = checked.manifest.workspaces.into_iter().filter(untold).collect();
        record_archived(engine, Some((number, &archive_record.hash)), &rest)?;
        replace_by_stubs(engine, &archives, &archive_record)?;
        finished.push(number);
    }
    Ok(finished)
}

/// Recorded archives whose lines are still in the store, though they could be replaced.
pub fn unfinished(engine: &Engine) -> Result<Vec<Number>, EngineError> {
    let (world, archives) = (engine.world()?, engine.home().archives());
    let archive_records = engine.reader()?.archive_records()?;
    let on_record = world.state.archives().filter(|(_, known)| known.pruned.is_none());
    let open = on_record.filter(|(number, known)| {
        match archive_records.iter().find(|archive_record| archive_record.number == *number) {
            Some(archive_record) => archive_record.stage == Stage::Moving,
            None => archives.data(*number, &known.hash).exists(),
        }
    });
    Ok(open.map(|(number, _)| number).collect())
}

/// Size of the next turn, and the pause before it.
struct Pace {
    end: u64,
    others: Option<Instant>,
}

impl Pace {
    fn bytes(&self) -> usize {
        if self.is_alone() { SWAP_BYTES } else { SWAP_BYTES_SHARED }
    }

    fn is_alone(&self) -> bool {
        self.others.is_none_or(|seen| seen.elapsed() > OTHERS_STAY)
    }

    /// Notices other writers, and yields to them for a while.
    fn observe(&mut self, end: u64, took: Duration) {
        if end != self.end {
            self.others = Some(Instant::now());
            self.end = end;
        }
        if !self.is_alone() {
            let long = took > SHORT;
            std::thread::sleep(if long { (took * PAUSE_FACTOR).min(PAUSE_MAX) } else { PAUSE });
        }
    }
}

/// Replaces the lines of an archive in the store by stubs.
fn replace_by_stubs(
    engine: &Engine,
    archives: &Archives,
    archive_record: &ArchiveRecord,
) -> Result<(), EngineError> {
    let mut swapper = Swapper::open(engine.home().store())?;
    swapper.note(archive_record)?;
    let mut lines = Lines::open(archives, archive_record.number, &archive_record.hash)?;
    let Range { from, to } = lines.manifest().range;
    let mut pace = Pace { end: swapper.position()?, others: None };
    let mut after = from - 1;
    while after < to {
        let commits = swapper.raw_tail(after, pace.bytes())?;
        let Some(last) = commits.last() else { break };
        after = last.last;
        let mut swaps = Vec::with_capacity(commits.len());
        for commit in commits {
            swaps.extend(swap_of(commit, &mut lines, archive_record.number)?);
        }
        if !swaps.is_empty() {
            let begun = Instant::now();
            swapper.swap(&swaps, pace.is_alone())?;
            pace.observe(swapper.position()?, begun.elapsed());
        }
    }
    if let Some((seq, _)) = lines.peek()? {
        return Err(not_the_same(seq, archive_record.number));
    }
    Ok(swapper.note(&ArchiveRecord { stage: Stage::Moved, ..archive_record.clone() })?)
}

fn not_the_same(seq: u64, number: Number) -> EngineError {
    let what = format!("it is not what archive {number} has of it");
    EngineError::Damaged { seq, what }
}

/// A commit with stubs for archived entries, if there is anything to replace.
fn swap_of(commit: Commit, lines: &mut Lines, number: Number) -> Result<Option<Swap>, EngineError> {
    let mut after = String::with_capacity(commit.lines.len() / 2);
    let mut changed = false;
    for (seq, line) in (commit.first..).zip(commit.slots()) {
        if !after.is_empty() {
            after.push('\n');
        }
        let archived = lines.peek()?.filter(|(next, _)| *next == seq).map(|(_, text)| text);
        let Some(archived) = archived else {
            after.push_str(line);
            continue;
        };
        if Stub::is_in(line) {
            // An interrupted compaction has already replaced this line.
            let own = Stub::read(line).is_ok_and(|stub| stub.archive == number);
            if !own {
                return Err(not_the_same(seq, number));
            }
            after.push_str(line);
        } else if line == archived {
            // The line was checked when it was archived, and is unchanged.
            let stub = Stub::of_line(number, line).ok().flatten();
            let stub = stub.ok_or_else(|| not_the_same(seq, number))?;
            after.push_str(&stub.to_string());
            changed = true;
        } else {
            return Err(not_the_same(seq, number));
        }
        lines.pass();
    }
    let Commit { last, lines: before, .. } = commit;
    Ok(changed.then_some(Swap { last, before, after }))
}

impl Engine {
    /// Archives workspaces that ended long ago, on a background thread, if that is worthwhile and
    /// the options ask for it. The thread opens an engine of its own.
    pub(crate) fn compact_in_background(&self) {
        let Some(after) = self.options().compact_after else { return };
        let view = self.published();
        if !is_worthwhile(&view.state, after, self.moment(&view.state)) {
            return;
        }
        let home = self.home().clone();
        let options = Options { compact_after: None, projection: None, ..self.options().clone() };
        self.background().begin("althing-archive", BACKGROUND_PAUSE, move || {
            let request = Request {
                workspace: None,
                older_than: after,
                limit: BACKGROUND_WORKSPACES_MAX,
                dry_run: false,
            };
            // Nobody asked for it now, and nothing is lost: it is tried again. `althing trail
            // compact` shows the error, and `doctor` lists unfinished archives.
            let done = Engine::open(&home, options)
                .and_then(|engine| run(&engine, &request, &mut |_, _| {}));
            if let Err(error) = done {
                tracing::warn!(%error, "ended workspaces were not moved into an archive");
            }
        });
    }
}
