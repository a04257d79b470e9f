//! `althing doctor`

use althing_engine::witness::{self, Witness};
use althing_engine::{
    Blobs, Engine, Keyring, archive_files, compact, home, inventory, keyring, snapshot,
    writer_registry,
};
use althing_kernel::{Blob, Rule, Span};
use althing_services::ErrorKind;
use althing_services::error::BLOB_HINT;
use althing_trail::SignedHead;
use althing_trail::archive::{Lines, Stage};
use althing_trail::log::sqlite::{SqliteReader, beside};
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;

use super::status::file_bytes;
use crate::app::{App, Project};
use crate::cli::Doctor;
use crate::error::{Error, exit_code};
use crate::output::{Tone, counted, show_bytes};
use crate::progress::Progress;

/// Where the text of a finding begins.
const INDENT: usize = 6;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    Good,
    Note,
    Bad,
}

#[derive(Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    way_out: Option<Cow<'static, str>>,
    /// The kind of error it is, where it is one.
    #[serde(skip)]
    kind: ErrorKind,
}

impl Finding {
    fn new(
        check: &'static str,
        level: Level,
        says: impl Into<String>,
        way_out: Option<Cow<'static, str>>,
    ) -> Self {
        Finding { check, level, says: says.into(), way_out, kind: ErrorKind::Unavailable }
    }

    fn good(check: &'static str, says: impl Into<String>) -> Self {
        Finding::new(check, Level::Good, says, None)
    }

    fn note(
        check: &'static str,
        says: impl Into<String>,
        way_out: impl Into<Cow<'static, str>>,
    ) -> Self {
        Finding::new(check, Level::Note, says, Some(way_out.into()))
    }

    fn bad(
        check: &'static str,
        says: impl Into<String>,
        way_out: impl Into<Cow<'static, str>>,
    ) -> Self {
        Finding::new(check, Level::Bad, says, Some(way_out.into()))
    }
}

pub(crate) fn run(app: &App, args: &Doctor) -> Result<(), Error> {
    let project = app.project()?;
    if args.rekey {
        let reason = args.reason.as_deref().unwrap_or_default();
        app.out.note(if project.engine()?.rekey(reason)? {
            "this runtime's key signs the trail from now on; the takeover is on record"
        } else {
            "this runtime's key signs the trail already; there was nothing to take over"
        });
    }
    let findings = examine(app, &project);
    let bad = || findings.iter().filter(|finding| finding.level == Level::Bad);
    let worst = bad().map(|finding| finding.kind).max_by_key(|kind| exit_code(*kind));
    if app.out.json {
        app.out.value(&findings)?;
    } else {
        for finding in &findings {
            let mark = match finding.level {
                Level::Good => app.out.paint(Tone::Good, "ok  "),
                Level::Note => app.out.paint(Tone::Strong, "note"),
                Level::Bad => app.out.paint(Tone::Bad, "BAD "),
            };
            app.out.fact(
                &format!("{mark}  "),
                INDENT,
                &format!("{}: {}", finding.check, finding.says),
            )?;
            if let Some(way_out) = &finding.way_out {
                app.out.fact("", INDENT, way_out)?;
            }
        }
    }
    if let Some(kind) = worst {
        let message = "the project is not in good health";
        let failure = match kind {
            ErrorKind::Integrity => Error::integrity(Rule::ArchiveThere, message),
            _ => Error::unavailable(message),
        };
        return Err(failure.hint("The lines above say what is wrong and what to do about it."));
    }
    Ok(())
}

fn examine(app: &App, project: &Project) -> Vec<Finding> {
    let mut findings = vec![store(project)];
    match project.engine() {
        Ok(engine) => {
            findings.push(trail(&engine));
            findings.push(runtime_key(project, &engine));
            findings.push(clock(&engine));
            findings.push(writable(project));
            findings.push(remembered(project, &engine));
            findings.push(snapshots(project, &engine));
            findings.push(archived(project, &engine));
            findings.extend(planning(project, &engine));
        }
        Err(failure) => {
            findings.push(Finding::bad("project", failure.message(), failure.rule().way_out()));
        }
    }
    findings.push(writers(project));
    findings.push(quarantine(project));
    findings.push(content(app, project));
    findings.push(keys(project));
    findings
}

