//! `raise_conflict_pr`: both sides of a conflict on record, on a branch that people can review,
//! with the work that has to give way kept on a branch of its own.

use althing_dialects::frugal::planning;
use althing_engine::api::{self, Request};
use althing_kernel::blackboard::view::DisputeView;
use althing_kernel::blackboard::{Handle, Label, dispute};
use althing_kernel::lease::Surfaces;
use althing_kernel::query::{Answer, LeaseCheck, Query};
use althing_kernel::{Principal, Rule, Surface, Timestamp};
use althing_workshop::git::{Branch, Git, Left};
use althing_workshop::scratch::Scratch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::displaced::{Kept, Work, free};
use super::{Ledger, SERVER, in_the_way, registered, shown};
use crate::desk::{Call, Identity};
use crate::fault::Fault;

/// Arguments of `raise_conflict_pr`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RaiseConflict {
    id: String,
    title: String,
    #[schemars(length(min = 1))]
    surfaces: Vec<String>,
    displaced_haid: Option<String>,
    overriding_intent: Option<String>,
    displaced_intent: Option<String>,
    #[serde(rename = "client_identity")]
    _client: Option<String>,
}

/// The command that puts a conflict on record.
const COMMAND: &str = "dispute.raise";

/// The branches of a conflict.
struct Branches {
    conflict: Branch,
    /// There may be nothing to keep.
    displaced: Vec<Branch>,
    /// What lies under the surfaces and was not kept.
    left: Vec<Left>,
}

/// What the record says besides what was given.
struct Record {
    id: Handle,
    surfaces: Surfaces,
    at: Timestamp,
    /// Where it lies below the folder of such files.
    path: String,
}

/// Puts a conflict over surfaces before people, on branches of its own.
pub fn raise(
    ledger: &Ledger,
    call: &Call<'_>,
    who: &Identity,
    args: RaiseConflict,
) -> Result<Value, Fault> {
    let id = Handle::new(&args.id).map_err(|error| unusable(&error))?;
    let at = call.desk.engine()?.now();
    let path = planning::conflict_path(at, &id);
    let record = Record { id, surfaces: surfaces(&args.surfaces)?, at, path };
    let args = RaiseConflict { displaced_haid: displaced(call, who, &args, &record)?, ..args };
    let scratch = if call.desk.setup.is_git {
        Some(Scratch::take(call.desk.setup.home.root())?)
    } else {
        None
    };
    if let Ok(there) = call.desk.ask(who, "dispute.get", &json!({ "id": args.id })) {
        let raised = there["raised_at"].as_u64().map_or(record.at, Timestamp::from_micros);
        let path = planning::conflict_path(raised, &record.id);
        let message = format!("conflict record already exists: {path}");
        let fault = Fault::refused(Rule::DisputeOnce, message);
        return Err(fault.recorded(&call.desk.client(who)?, COMMAND));
    }
    // What is written on a branch is looked through before there is one.
    if let Request::Command(asked) = api::read_made(COMMAND, &command(&args, None))? {
        call.desk.client(who)?.check_text(*asked)?;
    }
    let git = Git::new(&call.desk.setup.root, &who.shown);
    let branches = match &scratch {
        Some(scratch) => {
            let made = branch_out(&git, scratch, ledger, call, who, &args, &record);
            let client = call.desk.client(who)?;
            Some(made.map_err(|fault| fault.recorded(&client, COMMAND))?)
        }
        None => None,
    };
    let command = command(&args, branches.as_ref());
    if let Err(fault) = call.desk.execute(who, COMMAND, &command) {
        if let Some(made) = &branches {
            made.take_back(&git);
        }
        return Err(fault);
    }
    let Record { path, .. } = record;
    // The files for people are kept only where somebody asked for them, and no link is followed.
    let is_written_out = ledger.planning.join(&path).is_file();
    let left: Vec<Value> = branches.iter().flat_map(|made| &made.left).map(told).collect();
    let on_branch = branches
        .as_ref()
        .map(|made| format!("{}:{}", made.conflict.name, path_in_tree(ledger, call, &path)));
    let mut raised = json!({
        "conflict_file": is_written_out.then(|| ledger.planning.join(&path)),
        "branch_file": on_branch,
        "relative_path": path,
        "preserved_branch": command["preserved_branch"],
        "not_preserved": left,
        "pr_path": next_step(&args, &path, branches.as_ref()),
    });
    if let Some(more) = command.get("also_preserved") {
        raised["also_preserved"] = more.clone();
    }
    Ok(raised)
}

