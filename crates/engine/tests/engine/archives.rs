//! Archives under a running engine: moved entries stay part of the trail, whatever happens.

use crate::support::{Project, agent, claim};
use althing_engine::compact::{self, Request};
use althing_engine::trail_query::TrailQuery;
use althing_engine::{Client, Engine, EngineError, World, backup, prune, verify};
use althing_kernel::archive::{Number, is_archivable};
use althing_kernel::{Command, Kind, Reply, Rule, Span, WorkspaceId};
use althing_trail::archive::Stage;
use althing_trail::log::sqlite::SqliteReader;
use althing_trail::proof::Inclusion;
use althing_trail::stub::Stub;
use althing_trail::verify::Options;
use althing_trail::{Entry, LogReader as _};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn ok(client: &Client, name: &str, args: &Value) -> Reply {
    let command = Command::read(name, &args.to_string()).unwrap().unwrap();
    client.execute(command).unwrap_or_else(|error| panic!("{name} {args}: {error}"))
}

/// A run in which `w1` and `w2` were paused and resumed so many times and then aborted, while `w3`
/// goes on. Returns their workspaces.
fn ended(engine: &Engine, times: usize) -> Vec<WorkspaceId> {
    let lead = agent(engine, "lead");
    ok(&lead, "run.start", &json!({}));
    let names = ["w1", "w2", "w3"];
    let clients: Vec<Client> = names.iter().map(|name| agent(engine, name)).collect();
    let mut workspaces = Vec::new();
    for (client, name) in clients.iter().zip(names) {
        ok(client, "agent.register", &json!({}));
        let args = json!({ "agent": name, "role": "worker",
            "directive": { "content": { "text": "Work." } } });
        let Reply::Workspace(made) = ok(&lead, "workspace.create", &args) else { panic!() };
        workspaces.push(made.workspace.clone());
        ok(client, "signal.emit", &json!({ "type": "ready" }));
    }
    for _ in 0..times {
        for kind in ["blocked", "started"] {
            for client in &clients {
                ok(client, "signal.emit", &json!({ "type": kind, "reason": "because" }));
            }
        }
    }
    for id in &workspaces[..2] {
        ok(&lead, "workspace.abort", &json!({ "workspace": id }));
    }
    workspaces
}

fn all() -> Request {
    Request { workspace: None, older_than: Span::default(), limit: u64::MAX, dry_run: false }
}

fn compact(engine: &Engine) -> compact::Outcome {
    compact::run(engine, &all(), &mut |_, _| {}).unwrap()
}

fn lines(project: &Project) -> Vec<String> {
    let mut reader = SqliteReader::open(project.home.store()).unwrap();
    let commits = reader.tail(0, usize::MAX).unwrap();
    commits.iter().flat_map(|commit| commit.slots().map(str::to_owned)).collect()
}

/// The rows of the store, commit by commit.
fn rows(project: &Project) -> Vec<(u64, String)> {
    let mut reader = SqliteReader::open(project.home.store()).unwrap();
    let commits = reader.raw_tail(0, usize::MAX).unwrap();
    commits.into_iter().map(|commit| (commit.last, commit.lines)).collect()
}

fn verified(project: &Project) -> Result<verify::Report, EngineError> {
    let mut reader = SqliteReader::open(project.home.store())?;
    let options = Options { every_signature: true, ..Options::default() };
    verify::verify(&project.home, &mut reader, options, &mut |_, _| {})?.sound()
}

fn forget_snapshots(project: &Project) {
    std::fs::remove_dir_all(project.home.snapshots()).unwrap();
    std::fs::create_dir(project.home.snapshots()).unwrap();
}

fn files(project: &Project, ending: &str) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(project.home.archives().folder()).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    found.sort();
    found
}

