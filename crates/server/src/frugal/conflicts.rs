//! `raise_conflict_pr`: both sides of a conflict on record, on a branch that people can review,
//! with the work that has to give way kept on a branch of its own.

use althing_dialects::frugal::haid::slug;
use althing_dialects::frugal::planning;
use althing_kernel::commons::view::DisputeView;
use althing_kernel::commons::{Handle, Label};
use althing_kernel::lease::Surfaces;
use althing_kernel::query::{Answer, LeaseCheck, Query};
use althing_kernel::{Principal, Rule, Surface, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

use super::{Ledger, SERVER, named, shown};
use crate::desk::{Call, Identity};
use crate::fault::Fault;
use crate::git::{Git, Left};

/// Arguments of `raise_conflict_pr`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RaiseConflict {
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

/// What the branches of a conflict are called and made of.
struct Branches {
    conflict: Made,
    /// There may be nothing to keep.
    displaced: Option<Made>,
    /// What lies under the surfaces and was not kept.
    left: Vec<Left>,
}

/// The work that gives way, in a commit.
struct Kept {
    commit: Option<String>,
    left: Vec<Left>,
}

/// A branch that was made, with its commit.
struct Made {
    name: String,
    commit: String,
}

/// What the record says besides what was given.
struct Record {
    id: Handle,
    surfaces: Surfaces,
    at: Timestamp,
    /// Where it lies below the folder of such files.
    path: String,
}

pub(super) fn raise(
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
    if let Ok(there) = call.desk.ask(who, "dispute.get", &json!({ "id": args.id })) {
        let raised = there["raised_at"].as_u64().map_or(record.at, Timestamp::from_micros);
        let path = planning::conflict_path(raised, &record.id);
        let message = format!("conflict record already exists: {path}");
        return Err(Fault::refused(Rule::DisputeOnce, message));
    }
    let git = call.desk.setup.is_git.then(|| Git::new(&call.desk.setup.root, &who.shown));
    let branches = match &git {
        Some(git) => Some(branch_out(git, ledger, call, who, &args, &record)?),
        None => None,
    };
    let preserved = branches.as_ref().and_then(|made| made.displaced.as_ref());
    let preserved = preserved.map(|made| made.name.clone());
    let command = command(&args, branches.as_ref(), preserved.as_deref());
    if let Err(fault) = call.desk.execute(who, "dispute.raise", &command) {
        if let (Some(git), Some(made)) = (&git, &branches) {
            made.take_back(git);
        }
        return Err(fault);
    }
    let Record { path, .. } = record;
    // The files for people are kept only where somebody asked for them.
    let is_written_out = ledger.planning.join("protocol").is_dir();
    let left: Vec<Value> = branches.iter().flat_map(|made| &made.left).map(told).collect();
    let on_branch = branches
        .as_ref()
        .map(|made| format!("{}:{}", made.conflict.name, path_in_tree(ledger, call, &path)));
    Ok(json!({
        "conflict_file": is_written_out.then(|| ledger.planning.join(&path)),
        "branch_file": on_branch,
        "relative_path": path,
        "preserved_branch": preserved,
        "not_preserved": left,
        "pr_path": next_step(&args, &path, branches.as_ref()),
    }))
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
    if made.displaced.is_none() && made.left.is_empty() {
        text.push_str("; no file lies under the surfaces, so no work is kept on a branch");
    } else if !made.left.is_empty() {
        text.push_str("; save what not_preserved names by hand");
    }
    text
}

impl Branches {
    /// Takes back what was made for a record that was not. The work itself is still where it was.
    fn take_back(&self, git: &Git) {
        for made in [Some(&self.conflict), self.displaced.as_ref()].into_iter().flatten() {
            git.take_back(&made.name, &made.commit);
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
        let agent = named(haid)?;
        if call.desk.ask(who, "agent.get", &json!({ "agent": agent })).is_err() {
            let message = format!("displaced_haid: no agent {haid} is registered in this project");
            let way_out = "Name one that `althing do agent.list {}` shows, or leave displaced_haid \
                           out: then it is whoever holds the surfaces.";
            return Err(Fault::usage(&message).told(message, way_out));
        }
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

/// Makes both branches, or neither.
fn branch_out(
    git: &Git,
    ledger: &Ledger,
    call: &Call<'_>,
    who: &Identity,
    args: &RaiseConflict,
    record: &Record,
) -> Result<Branches, Fault> {
    let conflict = format!("conflict/{}", args.id);
    let keeps = args.displaced_haid.as_deref().unwrap_or("unspecified");
    let displaced = format!("displaced/{}-{}", slug(keeps), args.id);
    for name in [&conflict, &displaced] {
        if !git.is_branch_name(name) {
            return Err(Fault::usage(format!("raise_conflict_pr: no branch can be called {name}")));
        }
        if git.has_branch(name) {
            let message = format!("branch {name} is there already; choose another id");
            return Err(Fault::refused(Rule::DisputeOnce, message));
        }
    }
    let scratch = call.desk.setup.home.root();
    let kept = preserve(git, scratch, args, &record.surfaces, keeps)?;
    let text = file(args, record, who, &kept, &displaced)?;
    let draft = git.draft(scratch)?;
    draft.put(&path_in_tree(ledger, call, &record.path), &text)?;
    let message = format!(
        "Conflict {}: {}\n\nRaised through {SERVER}.\n\nHeimdall-Agent: {}\n",
        args.id, args.title, who.shown
    );
    let commit = draft.commit(&message)?;
    let Kept { commit: kept, left } = kept;
    let displaced = match kept {
        Some(commit) => {
            git.make_branch(&displaced, &commit)?;
            Some(Made { name: displaced, commit })
        }
        None => None,
    };
    if let Err(fault) = git.make_branch(&conflict, &commit) {
        if let Some(kept) = &displaced {
            git.take_back(&kept.name, &kept.commit);
        }
        return Err(fault);
    }
    Ok(Branches { conflict: Made { name: conflict, commit }, displaced, left })
}

/// A commit of what is in the work tree under the surfaces in dispute, on top of what is checked
/// out. None if nothing is there.
fn preserve(
    git: &Git,
    scratch: &Path,
    args: &RaiseConflict,
    surfaces: &Surfaces,
    keeps: &str,
) -> Result<Kept, Fault> {
    let draft = git.draft(scratch)?;
    let taken = draft.take(|name| is_under(surfaces, name))?;
    if taken.files == 0 {
        return Ok(Kept { commit: None, left: taken.left });
    }
    let message = format!(
        "Work displaced by conflict {}: {}\n\nThe work tree under {} as it was, on top of what was \
         checked out.\n{}\nHeimdall-Agent: {keeps}\n",
        args.id,
        args.title,
        args.surfaces.join(", "),
        listed(&taken.left),
    );
    Ok(Kept { commit: Some(draft.commit(&message)?), left: taken.left })
}

/// What was not preserved, for people to read.
fn listed(left: &[Left]) -> String {
    if left.is_empty() {
        return String::new();
    }
    let lines: Vec<String> =
        left.iter().map(|left| format!("- {}: {}\n", left.path, left.why)).collect();
    format!("\n## Not preserved\n\n{}", lines.concat())
}

/// Whether a file lies under the surfaces. A name that no surface can have is compared with
/// what it has in common with those that can: rather one file too many is kept than one lost.
fn is_under(surfaces: &Surfaces, name: &[u8]) -> bool {
    let name: String = String::from_utf8_lossy(name)
        .chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    let mut part = name.as_str();
    loop {
        if let Ok(path) = Surface::new(&Surface::escape(part)) {
            return surfaces.as_slice().iter().any(|surface| surface.meets(&path));
        }
        match part.rsplit_once('/') {
            Some((above, _)) => part = above,
            None => return true,
        }
    }
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
fn command(args: &RaiseConflict, made: Option<&Branches>, preserved: Option<&str>) -> Value {
    let mut record = json!({ "id": args.id, "title": args.title, "surfaces": args.surfaces });
    let conflict = made.map(|made| made.conflict.name.as_str());
    for (field, value) in [
        ("displaced", args.displaced_haid.as_deref()),
        ("overriding_intent", args.overriding_intent.as_deref()),
        ("displaced_intent", args.displaced_intent.as_deref()),
        ("preserved_branch", preserved),
        ("conflict_branch", conflict),
    ] {
        if let Some(value) = value {
            record[field] = value.into();
        }
    }
    record
}

/// The record, for people to review.
fn file(
    args: &RaiseConflict,
    record: &Record,
    who: &Identity,
    kept: &Kept,
    branch: &str,
) -> Result<String, Fault> {
    let displaced = args.displaced_haid.as_deref().map(Label::new).transpose();
    let text = planning::conflict(&DisputeView {
        id: record.id.clone(),
        title: args.title.clone(),
        surfaces: record.surfaces.as_slice().to_vec(),
        displaced: displaced.map_err(|error| unusable(&error))?,
        overriding_intent: args.overriding_intent.clone(),
        displaced_intent: args.displaced_intent.clone(),
        preserved_branch: kept.commit.as_ref().map(|_| branch.to_owned()),
        conflict_branch: Some(format!("conflict/{}", args.id)),
        raised_at: record.at,
        raised_by: Principal::Agent(who.agent.clone()),
    });
    Ok(text + &listed(&kept.left))
}
