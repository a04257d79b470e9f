//! Compaction: moving what may go to an archive there, while others go on writing.
//!
//! The order is what makes it safe. An archive is written, read back, compared and synced under its
//! name; then it is on record; only then does the store let go of the lines, a few at a time, each
//! compared with the archive once more. Whoever is killed in between leaves every entry in one
//! place or the other, or in both, and the next compaction goes on where it stopped: what is on
//! record and not let go of yet is finished first.

use althing_kernel::archive::{Compact, Moved, Number, Range, is_archivable, may_be_archivable};
use althing_kernel::{Blob, Command, Kind, Span, State, Timestamp, WorkspaceId};
use althing_trail::archive::{ArchiveWriter, Archives, Lines, Shelf, Stage, Stub, check_files};
use althing_trail::log::LogErrorKind;
use althing_trail::log::sqlite::{Swap, Swapper};
use althing_trail::{Commit, Entry, LogReader};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::archives::{self, Turn};
use crate::engine::{Engine, Options};
use crate::error::EngineError;
use crate::home::Home;
use crate::shared::lock;
use crate::snapshot;
use crate::world::READ_BYTES;

/// The most workspaces whose entries go into one archive.
const WORKSPACES_MAX: u64 = 4_096;
/// How many workspaces one command tells of, so that nobody waits long behind it.
const TOLD_AT_ONCE: usize = 64;
/// How many bytes of lines are swapped in one turn while nobody else writes.
const SWAP_BYTES: usize = 1 << 20;
/// The same while others do: little enough that they hardly notice.
const SWAP_BYTES_SHARED: usize = 16 << 10;
/// How long others are left alone after a turn that was short, and the most after a long one. A
/// commit is swapped as a whole, so a large one takes its time; then the next has to wait longer,
/// so that hardly any command meets one.
const PAUSE: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// What a short turn takes: about as long as a command.
const SHORT: Duration = Duration::from_micros(250);
/// How many times as long as a turn that was not short the pause after it is.
const PAUSE_FACTOR: u32 = 100;
/// How long it is taken for granted that others who wrote will write again.
const OTHERS_STAY: Duration = Duration::from_millis(100);
/// So many workspaces are worth an archive.
const WORTHWHILE: usize = 100;
/// Fewer have to wait for others, but not longer than that.
const WAIT_MAX: Span = Span::from_secs(24 * 60 * 60);
/// How many workspaces are seen to in passing.
const IN_PASSING: u64 = 256;
/// How long to wait after an attempt in passing that failed.
const AGAIN_AFTER: Duration = Duration::from_mins(1);