/// The files under `.planning`, where there are any.
fn planning(project: &Project, engine: &Engine) -> Option<Finding> {
    let planning = project.planning();
    let name = "planning files";
    if let Err(failure) = planning.own_folders() {
        return Some(Finding::note(name, failure.message(), failure.way_out().to_owned()));
    }
    if !planning.is_used() {
        return None;
    }
    let report = match planning.look(engine) {
        Ok(report) => report,
        Err(failure) => {
            return Some(Finding::bad(name, failure.message(), failure.rule().way_out()));
        }
    };
    let listed = |paths: &[String]| paths.join(", ");
    if !report.blocked.is_empty() {
        let way_out = "Move it away and run `althing rebuild`.";
        return Some(Finding::bad(name, listed(&report.blocked), way_out));
    }
    let unknown = format!("not from the trail: {}", listed(&report.unknown));
    if !report.edited.is_empty() {
        let mut says = format!("written into by hand, and left so: {}", listed(&report.edited));
        if !report.unknown.is_empty() {
            says = format!("{says}; {unknown}");
        }
        let way_out =
            "`althing rebuild` sets them aside; with `--adopt --as NAME` it takes them over.";
        return Some(Finding::note(name, says, way_out));
    }
    if !report.unknown.is_empty() {
        let says = unknown;
        let way_out =
            "`althing rebuild --adopt --as NAME` takes capsules over; move the rest away.";
        return Some(Finding::note(name, says, way_out));
    }
    if !report.behind.is_empty() {
        let says = format!("behind the trail: {}", listed(&report.behind));
        return Some(Finding::note(
            name,
            says,
            "`althing rebuild` brings them up; so does the next command that changes them.",
        ));
    }
    let files = counted(report.files as u64, "file says", "files say");
    Some(Finding::good(name, format!("{files} what the trail says")))
}

fn store(project: &Project) -> Finding {
    let path = project.home.store();
    let integrity = SqliteReader::open(path).and_then(|reader| reader.integrity());
    match integrity {
        Ok(None) => {
            let (own, journal) = (file_bytes(path), file_bytes(&beside(path, "-wal")));
            let says = format!(
                "a whole file, {} and a journal of {}",
                show_bytes(own),
                show_bytes(journal)
            );
            Finding::good("store", says)
        }
        Ok(Some(damage)) => {
            Finding::bad("store", damage, "Keep the file, and restore the last backup.")
        }
        Err(error) => {
            Finding::bad("store", error.message, "See `althing config` for where it should be.")
        }
    }
}

fn trail(engine: &Engine) -> Finding {
    match engine.world() {
        Ok(world) => {
            let count = counted(world.seq(), "entry replays", "entries replay");
            let says = format!("{count}; `althing trail verify` checks the trail");
            Finding::good("trail", says)
        }
        Err(error) => Finding::bad("trail", error.to_string(), error.rule().way_out()),
    }
}

fn runtime_key(project: &Project, engine: &Engine) -> Finding {
    let world = engine.world();
    let expected = world.ok().and_then(|world| world.state.project().map(|p| p.runtime_key));
    match Keyring::of(&project.home).runtime() {
        Ok(Some(key)) if Some(key.public()) == expected => {
            Finding::good("runtime key", format!("{} signs heads", key.public().short()))
        }
        Ok(Some(_)) => Finding::bad(
            "runtime key",
            "the key here is not the one the trail is signed with",
            "Restore keys/runtime.key, or take over with `althing doctor --rekey --reason …`.",
        ),
        Ok(None) => Finding::bad(
            "runtime key",
            "there is none, so nothing can be added to the trail",
            "Restore keys/runtime.key, or take over with `althing doctor --rekey --reason …`.",
        ),
        Err(error) => Finding::bad("runtime key", error.to_string(), error.rule().way_out()),
    }
}

