//! The merge queue: finished work goes into the branch of the run, one piece after the other.
//!
//! What can be merged is merged in a row, without touching a file: each merge builds on the one
//! before. The checks run on each of them; the first piece with which they fail goes back to its agent
//! with what was found, and what comes after it is merged anew. The kernel decides about each merge
//! before the branch moves; a process that is killed in between leaves a branch that [`settle`] brings
//! to where the trail says it is.

use althing_kernel::checkpoint::{self, Confidence};
use althing_kernel::content::Content;
use althing_kernel::file::{FILES_MAX, FileArg};
use althing_kernel::integration::{Decide, Decision};
use althing_kernel::lease::Surfaces;
use althing_kernel::query::{Answer, LeaseCheck, Query};
use althing_kernel::signal::{Emit, SignalType};
use althing_kernel::task::terms::Terms;
use althing_kernel::text::Text;
use althing_kernel::token::TypeName;
use althing_kernel::workspace::Status;
use althing_kernel::workspace::branch::{Branch, Merge};
use althing_kernel::{AgentName, Command, Principal, Reply, Rule, Surface, WorkspaceId};
use althing_workshop::changes::{Change, ChangeKind, between};
use althing_workshop::command::{self, Limits};
use althing_workshop::git::message::Message;
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::{BranchName, RefName};
use althing_workshop::merge::{Advance, Conflicts, FastForward, Merged};
use std::fmt::Write as _;
use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

use super::attempt::Passed;
use super::evidence::{file_path, is_allowed};
use super::prepare::{commit_id, git, object, provisions, run_set_up, target, view};
use super::shared::Shared;
use crate::error::{Error, ErrorKind};

/// How many files are asked about at once.
const SURFACES_AT_ONCE: usize = 32;
/// How long somebody waits for a merge that goes on.
const LOCK_WAIT: Duration = Duration::from_mins(1);

/// Work that can be merged.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) id: WorkspaceId,
    pub(crate) agent: AgentName,
    pub(crate) key: String,
    pub(crate) title: String,
    pub(crate) run: String,
    pub(crate) terms: Terms,
    pub(crate) passed: Passed,
}

/// What came of a piece of work in the queue.
#[derive(Clone, Debug)]
pub(crate) enum Landed {
    /// It is merged, with this commit.
    Merged(String),
    /// It goes back to its agent. If the tip has to be merged into its worktree first, that is said.
    Returned {
        /// What was found.
        evidence: String,
        /// Whether it conflicts with what was merged meanwhile.
        conflicts: bool,
    },
    /// A person has to approve it, at this gate.
    Gate(String),
    /// Somebody holds what it changes; it is tried again later.
    Held(String),
    /// It stays in the queue.
    Later,
}

/// The lock that one process at a time merges under.
pub(crate) fn lock(shared: &Shared) -> Result<Option<File>, Error> {
    let folder = shared.folder();
    let path = folder.join("merge.lock");
    let cannot = |error: std::io::Error| Error::unavailable(format!("{}: {error}", path.display()));
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    let file = File::options().create(true).append(true).open(&path).map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}