/// What to compact.
#[derive(Clone, Debug)]
pub struct Request {
    /// Only this workspace; it need not have ended any time ago.
    pub workspace: Option<WorkspaceId>,
    /// Only workspaces that ended at least so long ago.
    pub older_than: Span,
    /// At most so many workspaces.
    pub limit: u64,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The archives that were written.
    pub archives: Vec<Number>,
    /// Archives of an earlier attempt whose entries the store let go of now.
    pub finished: Vec<Number>,
    /// Workspaces that were looked through.
    pub workspaces: u64,
    /// Entries that were moved.
    pub archived: u64,
    /// Entries of the same workspaces that stayed.
    pub preserved: u64,
    /// Bytes the moved entries took.
    pub bytes: u64,
    /// Bytes they take in the archives.
    pub file_bytes: u64,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// Whether enough has ended long enough ago to be seen to in passing.
pub(crate) fn is_worthwhile(state: &State, after: Span, now: Timestamp) -> bool {
    let due = |since: Timestamp, wait: Span| since.after(after).after(wait) <= now;
    let mut warm = state.warm();
    let wait = after.min(WAIT_MAX);
    warm.next().is_some_and(|(oldest, _)| due(oldest, wait))
        || state.warm().nth(WORTHWHILE - 1).is_some_and(|(since, _)| due(since, Span::default()))
}

/// Moves what may go to archives there. `progress` hears how many entries were looked through, out
/// of how many.
pub fn run(
    engine: &Engine,
    request: &Request,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome, EngineError> {
    let mut outcome = Outcome { dry_run: request.dry_run, ..Outcome::default() };
    if request.dry_run {
        look(engine, request, &mut outcome, progress)?;
        return Ok(outcome);
    }
    let home = engine.home();
    let _turn = Turn::take(home, engine.options().patience)?;
    outcome.finished = finish_what_is_open(engine)?;
    let world = engine.world()?;
    archives::tidy(home, &world.state, &engine.reader()?.shelves()?)?;
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

/// What is known of a workspace while its entries are looked through.
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

/// Picks workspaces. One that was asked for and goes on is refused, on record.
fn choose(engine: &Engine, request: &Request, most: u64) -> Result<Option<Chosen>, EngineError> {
    let world = engine.world()?;
    let state = &world.state;
    let now = engine.moment(state);
    let ids: Vec<&WorkspaceId> = match &request.workspace {
        Some(id) if state.warm().any(|(_, own)| own == id) => vec![id],
        Some(id) if request.dry_run => {
            let message = format!("workspace {id} goes on, or was compacted already");
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

/// The workspace whose local trail a line is in. It is the last field of a line, and no other
/// line ends like that.
pub(crate) fn workspace_of(line: &str) -> Option<&str> {
    const NAME: &str = ",\"workspace\":\"";
    let rest = line.strip_suffix("\"}")?;
    // No id is longer than that.
    let mut from = rest.len().saturating_sub(NAME.len() + 64);
    while !rest.is_char_boundary(from) {
        from += 1;
    }
    rest.get(from..)?.rsplit_once(NAME).map(|(_, id)| id)
}

/// A place in the log before everything that happened since a time, found without reading much.
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

/// When what a line tells of happened.
pub(crate) fn time_of(line: &str) -> Option<Timestamp> {
    if Stub::is_in(line) {
        return Stub::read(line).ok().map(|stub| stub.at);
    }
    Entry::read(line).ok().map(|entry| entry.stamped.at)
}

/// What to do with a line that may go to an archive.
type Sink<'s> = &'s mut dyn FnMut(u64, &str, &Stub) -> Result<(), EngineError>;

/// Looks through everything since the oldest of the chosen was created.
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

/// What would stand for a line in the store, if it may go to an archive.
fn stub_of(seq: u64, line: &str, number: Number) -> Result<Option<Stub>, EngineError> {
    let damaged = |what: String| EngineError::Damaged { seq, what };
    if !kind_of(line).is_some_and(may_be_archivable) {
        return Ok(None);
    }
    let entry = Entry::read(line).map_err(|error| damaged(error.to_string()))?;
    if !is_archivable(&entry.stamped.draft.event) {
        return Ok(None);
    }
    // What is damaged stays where it can be compared with a backup.
    if entry.seq != seq || !entry.is_own_hash(line) {
        return Err(damaged("its hash does not fit its content".to_owned()));
    }
    Ok(Stub::of(number, &entry))
}

/// The kind of the entry in a line. No text in a line can look like the field, because the quotes
/// in it are escaped, and nothing after the field is called like it.
fn kind_of(line: &str) -> Option<Kind> {
    const NAME: &[u8] = b",\"kind\":\"";
    let at = memchr::memmem::rfind(line.as_bytes(), NAME)? + NAME.len();
    line.get(at..)?.split('"').next()?.parse().ok()
}

fn look(
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

/// Writes one archive, has it recorded, and has the store let go of what is in it.
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
        tell(engine, None, &moved)?;
    } else {
        let written = writer.finish(moved.clone())?;
        let shelf = Shelf { number, hash: written.hash, stage: Stage::Moving };
        tell(engine, Some((number, &shelf.hash)), &moved)?;
        // Opening the project shall not need the archive from now on.
        snapshot::save(engine.home(), &*engine.world()?)?;
        let_go(engine, &archives, &shelf)?;
        outcome.archives.push(number);
        outcome.bytes += written.manifest.bytes();
        outcome.file_bytes += written.manifest.file_bytes();
    }
    count(outcome, &chosen.tallies);
    Ok(())
}

/// Puts on record what was archived, a few workspaces at a time.
fn tell(
    engine: &Engine,
    archive: Option<(Number, &Blob)>,
    moved: &[Moved],
) -> Result<(), EngineError> {
    for some in moved.chunks(TOLD_AT_ONCE) {
        engine.execute_own(Command::TrailCompact(Compact {
            archive: archive.map(|(number, _)| number),
            hash: archive.map(|(_, hash)| hash.clone()),
            workspaces: some.to_vec(),
        }))?;
    }
    Ok(())
}

/// Goes on where a compaction was stopped after its archive was on record.
fn finish_what_is_open(engine: &Engine) -> Result<Vec<Number>, EngineError> {
    let world = engine.world()?;
    let archives = engine.home().archives();
    let shelves = engine.reader()?.shelves()?;
    let mut finished = Vec::new();
    for (number, archive) in world.state.archives() {
        let known = shelves.iter().find(|shelf| shelf.number == number);
        let is_open = known.is_none_or(|shelf| shelf.stage == Stage::Moving);
        if !is_open || archive.pruned.is_some() {
            continue;
        }
        let shelf = Shelf { number, hash: archive.hash.clone(), stage: Stage::Moving };
        let checked = match check_files(&archives, &shelf) {
            // A trail that was imported has all its entries, and no archives.
            Err(error) if error.kind == LogErrorKind::ArchiveMissing && known.is_none() => continue,
            other => other?,
        };
        let untold = |moved: &Moved| !world.state.is_compacted(&moved.workspace);
        let rest: Vec<Moved> = checked.manifest.workspaces.into_iter().filter(untold).collect();
        tell(engine, Some((number, &shelf.hash)), &rest)?;
        let_go(engine, &archives, &shelf)?;
        finished.push(number);
    }
    Ok(finished)
}

/// Archives on record that the store has not let go of yet, though it could.
pub fn unfinished(engine: &Engine) -> Result<Vec<Number>, EngineError> {
    let (world, archives) = (engine.world()?, engine.home().archives());
    let shelves = engine.reader()?.shelves()?;
    let on_record = world.state.archives().filter(|(_, known)| known.pruned.is_none());
    let open = on_record.filter(|(number, known)| {
        match shelves.iter().find(|shelf| shelf.number == *number) {
            Some(shelf) => shelf.stage == Stage::Moving,
            None => archives.data(*number, &known.hash).exists(),
        }
    });
    Ok(open.map(|(number, _)| number).collect())
}

/// How large the next turn may be, and how long to wait before it.
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

    /// Looks whether somebody else wrote meanwhile, and leaves them the field for a while.
    fn look(&mut self, end: u64, took: Duration) {
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

/// Has the store let go of what is in an archive.
fn let_go(engine: &Engine, archives: &Archives, shelf: &Shelf) -> Result<(), EngineError> {
    let mut swapper = Swapper::open(engine.home().store())?;
    swapper.note(shelf)?;
    let mut lines = Lines::open(archives, shelf.number, &shelf.hash)?;
    let Range { from, to } = lines.manifest().range;
    let mut pace = Pace { end: swapper.position()?, others: None };
    let mut after = from - 1;
    while after < to {
        let commits = swapper.raw_tail(after, pace.bytes())?;
        let Some(last) = commits.last() else { break };
        after = last.last;
        let mut swaps = Vec::with_capacity(commits.len());
        for commit in commits {
            swaps.extend(swap_of(commit, &mut lines, shelf.number)?);
        }
        if !swaps.is_empty() {
            let begun = Instant::now();
            swapper.swap(&swaps, pace.is_alone())?;
            pace.look(swapper.position()?, begun.elapsed());
        }
    }
    if let Some((seq, _)) = lines.peek()? {
        return Err(not_the_same(seq, shelf.number));
    }
    Ok(swapper.note(&Shelf { stage: Stage::Moved, ..shelf.clone() })?)
}

fn not_the_same(seq: u64, number: Number) -> EngineError {
    let what = format!("it is not what archive {number} has of it");
    EngineError::Damaged { seq, what }
}

/// A commit with stubs in the place of what is in the archive, if there is anything to swap.
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
            // Somebody who was stopped had come as far as this.
            let own = Stub::read(line).is_ok_and(|stub| stub.archive == number);
            if !own {
                return Err(not_the_same(seq, number));
            }
            after.push_str(line);
        } else if line == archived {
            // It was looked at when it was archived, and is the same.
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

/// Compaction in passing: a thread of a process that wrote something. It has an engine of its own,
/// and whoever closes the project waits for it, since it is soon over.
#[derive(Default)]
pub(crate) struct Upkeep(Mutex<Under>);

#[derive(Default)]
struct Under {
    way: Option<JoinHandle<()>>,
    begun: Option<Instant>,
}

impl Upkeep {
    /// Begins, unless it is under way or was not long ago.
    pub(crate) fn begin(&self, home: &Home, options: &Options, after: Span) {
        let mut under = lock(&self.0);
        if under.begun.is_some_and(|begun| begun.elapsed() < AGAIN_AFTER) {
            return;
        }
        under.begun = Some(Instant::now());
        let home = home.clone();
        let options = Options { compact_after: None, follower: None, ..options.clone() };
        let thread = std::thread::Builder::new().name("althing-archive".to_owned());
        let spawned = thread.spawn(move || {
            let request =
                Request { workspace: None, older_than: after, limit: IN_PASSING, dry_run: false };
            // Nobody asked for it now, and nothing is lost: it is tried again. What keeps it from
            // working is what `althing trail compact` says, and `doctor` tells of what is open.
            let done = Engine::open(&home, options)
                .and_then(|engine| run(&engine, &request, &mut |_, _| {}));
            if let Err(error) = done {
                tracing::warn!(%error, "ended workspaces were not moved into an archive");
            }
        });
        under.way =
            spawned.inspect_err(|error| tracing::warn!(%error, "no thread for archiving")).ok();
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        let way = lock(&self.0).way.take();
        if let Some(way) = way {
            // A thread that panicked has left everything as a killed process would.
            if way.join().is_err() {
                tracing::error!("the thread that archives panicked");
            }
        }
    }
}
