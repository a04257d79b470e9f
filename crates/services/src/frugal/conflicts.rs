//! `raise_conflict_pr`: both sides of a conflict on record, on a branch that people can review,
//! with the work that has to give way kept on a branch of its own.

use althing_dialects::frugal::planning;
use althing_kernel::blackboard::view::{BlackboardAnswer, DisputeView, OfHandle};
use althing_kernel::blackboard::{Handle, Label, dispute};
use althing_kernel::lease::Surfaces;
use althing_kernel::query::{Answer, LeaseCheck, Query};
use althing_kernel::text::Text;
use althing_kernel::{Command, Principal, Rule, Surface, Timestamp};
use althing_workshop::git::{Branch, Git, Left};
use althing_workshop::scratch::Scratch;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::displaced::{Kept, Work, free};
use super::{Ledger, SERVER, in_the_way, named, registered, shown};
use crate::context::ProjectContext;
use crate::error::{Error, ErrorKind};
use crate::project::Identity;

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
    /// One branch for each work tree with displaced work; empty if there is none.
    displaced: Vec<Branch>,
    /// Files under the surfaces that no branch keeps.
    left: Vec<Left>,
}

/// Facts of the conflict record that are not arguments.
struct Record {
    id: Handle,
    surfaces: Surfaces,
    at: Timestamp,
    /// The path of the record below the planning folder.
    path: String,
}

/// Raises a conflict over surfaces: records it, and puts the record and the displaced work on
/// branches for people to review.
pub fn raise(
    ledger: &Ledger,
    context: &ProjectContext,
    who: &Identity,
    args: RaiseConflict,
) -> Result<Value, Error> {
    let id = Handle::new(&args.id).map_err(|error| unusable(&error))?;
    let at = context.engine()?.now();
    let path = planning::conflict_path(at, &id);
    let record = Record { id, surfaces: surfaces(&args.surfaces)?, at, path };
    let args = RaiseConflict { displaced_haid: displaced(context, who, &args, &record)?, ..args };
    let scratch = if context.setup().is_git {
        Some(Scratch::take(context.setup().home.root())?)
    } else {
        None
    };
    not_raised_yet(context, &record.id)?;
    // The text is screened for secrets before it is written on a branch.
    context.client()?.check_text(Command::DisputeRaise(command(&args, &record, None)?))?;
    let git = Git::new(&context.setup().root, &who.shown);
    let branches = match &scratch {
        Some(scratch) => {
            let made = branch_out(&git, scratch, ledger, context, who, &args, &record);
            Some(made.map_err(|error| context.on_record(COMMAND, error))?)
        }
        None => None,
    };
    let raised = command(&args, &record, branches.as_ref()).and_then(|command| {
        context.execute(Command::DisputeRaise(command.clone())).map(|_| command)
    });
    let command = raised.inspect_err(|_| {
        if let Some(made) = &branches {
            made.take_back(&git);
        }
    })?;
    let Record { path, .. } = record;
    // The planning files exist only if somebody asked for them.
    let is_written_out = ledger.planning.join(&path).is_file();
    let left: Vec<Value> = branches.iter().flat_map(|made| &made.left).map(left_out).collect();
    let on_branch = branches
        .as_ref()
        .map(|made| format!("{}:{}", made.conflict.name, path_in_tree(ledger, context, &path)));
    let mut raised = json!({
        "conflict_file": is_written_out.then(|| ledger.planning.join(&path)),
        "branch_file": on_branch,
        "relative_path": path,
        "preserved_branch": command.preserved_branch,
        "not_preserved": left,
        "pr_path": next_step(&args, &path, branches.as_ref()),
    });
    if !command.also_preserved.is_empty() {
        raised["also_preserved"] = json!(command.also_preserved);
    }
    Ok(raised)
}

