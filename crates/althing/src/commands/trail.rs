//! `althing trail` and what can be done with it

use althing_engine::row::Row;
use althing_engine::trail_query::{ENTRIES_MAX, Found, TrailQuery};
use althing_engine::{Engine, api, transfer, verify};
use althing_kernel::workspace::Party;
use althing_kernel::{
    Actor, AgentName, Event, Kind, Principal, PublicKey, Rule, Timestamp, UserId, WorkspaceId,
};
use althing_services::ErrorKind;
use althing_trail::export::Commits;
use althing_trail::proof::{Consistency, Inclusion, ProofError};
use althing_trail::verify::{Finding, Options, Verifier};
use althing_trail::{Commit, Entry, SignedHead};
use serde_json::json;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::time::Duration;

use super::entry_lines::{EntryLines, Line};
use crate::app::App;
use crate::cli::{Trail, TrailCommand, TrailFilter, TrailProve, TrailVerify, TrailWhich};
use crate::command_context::CommandContext;
use crate::commands::leases::principal;
use crate::commands::{compare, history, stats, storage};
use crate::error::Error;
use crate::event_summary::summary;
use crate::input::read_file;
use crate::moment::parse_time;
use crate::output::{Tone, counted};
use crate::progress::Progress;
use crate::screen::written;

pub(crate) fn run(app: &App, args: Trail) -> Result<(), Error> {
    match args.command {
        None => list(app, &args.filter),
        Some(TrailCommand::Verify(args)) => verify_any(app, &args),
        Some(TrailCommand::Prove(args)) => prove(app, &args),
        Some(TrailCommand::Head(args)) => head(app, args.key),
        Some(TrailCommand::Show(args)) => show(app, args.seq),
        Some(TrailCommand::At(args)) => history::at(app, &args),
        Some(TrailCommand::Diff(args)) => history::diff(app, &args),
        Some(TrailCommand::Stats(args)) => stats::run(app, &args),
        Some(TrailCommand::Runs(args)) => compare::list(app, &args),
        Some(TrailCommand::Compare(args)) => compare::compare(app, &args),
        Some(TrailCommand::Tiers) => storage::tiers(app),
        Some(TrailCommand::Compact(args)) => storage::compact(app, &args),
        Some(TrailCommand::Snapshot(args)) => storage::snapshot(app, &args),
        Some(TrailCommand::Prune(args)) => storage::prune(app, &args),
        Some(TrailCommand::Export) => export(app),
        Some(TrailCommand::Import) => import(app),
    }
}

/// Whether entries, or what follows from them, are listed.
pub(super) fn is_list(args: &Trail) -> bool {
    match &args.command {
        None => !args.filter.follow,
        Some(command) => matches!(
            command,
            TrailCommand::Show(_)
                | TrailCommand::At(_)
                | TrailCommand::Diff(_)
                | TrailCommand::Stats(_)
                | TrailCommand::Runs(_)
                | TrailCommand::Compare(_)
                | TrailCommand::Tiers
        ),
    }
}

/// The question that was asked, without how many entries are wanted.
pub(super) fn query_of(
    which: &TrailWhich,
    workspace: Option<WorkspaceId>,
    now: Timestamp,
) -> Result<TrailQuery, Error> {
    let usage =
        |what: &str, error: &dyn std::fmt::Display| Error::usage(format!("{what}: {error}"));
    let kinds = which.kinds.iter().map(|kind| kind.parse().map_err(|error| no_kind(kind, &error)));
    let time = |what: &str, text: &Option<String>| {
        let time = text.as_deref().map(|text| parse_time(text, now)).transpose();
        time.map_err(|error| usage(what, &error))
    };
    Ok(TrailQuery {
        after: which.after,
        since: time("--since", &which.since)?,
        until: time("--until", &which.until)?,
        kinds: kinds.collect::<Result<_, Error>>()?,
        actor: which
            .actor
            .as_deref()
            .map(|text| text.parse().or_else(|_| principal(text).map(Actor::from)))
            .transpose()
            .map_err(|e: String| usage("--actor", &e))?,
        workspace,
        role: which.role.clone(),
        originator: which.originator.clone(),
        owner: which.owner.clone(),
        fields: which.fields.clone(),
        mentions: which.mentions.clone(),
        ..TrailQuery::default()
    })
}