fn told(left: &Left) -> Value {
    json!({ "path": left.path, "why": left.why })
}

/// What there is now, and what to do with it.
fn next_step(args: &RaiseConflict, path: &str, branches: Option<&Branches>) -> String {
    let Some(made) = branches else {
        return format!("no git repository, so there is no branch conflict/{}", args.id);
    };
    let mut text = format!(
        "branch {} has {path}; push it and open a pull request for an owner or maintainer",
        made.conflict.name
    );
    if made.displaced.is_empty() && made.left.is_empty() {
        text.push_str("; no file lies under the surfaces, so no work is kept on a branch");
    } else if !made.left.is_empty() {
        text.push_str("; save what not_preserved names by hand");
    }
    text
}

impl Branches {
    /// Takes back what was made for a record that was not. The work itself is still where it was.
    fn take_back(&self, git: &Git) {
        for made in self.displaced.iter().chain([&self.conflict]) {
            git.take_back(made);
        }
    }
}

fn unusable(error: &dyn std::fmt::Display) -> Fault {
    Fault::usage(format!("raise_conflict_pr: {error}"))
}

fn surfaces(given: &[String]) -> Result<Surfaces, Fault> {
    let list: Result<Vec<Surface>, _> = given.iter().map(|text| Surface::new(text)).collect();
    Surfaces::new(list.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))
}

/// Whose work gives way: as it is said, else the one other agent that holds any of it.
fn displaced(
    call: &Call<'_>,
    who: &Identity,
    args: &RaiseConflict,
    record: &Record,
) -> Result<Option<String>, Fault> {
    if let Some(haid) = &args.displaced_haid {
        registered(call, who, "displaced_haid", haid)?;
        return Ok(Some(haid.clone()));
    }
    let holder = Some(Principal::Agent(who.agent.clone()));
    let check = LeaseCheck { holder, epoch: None, surfaces: record.surfaces.clone() };
    let Answer::Check(found) = call.desk.engine()?.ask(&Query::LeaseCheck(check))? else {
        return Err(Fault::defect("an unexpected answer to lease.check"));
    };
    let mut holders: Vec<String> =
        found.collisions.iter().map(|collision| shown(&collision.holder)).collect();
    holders.dedup();
    Ok(if holders.len() == 1 { holders.pop() } else { None })
}

/// Makes all branches, or none.
fn branch_out(
    git: &Git,
    scratch: &Scratch,
    ledger: &Ledger,
    call: &Call<'_>,
    who: &Identity,
    args: &RaiseConflict,
    record: &Record,
) -> Result<Branches, Fault> {
    if !git.has_work_tree()? {
        let message = "this is a bare repository: there are no files whose work could be kept";
        let way_out = "Raise it from a work tree: `git worktree add PATH`.";
        return Err(in_the_way(message.to_owned(), way_out));
    }
    let name = format!("conflict/{}", args.id);
    let beginning = format!("Conflict {}: ", args.id);
    let before = free(git, &name, &beginning)?;
    let of = args.displaced_haid.as_deref().unwrap_or("unspecified");
    let (id, title, surfaces) = (&args.id, &args.title, &record.surfaces);
    let work = Work { git, scratch, id, title, surfaces, of };
    work.free(&work.branch())?;
    let Kept { branches: displaced, left } = work.keep()?;
    let mut made =
        Branches { conflict: Branch { name, commit: String::new(), before }, displaced, left };
    let draft = git.draft(scratch)?;
    draft.put(&path_in_tree(ledger, call, &record.path), &file(args, record, who, &made)?)?;
    let message = format!(
        "{beginning}{}\n\nRaised through {SERVER}.\n\nHeimdall-Agent: {}\n",
        planning::one_line(&args.title),
        who.shown
    );
    made.conflict.commit = draft.commit(&message, made.conflict.before.as_deref())?;
    // The work first: a record that names a branch is on one only if that branch is there.
    for branch in made.displaced.iter().chain([&made.conflict]) {
        if let Err(fault) = git.put(branch) {
            made.take_back(git);
            return Err(fault.into());
        }
    }
    Ok(made)
}