fn clock(engine: &Engine) -> Finding {
    let now = engine.now();
    let ahead = engine.world().map_or(Span::default(), |world| world.state.clock().since(now));
    if ahead <= Span::from_secs(5) {
        return Finding::good("clock", "the trail's clock and this machine's agree");
    }
    let ahead = crate::span::show_secs(ahead.secs());
    Finding::bad(
        "clock",
        format!("the trail's clock is {ahead} ahead of this machine's; nothing expires until then"),
        "Set this machine's clock right. Leases in the way can be released, or forced by a person.",
    )
}

fn writable(project: &Project) -> Finding {
    let probe = project.home.root().join(format!("probe-{}", std::process::id()));
    let written = std::fs::write(&probe, b"probe");
    // On a full disk the name may be there without the content.
    let removed = std::fs::remove_file(&probe);
    match written.and(removed) {
        Ok(()) => Finding::good("state folder", "can be written"),
        Err(error) => Finding::bad(
            "state folder",
            format!("cannot be written: {error}"),
            "Free space or fix permissions. Reads go on meanwhile.",
        ),
    }
}

fn remembered(project: &Project, engine: &Engine) -> Finding {
    let seq = engine.world().map_or(0, |world| world.seq());
    match witness::read(&project.home) {
        Witness::Head(head) if !is_in_trail(engine, &head) => Finding::bad(
            "witness",
            format!(
                "this machine remembers a head over {} entries that is not in the trail, which \
                 has {seq}: it was cut off or replaced",
                head.head().size
            ),
            "Keep everything as it is and compare with a backup.",
        ),
        Witness::Head(head) => {
            Finding::good("witness", format!("remembers the head at {} entries", head.head().size))
        }
        Witness::Unreadable => Finding::bad(
            "witness",
            format!("what is remembered in {} cannot be read", project.home.witness().display()),
            "Compare the trail with a head kept elsewhere, then delete that file.",
        ),
        Witness::None => Finding::note(
            "witness",
            "no head is remembered here",
            "The next command writes one; keep a head elsewhere with `althing trail head`.",
        ),
    }
}

fn is_in_trail(engine: &Engine, head: &SignedHead) -> bool {
    let found = engine.reader().ok().and_then(|mut log| log.head_of(head.head().size).ok());
    found.flatten().is_some_and(|(_, text)| text == head.text())
}

fn snapshots(project: &Project, engine: &Engine) -> Finding {
    let world = engine.world().ok();
    let seq = world.as_ref().map_or(0, |world| world.seq());
    let project_id = world.as_ref().and_then(|world| world.state.project().map(|p| p.id.clone()));
    let list = project_id.map_or_else(Vec::new, |id| snapshot::list(&project.home, &id));
    let newest = list.iter().find_map(|path| snapshot::read(path));
    match newest {
        Some(world) => {
            Finding::good("snapshot", format!("taken at entry {} of {seq}", world.seq()))
        }
        None if seq > 5_000 => Finding::note(
            "snapshot",
            "none can be used, so opening replays the whole trail",
            "The next commands write one.",
        ),
        None if !list.is_empty() => Finding::note(
            "snapshot",
            format!("none of {} can be used, so opening replays the whole trail", list.len()),
            "The next commands write one. If that does not help, delete the folder `snapshots`.",
        ),
        None => Finding::good("snapshot", "none needed yet"),
    }
}

/// Whether the archives are there, and what a killed compaction left. `trail verify` reads them.
fn archived(project: &Project, engine: &Engine) -> Finding {
    let archives = project.home.archives();
    let looked = engine.world().and_then(|world| {
        let archive_records = engine.reader()?.archive_records()?;
        for archive_record in
            archive_records.iter().filter(|archive_record| archive_record.stage != Stage::Pruned)
        {
            Lines::open(&archives, archive_record.number, &archive_record.hash)?;
        }
        let left = archive_files::leftovers(&project.home, &world.state, &archive_records);
        Ok((archive_records.len() as u64, compact::unfinished(engine)?, left))
    });
    let (count, open, left) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let found = Finding::bad("archives", error.to_string(), error.rule().way_out());
            // A part of the trail that is not there is a trail that does not hold.
            return Finding { kind: error.kind(), ..found };
        }
    };
    let archives = counted(count, "archive", "archives");
    if !open.is_empty() {
        let open: Vec<String> = open.iter().map(ToString::to_string).collect();
        let says = format!("{archives}; not finished: {}", open.join(", "));
        return Finding::note("archives", says, "Finish it with `althing trail compact`.");
    }
    if !left.is_empty() {
        let left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
        let says = format!("{archives}; left over, part of nothing: {}", left.join(", "));
        return Finding::note("archives", says, "The next compaction clears them away.");
    }
    Finding::good("archives", format!("{archives}, all there"))
}