/// Refuses names of agents and people that do not exist, instead of listing nothing.
pub(super) fn check_names(context: &CommandContext<'_>, which: &TrailWhich) -> Result<(), Error> {
    for party in [&which.owner, &which.originator].into_iter().flatten() {
        if let Party::User(user) = party {
            context.known_user(user)?;
        }
    }
    let Some(text) = which.actor.as_deref() else { return Ok(()) };
    let world = context.engine()?.world()?;
    match text.parse::<Principal>() {
        Ok(Principal::User(user)) => context.known_user(&user),
        Ok(_) => Ok(()),
        Err(_) => {
            // Text that cannot be a name is refused when the query is read.
            let Ok(agent) = AgentName::new(text) else { return Ok(()) };
            if text == "protocol" || world.state.agent(&agent).is_some() {
                return Ok(());
            }
            let user = UserId::new(text).ok().filter(|user| world.state.user(user).is_some());
            Err(match user {
                Some(user) => Error::usage(format!("--actor: there is no agent {user}"))
                    .hint("To name a person, write `--actor user:NAME`."),
                None => Error::not_found(format!(
                    "--actor: there is no agent or person called {text:?}"
                ))
                .hint("`althing agents` and `althing users` list who there is."),
            })
        }
    }
}

fn no_kind(text: &str, error: &althing_kernel::kind::UnknownKind) -> Error {
    let start = text.split(['.', '_']).next().filter(|start| !start.is_empty());
    let alike = |name: &&str| start.is_some_and(|start| name.starts_with(start));
    let alike: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).filter(alike).collect();
    let alike = match alike.as_slice() {
        [] => String::new(),
        some => format!("; alike are {}", some.join(", ")),
    };
    Error::usage(format!("--kind: {error}{alike}")).hint(
        "`althing trail stats --group-by kind` counts the kinds in this trail; \
         `docs/reference/events.md` lists all.",
    )
}

fn list(app: &App, filter: &TrailFilter) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let (project, engine) = (&context.project, &context.engine()?);
    // Whom one acts as is one thing, what one looks at another: only the flag narrows the trail.
    let narrowed = app.globals.workspace.as_deref();
    let workspace = narrowed.map(|text| context.workspace(text)).transpose()?;
    if !filter.all && filter.last > ENTRIES_MAX {
        let message = format!("--last shows at most {ENTRIES_MAX} entries; --all shows all");
        return Err(Error::misuse(Rule::Limits, message));
    }
    check_names(&context, &filter.which)?;
    let asked = TrailQuery {
        limit: Some(if filter.all { ENTRIES_MAX } else { filter.last }),
        last: !filter.all,
        ..query_of(&filter.which, workspace, engine.now())?
    };
    let mut lines = EntryLines::default();
    // First the end, then who is who: of what comes later that is learned as it comes.
    let end = engine.world()?.seq();
    let Some(query) = engine.narrowed(asked, project.asker()?.as_ref())? else { return Ok(()) };
    if filter.all {
        list_all(app, &mut lines, engine, &query, end)?;
    } else {
        let upto = TrailQuery { upto: Some(end), ..query.clone() };
        for found in upto.find(&mut *engine.reader()?)? {
            print(app, &mut lines, &found.entry, &found.line)?;
        }
    }
    if filter.follow { follow(app, &mut lines, engine, query, end) } else { Ok(()) }
}

fn list_all(
    app: &App,
    lines: &mut EntryLines,
    engine: &Engine,
    query: &TrailQuery,
    end: u64,
) -> Result<(), Error> {
    let mut log = engine.reader()?;
    let mut after = query.after.unwrap_or(0);
    loop {
        let page = TrailQuery { after: Some(after), upto: Some(end), ..query.clone() };
        let found = page.find(&mut *log)?;
        let Some(last) = found.last() else { return Ok(()) };
        after = last.entry.seq;
        for Found { entry, line } in &found {
            print(app, lines, entry, line)?;
        }
    }
}