/// Shows W-TRAIL-40, W-TRAIL-43, W-TRAIL-44.
#[test]
fn archived_entries_are_read_searched_proved_and_replayed_as_before() {
    let project = Project::new();
    let engine = project.open();
    let workspaces = ended(&engine, 60);
    let before = lines(&project);
    assert!(before.len() > 500, "{}", before.len());
    let state = engine.world().unwrap().state.image();
    let outcome = compact(&engine);
    assert_eq!((outcome.workspaces, outcome.archives.len()), (2, 1));
    assert!(outcome.archived > 200 && outcome.file_bytes < outcome.bytes, "{outcome:?}");
    assert_eq!(compact(&engine), compact::Outcome::default(), "there is nothing left to do");

    let after = lines(&project);
    assert_eq!(after[..before.len()], before, "byte for byte");
    let added: Vec<Entry> = after[before.len()..].iter().map(|l| Entry::read(l).unwrap()).collect();
    assert!(added.iter().all(|entry| entry.stamped.draft.event.kind() == Kind::TrailCompacted));
    assert_eq!(added.len(), 2, "one for each workspace");

    // The store has stubs for these entries, and for no others.
    let stored: Vec<String> = rows(&project)
        .iter()
        .flat_map(|(_, row)| row.split('\n').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let mut moved = 0;
    for (stored, line) in stored.iter().zip(&after) {
        let entry = Entry::read(line).unwrap();
        let of = entry.stamped.draft.workspace.as_ref();
        let warm = of.is_some_and(|id| workspaces[..2].contains(id));
        let leaves = warm && is_archivable(&entry.stamped.draft.event);
        assert_eq!(Stub::is_in(stored), leaves, "{line}");
        moved += u64::from(leaves);
    }
    assert_eq!(moved, outcome.archived);

    let report = verified(&project).unwrap();
    assert_eq!((report.archives, report.trail.entries), (1, after.len() as u64));
    let mut reader = engine.reader().unwrap();
    for seq in (1..=after.len() as u64).step_by(37) {
        let proof = Inclusion::make(&mut *reader, seq).unwrap();
        assert_eq!(proof.entry.get(), after[usize::try_from(seq - 1).unwrap()]);
    }
    let query = TrailQuery {
        workspace: Some(workspaces[0].clone()),
        limit: Some(10_000),
        ..TrailQuery::default()
    };
    let found = query.find(&mut *engine.reader().unwrap()).unwrap();
    let id = format!("\"workspace\":\"{}\"}}", workspaces[0]);
    let expected: Vec<&String> = after.iter().filter(|line| line.ends_with(&id)).collect();
    assert!(found.iter().map(|found| &found.line).eq(expected));
    // Replay from the first entry on, with nothing but the store and its archives.
    let mut world = World::default();
    world.catch_up(&mut *engine.reader().unwrap()).unwrap();
    assert_eq!(world.state.image(), engine.world().unwrap().state.image());
    let mut then = World::default();
    for commit in reader.tail(0, usize::MAX).unwrap() {
        if commit.last <= before.len() as u64 {
            then.replay(&commit).unwrap();
        }
    }
    assert_eq!(then.state.image(), state);
}

/// Restores the original bytes on drop.
struct Flipped<'p> {
    path: &'p Path,
    good: Vec<u8>,
}

impl<'p> Flipped<'p> {
    fn new(path: &'p Path, at: usize, bit: u8) -> Self {
        let good = std::fs::read(path).unwrap();
        let mut bad = good.clone();
        bad[at] ^= 1 << bit;
        std::fs::write(path, bad).unwrap();
        Flipped { path, good }
    }
}

impl Drop for Flipped<'_> {
    fn drop(&mut self) {
        std::fs::write(self.path, &self.good).unwrap();
    }
}

fn is_noticed(project: &Project) -> bool {
    match verified(project) {
        Ok(_) => false,
        Err(error) => {
            assert!(matches!(error.rule(), Rule::Integrity | Rule::ArchiveThere), "{error}");
            true
        }
    }
}

/// Shows W-TRAIL-24.
#[test]
fn every_changed_byte_of_archives_manifests_stubs_and_tiles_is_noticed() {
    let project = Project::new();
    let engine = project.open();
    ended(&engine, 22);
    compact(&engine);
    drop(engine);
    assert!(!is_noticed(&project));
    for path in files(&project, ".zst").iter().chain(&files(&project, ".json")) {
        let size = std::fs::metadata(path).unwrap().len();
        let size = usize::try_from(size).unwrap();
        for at in (0..size).step_by(size / 60 + 1).chain([size - 1]) {
            let _flipped = Flipped::new(path, at, u8::try_from(at % 8).unwrap());
            assert!(is_noticed(&project), "{} byte {at}", path.display());
        }
    }
    let conn = Connection::open(project.home.store()).unwrap();
    let mut stubs = 0;
    for (last, row) in rows(&project).iter().filter(|(_, row)| row.contains('#')) {
        stubs += 1;
        let start = row.find('#').unwrap();
        let length = row[start..].find('\n').unwrap_or(row.len() - start);
        for at in (start + stubs % 9..start + length).step_by(23) {
            let mut bytes = row.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            let put = "UPDATE commits SET entries = ? WHERE last = ?";
            conn.execute(put, rusqlite::params![changed, last]).unwrap();
            assert!(is_noticed(&project), "commit {last}, byte {at}: {changed}");
            conn.execute(put, rusqlite::params![row, last]).unwrap();
        }
        if stubs > 12 {
            break;
        }
    }
    let leaves: Vec<u8> = conn.query_row("SELECT leaves FROM tiles", [], |row| row.get(0)).unwrap();
    for at in (0..leaves.len()).step_by(997) {
        let mut changed = leaves.clone();
        changed[at] ^= 4;
        conn.execute("UPDATE tiles SET leaves = ?", [&changed]).unwrap();
        assert!(is_noticed(&project), "tile, byte {at}");
    }
    conn.execute("UPDATE tiles SET leaves = ?", [&leaves]).unwrap();
    for change in [
        "UPDATE archives SET hash = replace(hash, 'sha256:', 'sha256:0')",
        "UPDATE archives SET stage = 2",
        "UPDATE archives SET number = 2",
        "DELETE FROM archives",
        "INSERT INTO floors VALUES (9, 'sha256:00')",
    ] {
        conn.execute_batch(&format!("BEGIN; {change}; COMMIT")).unwrap();
        assert!(is_noticed(&project), "{change}");
        conn.execute_batch("DELETE FROM floors").unwrap();
        let hash = blob_named(&files(&project, ".json")[0]);
        conn.execute("INSERT OR REPLACE INTO archives VALUES (1, ?, 1)", [&hash]).unwrap();
        conn.execute("DELETE FROM archives WHERE number <> 1", []).unwrap();
    }
    assert!(!is_noticed(&project), "and all of it is as it was");
}