fn writers(project: &Project) -> Finding {
    match writer_registry::crashed_writers(&project.home) {
        Ok(fallen) if fallen.is_empty() => {
            Finding::good("writers", "everybody who wrote ended well")
        }
        Ok(fallen) => {
            let count = counted(fallen.len() as u64, "writer", "writers");
            let says = format!("{count} ended without saying so");
            Finding::note("writers", says, "The next command recovers; see `althing recover`.")
        }
        Err(error) => Finding::bad("writers", error.to_string(), error.rule().way_out()),
    }
}

fn quarantine(project: &Project) -> Finding {
    let folder = project.home.quarantine();
    let entries = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    if names.is_empty() {
        return Finding::good("quarantine", "nothing was set aside");
    }
    let says = format!("set aside in {}: {}", folder.display(), names.join(", "));
    Finding::note("quarantine", says, "Look at it; what nobody needs any more can be deleted.")
}

fn content(app: &App, project: &Project) -> Finding {
    let bar = Progress::new(app.out, "reading content");
    // If the trail cannot be read, that stands above, and content is looked at all the same.
    let log = SqliteReader::open(project.home.store());
    let named = log.ok().and_then(|mut log| inventory::named_in(&mut log).ok()).unwrap_or_default();
    let blobs = Blobs::of(&project.home);
    let found = match blobs.check_all(&named, &mut |done, of| bar.at(done, of)) {
        Ok(found) => found,
        Err(error) => return Finding::bad("content", error.to_string(), error.rule().way_out()),
    };
    let list = |blobs: &[Blob]| -> String {
        blobs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let whole = counted(found.whole, "blob", "blobs");
    if !found.damaged.is_empty() {
        let says = format!("{whole} whole; damaged: {}", list(&found.damaged));
        return Finding::bad("content", says, BLOB_HINT);
    }
    if !found.missing.is_empty() {
        let says = format!("{whole} whole; cited and not there: {}", list(&found.missing));
        return Finding::bad("content", says, BLOB_HINT);
    }
    Finding::good("content", format!("{whole}, {}, all whole", show_bytes(found.bytes)))
}

fn keys(project: &Project) -> Finding {
    let files = match Keyring::of(&project.home).files() {
        Ok(files) => files,
        Err(error) => return Finding::bad("keys", error.to_string(), error.rule().way_out()),
    };
    let those = |wanted: &dyn Fn(&Path) -> bool| -> Option<String> {
        let found = files.iter().filter(|file| wanted(file));
        let names: Vec<String> = found.map(|file| file.display().to_string()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    if home::is_open_to_others(&project.home.keys()) {
        let says = "others can look into the folder of keys";
        return Finding::bad("keys", says, "Run `chmod 700` on it.");
    }
    if let Some(open) = those(&home::is_open_to_others) {
        let way_out = "Run `chmod 600` on them; consider the agents' names burnt.";
        return Finding::bad("keys", format!("others can read {open}"), way_out);
    }
    // A file that was being made when its maker was killed has another ending and is never read.
    let is_damaged = |file: &Path| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        file.extension().is_some_and(|ending| ending == "key") && !keyring::is_key(&text)
    };
    if let Some(damaged) = those(&is_damaged) {
        let way_out = "Restore them from a backup; without its key a name cannot be used again.";
        return Finding::bad("keys", format!("not readable as keys: {damaged}"), way_out);
    }
    let count = counted(files.len() as u64, "file", "files");
    Finding::good("keys", format!("{count}, for their owner only"))
}