fn follow(
    app: &App,
    lines: &mut EntryLines,
    engine: &Engine,
    mut query: TrailQuery,
    from: u64,
) -> Result<(), Error> {
    let from = query.after.map_or(from, |after| after.max(from));
    let mut subscription = engine.subscribe(from)?;
    loop {
        for commit in subscription.next(Duration::from_hours(1))? {
            for line in commit.entries() {
                let row = Row::read(line)?;
                query.keep_up(&row);
                if row.seq > from && query.fits(&row) {
                    let entry = Entry::read(line).map_err(|error| {
                        Error::integrity(Rule::Integrity, format!("an unreadable entry: {error}"))
                    })?;
                    print(app, lines, &entry, line)?;
                }
            }
        }
        written(std::io::stdout().flush())?;
    }
}

/// Prints an entry: its line of the trail as JSON, or in words.
fn print(app: &App, lines: &mut EntryLines, entry: &Entry, line: &str) -> Result<(), Error> {
    if app.out.json {
        return app.out.line(line);
    }
    let draft = &entry.stamped.draft;
    let shown = Line {
        seq: entry.seq,
        at: entry.stamped.at,
        gap: None,
        actor: &draft.actor.to_string(),
        kind: draft.event.kind().as_str(),
        says: &summary(&draft.event),
    };
    lines.print(app.out, &shown)
}

fn show(app: &App, seq: u64) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    let asked =
        TrailQuery { after: Some(seq.saturating_sub(1)), upto: Some(seq), ..TrailQuery::default() };
    let found = match engine.narrowed(asked, project.asker()?.as_ref())? {
        Some(query) => query.find(&mut *engine.reader()?)?,
        None => Vec::new(),
    };
    let Some(found) = found.first().filter(|_| seq > 0) else {
        return Err(Error::not_found(format!("the trail has no entry {seq}")));
    };
    if app.out.json {
        return app.out.line(&found.line);
    }
    let value: serde_json::Value =
        serde_json::from_str(&found.line).map_err(|error| Error::unavailable(error.to_string()))?;
    let text = serde_json::to_string_pretty(&value);
    app.out.line(text.map_err(|error| Error::unavailable(error.to_string()))?)
}

fn head(app: &App, key: bool) -> Result<(), Error> {
    let head = api::head(&app.project()?.engine()?)?;
    if app.out.json {
        return app.out.value(&head);
    }
    app.out.line(if key { head.verifier_key.as_str() } else { head.note.trim_end_matches('\n') })
}

fn prove(app: &App, args: &TrailProve) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    engine.check_reads_everything(project.asker()?.as_ref())?;
    match (&args.from, args.seq) {
        (Some(path), _) => {
            let from = read_head(path)?;
            let proof = Consistency::make(&mut *engine.reader()?, &from);
            app.out.value(&proof.map_err(not_proved)?)
        }
        (None, seq) => app.out.value(&api::prove(&engine, seq.unwrap_or_default())?),
    }
}

fn not_proved(error: ProofError) -> Error {
    match error {
        ProofError::Log(error) => althing_engine::EngineError::Store(error).into(),
        ProofError::NoEntry(_) => Error::not_found(error.to_string()),
        ProofError::Pruned(seq) => althing_engine::EngineError::Pruned { seq }.into(),
        ProofError::Form(_) => Error::usage(error.to_string()),
        ProofError::NotConsistent => Error::integrity(Rule::KeptHead, error.to_string()),
        _ => Error::integrity(Rule::Integrity, error.to_string()),
    }
}

/// Reads a kept head. An editor may have taken the last line break, or added one.
fn read_head(path: &Path) -> Result<SignedHead, Error> {
    let text = format!("{}\n", read_file(path)?.trim_end());
    SignedHead::parse(&text).map_err(|error| Error::usage(format!("{}: {error}", path.display())))
}

fn verify_any(app: &App, args: &TrailVerify) -> Result<(), Error> {
    let keys: Vec<PublicKey> = args
        .keys
        .iter()
        .map(|text| read_key(text))
        .collect::<Result<_, _>>()
        .map_err(|error| Error::usage(format!("--key: {error}")))?;
    if let Some(path) = &args.proof {
        return verify_proof(app, path, keys);
    }
    let kept = args.heads.iter().map(|path| read_head(path)).collect::<Result<_, _>>()?;
    let options = Options { every_signature: args.signatures, kept, keys, ..Options::default() };
    match &args.file {
        Some(path) => verify_file(app, path, options),
        None => verify_project(app, options),
    }
}