fn blob_named(path: &Path) -> String {
    althing_trail::archive::blob_of(&std::fs::read(path).unwrap()).to_string()
}

/// Shows W-TRAIL-41.
#[test]
fn the_next_compaction_finishes_a_stopped_one() {
    let project = Project::new();
    let engine = project.open();
    ended(&engine, 20);
    let whole = rows(&project);
    let before = lines(&project);
    compact(&engine);
    let swapped = rows(&project);
    let conn = Connection::open(project.home.store()).unwrap();
    // Recorded, with no lines replaced, some, all, or all without the final mark.
    for done in [0, swapped.len() / 3, swapped.len()] {
        conn.execute("UPDATE archives SET stage = 0", []).unwrap();
        if done == 0 {
            conn.execute("DELETE FROM archives", []).unwrap();
        }
        for (last, row) in &whole[done.min(whole.len())..] {
            let put = "UPDATE commits SET entries = ? WHERE last = ?";
            conn.execute(put, rusqlite::params![row, last]).unwrap();
        }
        verified(&project).unwrap();
        assert_eq!(lines(&project)[..before.len()], before);
        assert_eq!(compact::unfinished(&engine).unwrap(), [Number(1)]);
        let outcome = compact(&engine);
        assert_eq!(outcome.finished, [Number(1)]);
        assert_eq!(outcome.archived, 0, "nothing is moved twice");
        assert_eq!(rows(&project), swapped);
        assert!(compact::unfinished(&engine).unwrap().is_empty());
        verified(&project).unwrap();
    }
    // Never recorded: unreferenced files are quarantined.
    let folder = project.home.archives();
    std::fs::write(folder.folder().join("unfinished-1-2"), "x").unwrap();
    std::fs::write(folder.folder().join("000002-0000000000000000.zst"), "x").unwrap();
    let world = engine.world().unwrap();
    let archive_records = engine.reader().unwrap().archive_records().unwrap();
    let left = |world: &World| {
        althing_engine::archive_files::leftovers(&project.home, &world.state, &archive_records)
            .len()
    };
    assert_eq!(left(&world), 2);
    compact(&engine);
    assert_eq!(left(&world), 0);
}

/// Shows W-TRAIL-43.
#[test]
fn writers_go_on_while_entries_are_moved() {
    let project = Project::new();
    let engine = project.open();
    ended(&engine, 150);
    // A session may hold a limited number of leases: on a slow machine one writer would reach it.
    let a_writer = |written: u32| agent(&engine, &format!("writer{}", written / 500));
    let mut writer = a_writer(0);
    let (sender, receiver) = std::sync::mpsc::channel();
    let other = project.open();
    let compaction = std::thread::spawn(move || {
        let outcome = compact(&other);
        sender.send(()).unwrap();
        outcome
    });
    let mut written = 0u32;
    while receiver.recv_timeout(Duration::from_micros(100)).is_err() {
        writer.execute(claim(&format!("f{written}"))).unwrap();
        written += 1;
        if written.is_multiple_of(500) {
            writer = a_writer(written);
        }
    }
    let outcome = compaction.join().unwrap();
    assert!(outcome.archived > 500 && written > 3, "{outcome:?}, {written} written meanwhile");
    verified(&project).unwrap();
    // Entries of writers stand between those of the compaction, or between its replacements.
    assert_eq!(engine.world().unwrap().state.leases().count(), written as usize);
}

