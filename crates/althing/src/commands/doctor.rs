//! `althing doctor`

use althing_engine::{Engine, Keyring, home, keyring, snapshot, witness};
use althing_kernel::Span;
use althing_trail::log::sqlite::SqliteReader;
use serde::Serialize;
use std::path::Path;

use crate::app::{App, Project};
use crate::cli::Doctor;
use crate::failure::{Exit, Failure};
use crate::output::{Tone, show_bytes};

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
    way_out: Option<&'static str>,
}

impl Finding {
    fn good(check: &'static str, says: impl Into<String>) -> Self {
        Finding { check, level: Level::Good, says: says.into(), way_out: None }
    }

    fn note(check: &'static str, says: impl Into<String>, way_out: &'static str) -> Self {
        Finding { check, level: Level::Note, says: says.into(), way_out: Some(way_out) }
    }

    fn bad(check: &'static str, says: impl Into<String>, way_out: &'static str) -> Self {
        Finding { check, level: Level::Bad, says: says.into(), way_out: Some(way_out) }
    }
}

pub(crate) fn run(app: &App, args: &Doctor) -> Result<(), Failure> {
    let project = app.project()?;
    if args.rekey {
        let reason = args.reason.as_deref().unwrap_or_default();
        project.engine()?.rekey(reason)?;
        app.out.note("this runtime's key signs the trail from now on; the takeover is on record");
    }
    let findings = examine(&project);
    let worst_bad = findings.iter().any(|finding| finding.level == Level::Bad);
    if app.out.json {
        app.out.value(&findings)?;
    } else {
        for finding in &findings {
            let mark = match finding.level {
                Level::Good => app.out.paint(Tone::Good, "ok  "),
                Level::Note => app.out.paint(Tone::Strong, "note"),
                Level::Bad => app.out.paint(Tone::Bad, "BAD "),
            };
            app.out.line(format!("{mark}  {}: {}", finding.check, finding.says))?;
            if let Some(way_out) = finding.way_out {
                app.out.line(format!("        {way_out}"))?;
            }
        }
    }
    if worst_bad {
        let failure = Failure::unavailable("the project is not in good health");
        return Err(Failure { exit: Exit::Unavailable, ..failure });
    }
    Ok(())
}

fn examine(project: &Project) -> Vec<Finding> {
    let mut findings = vec![store(project)];
    match project.engine() {
        Ok(engine) => {
            findings.push(trail(&engine));
            findings.push(runtime_key(project, &engine));
            findings.push(clock(&engine));
            findings.push(writable(project));
            findings.push(remembered(project, &engine));
            findings.push(snapshots(project, &engine));
        }
        Err(failure) => {
            findings.push(Finding::bad("project", failure.message, failure.rule.way_out()));
        }
    }
    findings.push(keys(project));
    findings
}

fn store(project: &Project) -> Finding {
    let path = project.home.store();
    let integrity = SqliteReader::open(path).and_then(|reader| reader.integrity());
    match integrity {
        Ok(None) => {
            let size = |ending: &str| {
                std::fs::metadata(path.with_extension(ending)).map_or(0, |data| data.len())
            };
            let (own, journal) = (size("db"), size("db-wal"));
            let says =
                format!("sound, {} and a journal of {}", show_bytes(own), show_bytes(journal));
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
            let says =
                format!("{} entries replay; `althing trail verify` checks them", world.seq());
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
    let written = std::fs::write(&probe, b"probe").and_then(|()| std::fs::remove_file(&probe));
    match written {
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
    match witness::read(&project.home).map(|head| head.head().size) {
        Some(size) if size > seq => Finding::bad(
            "witness",
            format!("this machine remembers {size} entries, the trail has {seq}: it was cut"),
            "Keep everything as it is and compare with a backup.",
        ),
        Some(size) => Finding::good("witness", format!("remembers the head at {size} entries")),
        None => Finding::note(
            "witness",
            "no head is remembered here",
            "The next command writes one; keep a head elsewhere with `althing trail head`.",
        ),
    }
}

fn snapshots(project: &Project, engine: &Engine) -> Finding {
    let seq = engine.world().map_or(0, |world| world.seq());
    let newest = snapshot::list(&project.home).iter().find_map(|path| snapshot::read(path));
    match newest {
        Some(world) => {
            Finding::good("snapshot", format!("taken at entry {} of {seq}", world.seq()))
        }
        None if seq > 5_000 => Finding::note(
            "snapshot",
            "none can be used, so opening replays the whole trail",
            "The next commands write one.",
        ),
        None => Finding::good("snapshot", "none needed yet"),
    }
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
    Finding::good("keys", format!("{} files, for their owner only", files.len()))
}