/// A key as `trail verify` prints it, or as verifiers of signed notes take it.
fn read_key(text: &str) -> Result<PublicKey, String> {
    match althing_trail::head::parse_verifier_key(text) {
        Some(key) => Ok(key),
        None => text.parse().map_err(|error: althing_kernel::key::KeyError| error.to_string()),
    }
}

fn verify_project(app: &App, options: Options) -> Result<(), Error> {
    let project = app.project()?;
    let mut log = althing_trail::log::sqlite::SqliteReader::open(project.home.store())
        .map_err(althing_engine::EngineError::Store)?;
    let strays = log.stray_rows().map_err(althing_engine::EngineError::Store)?;
    if strays > 0 {
        let message = format!("the store has {strays} rows where no commit can be");
        return Err(Error::integrity(Rule::Integrity, message));
    }
    let bar = Progress::new(app.out, "verifying entries");
    let verdict =
        verify::verify(&project.home, &mut log, options, &mut |done, of| bar.at(done, of))?;
    drop(bar);
    let mut report = match verdict {
        verify::Verdict::Bad(finding) => return Err(bad(&finding)),
        other => other.sound()?,
    };
    // The head that this machine remembers is counted apart from those that people kept.
    report.trail.kept_heads -= u64::from(report.witness);
    if app.out.json {
        return app.out.value(&json!({ "sound": true, "checked": report }));
    }
    say_sound(app, &report.trail, report.trail.kept_heads)?;
    let witness = if report.witness {
        "the head this machine remembers is in it"
    } else {
        "this machine remembers no head of it"
    };
    let snapshots = counted(report.snapshots, "snapshot", "snapshots");
    app.out.line(format!("also: {witness}; {snapshots} compared"))?;
    say_archives(app, &report)
}

fn say_archives(app: &App, report: &verify::Report) -> Result<(), Error> {
    if report.archives > 0 {
        let archives = counted(report.archives, "archive", "archives");
        app.out
            .line(format!("archives: {archives} whole, as on record and as the store has it"))?;
    }
    if report.archives_pruned > 0 {
        let gone = counted(report.archives_pruned, "archive", "archives");
        let entries = counted(report.trail.pruned, "entry", "entries");
        let unknown = counted(report.trail.unaudited, "entry", "entries");
        app.out.line(format!(
            "deleted, on record: {gone} with {entries}, whose places were checked; what the rules \
             say of {unknown} between them cannot be known any more"
        ))?;
    }
    Ok(())
}

fn bad(finding: &Finding) -> Error {
    use althing_trail::verify::Fault;
    let rule = match finding.fault {
        Fault::KeptRoot | Fault::KeptBeyond { .. } | Fault::KeptProject | Fault::KeptSignature => {
            Rule::KeptHead
        }
        _ => Rule::Integrity,
    };
    let failure = Error::integrity(rule, finding.to_string());
    let details = json!({ "entry": finding.seq, "fault": finding.fault.to_string() });
    failure.with(details)
}

fn say_sound(app: &App, checked: &althing_trail::verify::Checked, kept: u64) -> Result<(), Error> {
    let rules = if checked.audited_from.is_some() { "rules, " } else { "" };
    app.out.line(format!(
        "{} {} in {}: form, both chains, {rules}roots and links",
        app.out.paint(Tone::Good, "sound:"),
        counted(checked.entries, "entry", "entries"),
        counted(checked.commits, "commit", "commits")
    ))?;
    match checked.audited_from {
        Some(1) => {}
        Some(from) => app.out.line(format!("rules: audited from entry {from} on"))?,
        None => app.out.line("rules: not audited, all entries are of an earlier version")?,
    }
    app.out.line(format!(
        "signatures: {} of heads, {} of callers; kept heads found: {kept}",
        checked.head_signatures, checked.caller_signatures
    ))?;
    for (n, key) in checked.keys.iter().enumerate() {
        let text = format!("key {key}");
        app.out.line(if n == 0 {
            text
        } else {
            let note = "took over without the key before it; see `trail --kind runtime.rekeyed`";
            app.out.paint(Tone::Bad, &format!("{text}  ({note})"))
        })?;
    }
    Ok(())
}