/// Shows W-TRAIL-41.
#[test]
fn a_missing_archive_is_named_and_only_its_entries_are_unreadable() {
    let project = Project::new();
    let engine = project.open();
    let workspaces = ended(&engine, 20);
    compact(&engine);
    let data = files(&project, ".zst").remove(0);
    let aside = project.folder.path().join("aside");
    std::fs::rename(&data, &aside).unwrap();
    let writer = agent(&engine, "writer");
    writer.execute(claim("a")).unwrap();
    let find = |query: TrailQuery| query.find(&mut *project.open().reader().unwrap());
    let of = |id: &WorkspaceId| TrailQuery {
        workspace: Some(id.clone()),
        limit: Some(10_000),
        ..TrailQuery::default()
    };
    assert!(find(of(&workspaces[2])).unwrap().len() > 40, "what goes on is all there");
    let error = find(of(&workspaces[0])).err().unwrap();
    assert!(error.to_string().contains("archive 1 is missing"), "{error}");
    assert_eq!(error.rule(), Rule::ArchiveThere);
    let error = verified(&project).unwrap_err();
    assert!(error.to_string().contains(data.to_str().unwrap()), "{error}");
    // A complete backup is the way out.
    std::fs::rename(&aside, &data).unwrap();
    let copy = project.folder.path().join("copy");
    backup::backup(&project.home, &copy, true, &mut |_, _| {}).unwrap();
    std::fs::remove_file(&data).unwrap();
    drop(engine);
    backup::restore(&project.home, &copy, &project.options(), None).unwrap();
    assert_eq!(verified(&project).unwrap().archives, 1);
    assert!(find(of(&workspaces[0])).unwrap().len() > 40);
}

/// Shows W-TRAIL-45.
#[test]
fn recorded_deletions_keep_their_places_in_the_trail() {
    let project = Project::new();
    let engine = project.open();
    let workspaces = ended(&engine, 20);
    let archived = compact(&engine).archived;
    let lead = agent(&engine, "lead");
    let day = Span::from_secs(24 * 60 * 60);
    let nothing = prune::run(&engine, &lead, day, false).unwrap();
    assert!(nothing.archives.is_empty(), "nothing inside its retention is deleted");
    // One second more, since the trail's clock may be ahead of the machine's.
    project.clock.pass(Span::from_secs(day.secs() + 1));
    let error = prune::run(&engine, &agent(&engine, "w3"), day, false).unwrap_err();
    assert_eq!(error.rule(), Rule::CoordinatorOnly);
    assert_eq!(files(&project, ".zst").len(), 1, "no replay base is left of what was refused");
    let outcome = prune::run(&engine, &lead, day, false).unwrap();
    assert_eq!((outcome.archives, outcome.entries), (vec![Number(1)], archived));
    assert_eq!(files(&project, ".zst").iter().filter(|path| !is_replay_base(path)).count(), 0);
    let report = verified(&project).unwrap();
    assert_eq!((report.archives, report.archives_pruned), (0, 1));
    assert_eq!(report.trail.pruned, archived);
    // Work goes on, also where nothing is left but the store and the replay base.
    let state = engine.world().unwrap().state.image();
    drop((lead, engine));
    forget_snapshots(&project);
    let engine = project.open();
    assert_eq!(engine.world().unwrap().state.image(), state);
    agent(&engine, "w3").execute(claim("later")).unwrap();
    verified(&project).unwrap();
    let gone = TrailQuery {
        workspace: Some(workspaces[0].clone()),
        limit: Some(10_000),
        ..TrailQuery::default()
    };
    let found = gone.find(&mut *engine.reader().unwrap()).unwrap();
    assert!(found.iter().all(|found| !is_archivable(&found.entry.stamped.draft.event)));
    // The position of its last delivered signal can be checked, but not proved.
    let stub = rows(&project).into_iter().find(|(_, row)| row.contains('#')).unwrap();
    let proof = Inclusion::make(&mut *engine.reader().unwrap(), stub.0);
    assert!(proof.is_ok() || proof.unwrap_err().to_string().contains("deleted"));
    let copy = project.folder.path().join("copy");
    backup::backup(&project.home, &copy, true, &mut |_, _| {}).unwrap();
    drop(engine);
    backup::restore(&project.home, &copy, &project.options(), None).unwrap();
    verified(&project).unwrap();
    // The replay base is all that is left, and nobody can replace it unnoticed.
    let replay_base =
        files(&project, ".zst").into_iter().find(|path| is_replay_base(path)).unwrap();
    let size = usize::try_from(std::fs::metadata(&replay_base).unwrap().len()).unwrap();
    for at in (0..size).step_by(size / 20 + 1) {
        let _flipped = Flipped::new(&replay_base, at, 3);
        assert!(is_noticed(&project), "replay base, byte {at}");
    }
    assert!(!is_noticed(&project));
    let engine = project.open();
    let archive_records = engine.reader().unwrap().archive_records().unwrap();
    assert_eq!(archive_records[0].stage, Stage::Pruned);
}

fn is_replay_base(path: &Path) -> bool {
    path.file_name().unwrap().to_string_lossy().starts_with("floor-")
}