/// Refuses a conflict that is on record already.
fn not_raised_yet(context: &ProjectContext, id: &Handle) -> Result<(), Error> {
    match context.ask(&Query::DisputeGet(OfHandle { id: id.clone() })) {
        Ok(Answer::Blackboard(BlackboardAnswer::Dispute(there))) => {
            let path = planning::conflict_path(there.raised_at, id);
            let message = format!("conflict record already exists: {path}");
            Err(context.on_record(COMMAND, Error::refused(Rule::DisputeOnce, message)))
        }
        Ok(other) => Err(Error::unexpected(&other)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn left_out(left: &Left) -> Value {
    json!({ "path": left.path, "why": left.why })
}

/// Describes the next step for a person: push the branch and open a pull request.
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
    /// Removes the branches of a conflict that could not be recorded. The work itself is untouched.
    fn take_back(&self, git: &Git) {
        for made in self.displaced.iter().chain([&self.conflict]) {
            git.take_back(made);
        }
    }
}

fn unusable(error: &dyn std::fmt::Display) -> Error {
    Error::unreadable(format!("raise_conflict_pr: {error}"))
}

fn surfaces(given: &[String]) -> Result<Surfaces, Error> {
    let list: Result<Vec<Surface>, _> = given.iter().map(|text| Surface::new(text)).collect();
    Surfaces::new(list.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))
}

/// The agent whose work is displaced: the one named, else the only other holder of the surfaces.
fn displaced(
    context: &ProjectContext,
    who: &Identity,
    args: &RaiseConflict,
    record: &Record,
) -> Result<Option<String>, Error> {
    if let Some(haid) = &args.displaced_haid {
        registered(context, COMMAND, "displaced_haid", haid)?;
        return Ok(Some(haid.clone()));
    }
    let holder = Some(Principal::Agent(who.agent.clone()));
    let check = LeaseCheck { holder, epoch: None, surfaces: record.surfaces.clone() };
    let found = match context.engine()?.ask(&Query::LeaseCheck(check))? {
        Answer::Check(found) => found,
        other => return Err(Error::unexpected(&other)),
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
    context: &ProjectContext,
    who: &Identity,
    args: &RaiseConflict,
    record: &Record,
) -> Result<Branches, Error> {
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
    draft.put(&path_in_tree(ledger, context, &record.path), &file(args, record, who, &made)?)?;
    let message = format!(
        "{beginning}{}\n\nRaised through {SERVER}.\n\nHeimdall-Agent: {}\n",
        planning::one_line(&args.title),
        who.shown
    );
    made.conflict.commit = draft.commit(&message, made.conflict.before.as_deref())?;
    // The work comes first, so that the record never names a branch that does not exist.
    for branch in made.displaced.iter().chain([&made.conflict]) {
        if let Err(error) = git.put(branch) {
            made.take_back(git);
            return Err(error.into());
        }
    }
    Ok(made)
}

/// The path of the record within the repository.
fn path_in_tree(ledger: &Ledger, context: &ProjectContext, relative: &str) -> String {
    let inside = ledger.planning.strip_prefix(&context.setup().root).ok();
    let names: Option<Vec<&str>> =
        inside.and_then(|inside| inside.iter().map(|name| name.to_str()).collect());
    match names {
        Some(names) if !names.is_empty() => format!("{}/{relative}", names.join("/")),
        _ => format!(".planning/{relative}"),
    }
}

/// Builds the command that records the conflict.
fn command(
    args: &RaiseConflict,
    record: &Record,
    made: Option<&Branches>,
) -> Result<dispute::Raise, Error> {
    let displaced = made.map_or(&[][..], |made| made.displaced.as_slice());
    let left = made.map(|made| not_preserved(&made.left)).unwrap_or_default();
    Ok(dispute::Raise {
        id: record.id.clone(),
        title: text(&args.title)?,
        surfaces: record.surfaces.clone(),
        displaced: args.displaced_haid.as_deref().map(name).transpose()?,
        displaced_agent: args.displaced_haid.as_deref().and_then(|haid| named(haid).ok()),
        overriding_intent: args.overriding_intent.as_deref().map(text).transpose()?,
        displaced_intent: args.displaced_intent.as_deref().map(text).transpose()?,
        preserved_branch: displaced.first().map(|branch| text(&branch.name)).transpose()?,
        also_preserved: texts(&also(displaced))?,
        not_preserved: texts(&left)?,
        conflict_branch: made.map(|made| text(&made.conflict.name)).transpose()?,
        via: Some(name(SERVER)?),
    })
}

fn text<const MAX: usize>(text: &str) -> Result<Text<MAX>, Error> {
    Text::new(text).map_err(|error| unusable(&error))
}

fn texts<const MAX: usize>(list: &[String]) -> Result<Vec<Text<MAX>>, Error> {
    list.iter().map(|line| text(line)).collect()
}

fn name(text: &str) -> Result<Label, Error> {
    Label::new(text).map_err(|error| unusable(&error))
}

/// The branches after the first.
fn also(displaced: &[Branch]) -> Vec<String> {
    displaced.iter().skip(1).map(|branch| branch.name.clone()).collect()
}

/// Lists the files that were not kept, one line each, up to the number an entry may hold.
fn not_preserved(left: &[Left]) -> Vec<String> {
    let line = |left: &Left| dispute::NotPreserved::lossy(&left.line()).to_string();
    if left.len() <= dispute::NOT_PRESERVED_MAX {
        return left.iter().map(line).collect();
    }
    let (named, more) = left.split_at(dispute::NOT_PRESERVED_MAX - 1);
    named.iter().map(line).chain([format!("and {} more", more.len())]).collect()
}

/// The text of the record's file.
fn file(
    args: &RaiseConflict,
    record: &Record,
    who: &Identity,
    made: &Branches,
) -> Result<String, Error> {
    Ok(planning::conflict(&DisputeView {
        id: record.id.clone(),
        title: args.title.clone(),
        surfaces: record.surfaces.as_slice().to_vec(),
        displaced: args.displaced_haid.as_deref().map(name).transpose()?,
        overriding_intent: args.overriding_intent.clone(),
        displaced_intent: args.displaced_intent.clone(),
        preserved_branch: made.displaced.first().map(|branch| branch.name.clone()),
        also_preserved: also(&made.displaced),
        not_preserved: not_preserved(&made.left),
        conflict_branch: Some(made.conflict.name.clone()),
        via: Some(name(SERVER)?),
        raised_at: record.at,
        raised_by: Principal::Agent(who.agent.clone()),
    }))
}