/// The way out where a file is damaged and the store is not concerned.
const BAD_FILE: &str =
    "The file is not what was exported. Export it again; your own store was not read or changed.";

fn verify_file(app: &App, path: &Path, options: Options) -> Result<(), Error> {
    let file = std::fs::File::open(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let bar = Progress::new(app.out, "verifying entries");
    let mut verifier = Verifier::new(options);
    for commit in Commits::new(BufReader::new(file)) {
        let commit: Commit = commit
            .map_err(|error| Error::integrity(Rule::Integrity, error.to_string()).hint(BAD_FILE))?;
        verifier.check(&commit).map_err(|finding| bad(&finding).hint(BAD_FILE))?;
        bar.at(commit.last, 0);
    }
    let checked = verifier.finish().map_err(|finding| bad(&finding).hint(BAD_FILE))?;
    drop(bar);
    if app.out.json {
        return app.out.value(&json!({ "sound": true, "checked": checked }));
    }
    say_sound(app, &checked, checked.kept_heads)
}

/// The keys the project's trail was ever signed with.
fn keys_of_project(app: &App) -> Result<Vec<PublicKey>, Error> {
    let engine = app.project()?.engine()?;
    let now = engine.world()?.state.project().map(|project| project.runtime_key);
    let takeovers = TrailQuery {
        kinds: vec![Kind::RuntimeRekeyed],
        limit: Some(ENTRIES_MAX),
        ..TrailQuery::default()
    };
    let found = takeovers.find(&mut *engine.reader()?)?;
    let before = found.iter().filter_map(|found| match &found.entry.stamped.draft.event {
        Event::RuntimeRekeyed(body) => Some(body.old_key),
        _ => None,
    });
    Ok(before.chain(now).collect())
}

fn verify_proof(app: &App, path: &Path, keys: Vec<PublicKey>) -> Result<(), Error> {
    let text = read_file(path)?;
    let keys = if keys.is_empty() { keys_of_project(app)? } else { keys };
    let says = if let Ok(proof) = serde_json::from_str::<Inclusion>(&text) {
        let entry = proof.check(&keys).map_err(not_proved)?;
        let event = &entry.stamped.draft.event;
        let words = format!("{} {}", event.kind(), summary(event));
        format!("entry {} is in the trail: {}", entry.seq, words.trim_end())
    } else {
        let proof: Consistency = serde_json::from_str(&text)
            .map_err(|error| Error::usage(format!("{} is no proof: {error}", path.display())))?;
        proof.check(&keys).map_err(not_proved)?;
        "the newer head continues the older one".to_owned()
    };
    if app.out.json {
        return app.out.value(&json!({ "holds": true, "says": says }));
    }
    app.out.line(format!("{} {says}", app.out.paint(Tone::Good, "holds:")))
}

fn export(app: &App) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    engine.check_reads_everything(project.asker()?.as_ref())?;
    transfer::check_whole(&engine.world()?.state)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let bar = Progress::new(app.out, "exporting entries");
    let done = transfer::export(&mut *engine.reader()?, &mut out, &mut |done, of| bar.at(done, of));
    match done {
        Err(althing_engine::EngineError::File { source, .. }) => written(Err(source)),
        other => Ok(other.map(|_| ())?),
    }
}

fn import(app: &App) -> Result<(), Error> {
    let project = app.project()?;
    let bar = Progress::new(app.out, "importing entries");
    let input = BufReader::new(std::io::stdin().lock());
    let checked = transfer::import(&project.home, input, &mut |done, of| bar.at(done, of));
    drop(bar);
    let checked = checked.map_err(|error| match Error::from(error) {
        failure if failure.kind() == ErrorKind::Usage => {
            failure.hint("Import an exported trail into a project that has none yet.")
        }
        failure => failure,
    })?;
    if app.out.json {
        return app.out.value(&json!({ "imported": checked.entries, "checked": checked }));
    }
    app.out.line(format!("imported {} entries, every signature verified", checked.entries))?;
    let own = althing_engine::Keyring::of(&project.home).runtime()?.map(|key| key.public());
    if own.as_ref() != checked.keys.last() {
        app.out.note(
            "This machine does not hold the key of that trail. Put keys/runtime.key in place, or \
             take over on the record with `althing doctor --rekey --reason …`.",
        );
    }
    Ok(())
}