/// Where the record lies among the files of the repository.
fn path_in_tree(ledger: &Ledger, call: &Call<'_>, relative: &str) -> String {
    let inside = ledger.planning.strip_prefix(&call.desk.setup.root).ok();
    let names: Option<Vec<&str>> =
        inside.and_then(|inside| inside.iter().map(|name| name.to_str()).collect());
    match names {
        Some(names) if !names.is_empty() => format!("{}/{relative}", names.join("/")),
        _ => format!(".planning/{relative}"),
    }
}

/// What is recorded of it.
fn command(args: &RaiseConflict, made: Option<&Branches>) -> Value {
    let mut record =
        json!({ "id": args.id, "title": args.title, "surfaces": args.surfaces, "via": SERVER });
    let displaced = made.map_or(&[][..], |made| made.displaced.as_slice());
    for (field, value) in [
        ("displaced", args.displaced_haid.as_deref()),
        ("overriding_intent", args.overriding_intent.as_deref()),
        ("displaced_intent", args.displaced_intent.as_deref()),
        ("preserved_branch", displaced.first().map(|branch| branch.name.as_str())),
        ("conflict_branch", made.map(|made| made.conflict.name.as_str())),
    ] {
        if let Some(value) = value {
            record[field] = value.into();
        }
    }
    for (field, lines) in [
        ("also_preserved", also(displaced)),
        ("not_preserved", made.map(|made| not_preserved(&made.left)).unwrap_or_default()),
    ] {
        if !lines.is_empty() {
            record[field] = lines.into();
        }
    }
    record
}

/// The branches after the first.
fn also(displaced: &[Branch]) -> Vec<String> {
    displaced.iter().skip(1).map(|branch| branch.name.clone()).collect()
}

/// What was not kept, a line each, as many as are recorded.
fn not_preserved(left: &[Left]) -> Vec<String> {
    let line = |left: &Left| dispute::NotPreserved::lossy(&left.line()).to_string();
    if left.len() <= dispute::NOT_PRESERVED_MAX {
        return left.iter().map(line).collect();
    }
    let (named, more) = left.split_at(dispute::NOT_PRESERVED_MAX - 1);
    named.iter().map(line).chain([format!("and {} more", more.len())]).collect()
}

/// The record, for people to review.
fn file(
    args: &RaiseConflict,
    record: &Record,
    who: &Identity,
    made: &Branches,
) -> Result<String, Fault> {
    let displaced = args.displaced_haid.as_deref().map(Label::new).transpose();
    Ok(planning::conflict(&DisputeView {
        id: record.id.clone(),
        title: args.title.clone(),
        surfaces: record.surfaces.as_slice().to_vec(),
        displaced: displaced.map_err(|error| unusable(&error))?,
        overriding_intent: args.overriding_intent.clone(),
        displaced_intent: args.displaced_intent.clone(),
        preserved_branch: made.displaced.first().map(|branch| branch.name.clone()),
        also_preserved: also(&made.displaced),
        not_preserved: not_preserved(&made.left),
        conflict_branch: Some(made.conflict.name.clone()),
        via: Some(Label::new(SERVER).map_err(|error| unusable(&error))?),
        raised_at: record.at,
        raised_by: Principal::Agent(who.agent.clone()),
    }))
}