/// The same lock, as soon as it is free.
pub(crate) fn wait_lock(shared: &Shared) -> Result<File, Error> {
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        if let Some(lock) = lock(shared)? {
            return Ok(lock);
        }
        if Instant::now() > deadline {
            let message = "another process has been merging for a long time";
            return Err(
                Error::unavailable(message).hint("Try again later, or `althing stop` first.")
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A merge that git has made and nobody has decided about.
struct Made {
    candidate: Candidate,
    onto: ObjectId,
    commit: ObjectId,
}

/// Merges what can be merged. Returns what came of each candidate.
pub(crate) fn work(
    shared: &Shared,
    candidates: Vec<Candidate>,
) -> Result<Vec<(WorkspaceId, Landed)>, Error> {
    let branch = settle(shared)?;
    let mut out = Vec::new();
    let mut row: Vec<Made> = Vec::new();
    let mut tip = object(&branch.tip)?;
    for candidate in candidates {
        match try_merge(shared, &candidate, &tip)? {
            Tried::Made(commit) => {
                row.push(Made { candidate, onto: tip, commit: commit.clone() });
                tip = commit;
            }
            Tried::Returned(landed) => out.push((candidate.id, landed)),
        }
    }
    let good = passing(shared, &row)?;
    for (at, made) in row.into_iter().enumerate() {
        let id = made.candidate.id.clone();
        let landed = match &good.failed {
            Some((first, evidence)) if at == *first => {
                Landed::Returned { evidence: evidence.clone(), conflicts: false }
            }
            _ if at >= good.count => Landed::Later,
            _ => match land(shared, &branch, &made) {
                Ok(landed) => landed,
                // Something is wrong with this piece alone.
                Err(error) if error.kind() == ErrorKind::Refused => {
                    let evidence = format!("It cannot be merged: {}", error.message());
                    Landed::Returned { evidence, conflicts: false }
                }
                // What was merged before it has to be told.
                Err(_) if !out.is_empty() => Landed::Later,
                Err(error) => return Err(error),
            },
        };
        let goes_on = matches!(landed, Landed::Merged(_));
        out.push((id, landed));
        if !goes_on && at < good.count {
            // The rest of the row builds on this one, and is made anew.
            break;
        }
    }
    Ok(out)
}

/// The outcome of trying a merge.
enum Tried {
    Made(ObjectId),
    Returned(Landed),
}

fn try_merge(shared: &Shared, candidate: &Candidate, tip: &ObjectId) -> Result<Tried, Error> {
    let head = ObjectId::new(&candidate.passed.commit).map_err(git)?;
    let allowed =
        |path: &althing_workshop::git::tree_path::TreePath| is_allowed(&candidate.terms, path);
    let merged = shared.repository().merge(tip, &head, Some(&allowed)).map_err(git)?;
    let returned =
        |evidence: String, conflicts| Ok(Tried::Returned(Landed::Returned { evidence, conflicts }));
    match merged {
        // Nothing to merge; the branch stays where it is.
        Merged::AlreadyIn => Ok(Tried::Made(tip.clone())),
        Merged::Clean(clean) => {
            let entry = shared.lead().engine()?.world()?.seq();
            let message = message(candidate).trailer("Althing-Entry", &entry.to_string());
            let repository = shared.repository().with_author(
                &althing_workshop::git::author::Author::agent(candidate.agent.as_str()),
            );
            let commit = repository.merge_commit(&clean, &message).map_err(git)?;
            Ok(Tried::Made(commit))
        }
        Merged::Outside { paths } => {
            let paths: Vec<String> =
                paths.iter().map(althing_workshop::git::tree_path::TreePath::shown).collect();
            returned(format!("These files may not be changed: {}", paths.join(", ")), false)
        }
        Merged::Conflicts(conflicts) => returned(in_words(&conflicts), true),
    }
}

fn in_words(conflicts: &Conflicts) -> String {
    let mut text =
        "Others changed the same lines meanwhile. Their work is merged into your folder; \
                    resolve the conflicts in these files, so that both changes are kept:\n"
            .to_owned();
    for conflict in &conflicts.conflicts {
        let _ = writeln!(text, "- {}", conflict.line());
    }
    text
}

/// The message of a merge commit, which says whose work it is.
fn message(candidate: &Candidate) -> Message {
    let said = candidate.passed.text.trim();
    let message = Message::new(&format!("{}: {}", candidate.key, candidate.title));
    let message = if said.is_empty() { message } else { message.body(said) };
    message
        .trailer("Althing-Task", &candidate.key)
        .trailer("Althing-Agent", candidate.agent.as_str())
        .trailer("Althing-Workspace", candidate.id.as_str())
        .trailer("Althing-Run", &candidate.run)
}

/// How much of a row passes the checks.
struct Passing {
    /// So many from the beginning.
    count: usize,
    /// The first with which they fail, and what was found.
    failed: Option<(usize, String)>,
}

/// Runs the checks on each merge of a row, up to the first with which they fail: the branch passes at
/// every commit.
fn passing(shared: &Shared, row: &[Made]) -> Result<Passing, Error> {
    for (at, made) in row.iter().enumerate() {
        if made.commit == made.onto {
            continue;
        }
        if let Some(evidence) = check(shared, &made.commit)? {
            return Ok(Passing { count: at, failed: Some((at, evidence)) });
        }
    }
    Ok(Passing { count: row.len(), failed: None })
}

/// Runs the project's checks on a commit. Returns what failed.
fn check(shared: &Shared, commit: &ObjectId) -> Result<Option<String>, Error> {
    if shared.settings.checks.is_empty() {
        return Ok(None);
    }
    let tree = shared.trees.scratch(commit, &provisions(shared)).map_err(git)?;
    run_set_up(shared, tree.path())?;
    let limits = Limits { time: shared.settings.check_timeout, ..Limits::default() };
    for command in &shared.settings.checks {
        let ran = command::run(tree.path(), command, &limits).map_err(git)?;
        if !ran.passed {
            let output = ran.output.trim();
            return Ok(Some(format!(
                "Merged with the work of others, `{command}` failed ({}):\n\n```\n{output}\n```",
                ran.ended
            )));
        }
    }
    Ok(None)
}

/// Has the kernel decide about a merge, and moves the branch.
fn land(shared: &Shared, branch: &Branch, made: &Made) -> Result<Landed, Error> {
    let candidate = &made.candidate;
    let hand_in = hand_in(shared, candidate, &made.onto);
    let decided = hand_in.and_then(|epoch| decide(shared, branch, made, epoch));
    match decided {
        Ok(Reply::Gate(gate)) => Ok(Landed::Gate(gate.gate.to_string())),
        Ok(_) => {
            move_branch(shared, branch, &made.onto, &made.commit)?;
            Ok(Landed::Merged(made.commit.to_string()))
        }
        Err(error) if error.kind() == ErrorKind::Collision => {
            Ok(Landed::Held(error.message().to_owned()))
        }
        Err(error) if error.rule() == Rule::GateWaits => Ok(Landed::Later),
        Err(error) if error.rule() == Rule::MergeStale => Ok(Landed::Later),
        Err(error) => Err(error),
    }
}

/// Makes the final checkpoint of an attempt and says that it is complete. Returns the fencing epoch of
/// the lease it worked under.
fn hand_in(shared: &Shared, candidate: &Candidate, onto: &ObjectId) -> Result<Option<u64>, Error> {
    let agent = shared.agent(&candidate.agent);
    let own = view(&agent, &candidate.id)?;
    let state = agent.present()?.state;
    let leases = state.leases().filter(|(_, own)| own.workspace.as_ref() == Some(&candidate.id));
    let epoch = leases.map(|(_, lease)| lease.epoch).max();
    if own.status == Status::Integrating {
        // Its agent handed it in and named the files itself; those that git merges are what counts.
        held_by_others(shared, &agent, candidate, onto)?;
        return Ok(epoch);
    }
    let commit = ObjectId::new(&candidate.passed.commit).map_err(git)?;
    let tree = shared.repository().tree_of(&commit).map_err(git)?;
    // The work of others that was merged into it is not its own.
    let base = shared.repository().merge_base(onto, &commit).map_err(git)?;
    let base = base.unwrap_or_else(|| onto.clone());
    let said = candidate.passed.text.trim();
    let create = checkpoint::Create {
        artifacts: Vec::new(),
        commit: Some(checkpoint::Commit { commit: commit_id(&commit)?, tree: commit_id(&tree)? }),
        confidence: Confidence::default(),
        content: (!said.is_empty()).then(|| Content::Text(said.into())),
        files_changed: files(shared, &agent, &base, &commit)?,
        intent: Text::lossy(&candidate.title),
        parent: own.head,
        resource_usage: None,
        status: checkpoint::Status::Final,
        kind: TypeName::artifact(),
        workspace: Some(candidate.id.clone()),
    };
    agent.execute(Command::CheckpointCreate(create))?;
    let emit = Emit {
        budget_warning: None,
        reason: None,
        about: None,
        signal: SignalType::Complete,
        workspace: Some(candidate.id.clone()),
    };
    agent.execute(Command::SignalEmit(emit))?;
    Ok(epoch)
}

/// Fails with a collision if somebody else holds a file that the work of an attempt changes.
fn held_by_others(
    shared: &Shared,
    agent: &crate::context::ProjectContext,
    candidate: &Candidate,
    onto: &ObjectId,
) -> Result<(), Error> {
    let commit = ObjectId::new(&candidate.passed.commit).map_err(git)?;
    let base = shared.repository().merge_base(onto, &commit).map_err(git)?;
    let changes = between(shared.repository(), &base.unwrap_or_else(|| onto.clone()), &commit);
    let changes = changes.map_err(git)?;
    let paths = changes.iter().flat_map(Change::paths);
    let surfaces: Vec<Surface> =
        paths.filter_map(file_path).map(|file| file.surface().clone()).collect();
    let own = Principal::Agent(candidate.agent.clone());
    for some in surfaces.chunks(SURFACES_AT_ONCE) {
        let Ok(surfaces) = Surfaces::new(some.to_vec()) else { continue };
        let asked = LeaseCheck { holder: Some(own.clone()), epoch: None, surfaces };
        match agent.ask(&Query::LeaseCheck(asked))? {
            Answer::Check(found) => {
                if let Some(held) = found.collisions.first() {
                    let message = format!("{} is held by {}", held.surface, held.holder);
                    return Err(Error::collision(message));
                }
            }
            other => return Err(Error::unexpected(&other)),
        }
    }
    Ok(())
}

/// The files that a commit changes, with their content.
fn files(
    shared: &Shared,
    agent: &crate::context::ProjectContext,
    base: &ObjectId,
    head: &ObjectId,
) -> Result<Vec<FileArg>, Error> {
    let changes = between(shared.repository(), base, head).map_err(git)?;
    let mut files = Vec::new();
    for change in &changes {
        for path in change.paths() {
            let is_gone = change.kind == ChangeKind::Deleted || *path != change.path;
            let Some(name) = file_path(path) else { continue };
            let content = if is_gone {
                None
            } else {
                let found = shared.repository().content(head, path).map_err(git)?;
                // A submodule has no content of its own.
                let Some(bytes) = found else { continue };
                let blob = agent.blobs().put(&bytes)?;
                agent.bring(blob.clone());
                Some(Content::Blob(blob))
            };
            files.push(FileArg { content, path: name });
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    if files.len() > FILES_MAX {
        let message = format!("it changes {} files, over {FILES_MAX}", files.len());
        return Err(Error::refused(Rule::Limits, message));
    }
    Ok(files)
}

fn decide(
    shared: &Shared,
    branch: &Branch,
    made: &Made,
    epoch: Option<u64>,
) -> Result<Reply, Error> {
    let merge = Merge {
        branch: branch.name.clone(),
        commit: commit_id(&made.commit)?,
        epoch,
        onto: commit_id(&made.onto)?,
    };
    let decide = Decide {
        conflicts: Vec::new(),
        decision: Decision::Accept,
        merge: Some(merge),
        merged: None,
        reason: None,
        strategy: None,
        workspace: made.candidate.id.clone(),
    };
    shared.lead().execute(Command::IntegrationDecide(decide))
}

/// Moves the branch of a run to a merge that is on record.
fn move_branch(
    shared: &Shared,
    branch: &Branch,
    from: &ObjectId,
    to: &ObjectId,
) -> Result<(), Error> {
    if from == to {
        return Ok(());
    }
    let name = BranchName::new(branch.name.as_str()).map_err(git)?;
    match shared.repository().advance(&name, from, to).map_err(git)? {
        Advance::Done => Ok(()),
        // The next look at it settles the rest.
        Advance::Moved { .. } => settle(shared).map(drop),
        Advance::CheckedOut { .. } => {
            match shared.repository().fast_forward(&name, from, to).map_err(git)? {
                FastForward::Done => Ok(()),
                FastForward::Refused(refusal) => {
                    Err(Error::unavailable(refusal.to_string()).hint(refusal.hint()))
                }
            }
        }
    }
}

/// Brings the branch of the run to where the trail says it is: merges that are on record and not on the
/// branch, because a process was killed or a person approved them elsewhere, are put there; commits
/// that somebody else put there are taken off and kept.
pub(crate) fn settle(shared: &Shared) -> Result<Branch, Error> {
    let lead = shared.lead();
    let state = lead.present()?.state;
    let (_, branch) = target(&state)?;
    let name = BranchName::new(branch.name.as_str()).map_err(git)?;
    let tip = object(&branch.tip)?;
    let repository = shared.repository();
    let Some(now) = repository.refs().read(&name.full()).map_err(git)? else {
        // Somebody deleted it.
        repository.refs().swap(&name.full(), &tip, None, "althing: restore").map_err(git)?;
        return Ok(branch);
    };
    if now == tip {
        return Ok(branch);
    }
    if repository.is_ancestor(&now, &tip).map_err(git)? {
        match repository.fast_forward(&name, &now, &tip).map_err(git)? {
            FastForward::Done => return Ok(branch),
            FastForward::Refused(refusal) => {
                return Err(Error::unavailable(refusal.to_string()).hint(refusal.hint()));
            }
        }
    }
    restore(shared, &name, &now, &tip)?;
    Ok(branch)
}

/// Puts the branch of a run back to where the trail says it is. Commits that somebody else put there
/// were not checked; they are kept under a ref.
fn restore(
    shared: &Shared,
    name: &BranchName,
    now: &ObjectId,
    tip: &ObjectId,
) -> Result<(), Error> {
    let kept = format!("refs/althing/moved/{}/{}", name.as_str(), now.short());
    let message = format!("{name} was moved to {} by somebody else", now.short());
    let hint = format!("Its commits are kept in {kept}; merge what you need of them at the end.");
    let survey = shared.repository().survey();
    let survey =
        survey.map_err(|error| Error::unavailable(error.to_string()).hint(error.hint()))?;
    if survey.head.branch() == Some(name) {
        let way_out =
            format!("It is checked out. Put it back: `git reset --keep {}`.", tip.short());
        return Err(Error::unavailable(message).hint(way_out));
    }
    let refs = shared.repository().refs();
    let kept = RefName::new(&kept).map_err(git)?;
    refs.swap(&kept, now, None, "althing: moved by somebody else").map_err(git)?;
    refs.swap(&name.full(), tip, Some(now), "althing: restore").map_err(git)?;
    tracing::warn!("{message}. {hint}");
    Ok(())
}
