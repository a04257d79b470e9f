//! Files that are about to be edited.

use althing_engine::{Client, EngineError};
use althing_kernel::lease::{Paths, Ttl, Unheld, Use};
use althing_kernel::query::LeaseView;
use althing_kernel::refusal::Details;
use althing_kernel::session::{Connection, Grace, Open};
use althing_kernel::text::Text;
use althing_kernel::{Command, Principal, Reply, Rule, Surface, Timestamp, WorkspaceId};
use std::time::Duration;

use super::words::{EDITED, Refused, reason};
use super::{OnEdit, Outside};
use crate::context::ProjectContext;
use crate::error::Error;

/// How long what a program claimed by editing stays after the program has ended, in seconds.
const GRACE_SECS: i128 = 1;

/// The longest that an edit waits for what a program that has ended still holds.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// An edit of files, as the settings have it.
#[derive(Clone, Debug)]
pub struct Edit {
    /// What becomes of files that nobody holds.
    pub on_edit: OnEdit,
    /// What becomes of files outside the authority of the attempt.
    pub outside: Outside,
    /// The attempt that it is a part of.
    pub workspace: Option<WorkspaceId>,
    /// How long what is claimed is held.
    pub ttl: Ttl,
    /// The program that edits, if what it holds is to end with it.
    pub program: Option<Program>,
}

/// A running program that calls hooks.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its kind, such as `claude`.
    pub kind: &'static str,
    /// The name of its process.
    pub process: String,
}

/// Whether files may be edited.
#[derive(Debug)]
pub enum Verdict {
    /// They may, with what was claimed for it.
    Allowed(Vec<LeaseView>),
    /// They may not.
    Refused(Box<Refused>),
    /// They may if the person at the agent says so.
    Ask(Box<Refused>),
}

/// Asks whether the caller may edit files, given by their paths from the project's root. `tracked` gives
/// back those that count, and is asked only if something would have to be recorded.
pub fn edit(
    context: &ProjectContext,
    edit: &Edit,
    paths: &[String],
    tracked: impl Fn(&[String]) -> Vec<String>,
) -> Result<Verdict, Error> {
    let client = context.client()?;
    let all = commands(edit, client.principal(), paths);
    let is_settled = |command: &Command| client.settled(command).map(|reply| reply.is_some());
    let settled: Result<Vec<bool>, EngineError> = all.iter().map(is_settled).collect();
    if settled?.into_iter().all(|is_settled| is_settled) {
        return Ok(Verdict::Allowed(Vec::new()));
    }
    let paths = tracked(paths);
    if paths.is_empty() {
        return Ok(Verdict::Allowed(Vec::new()));
    }
    let client = match &edit.program {
        Some(program) if edit.workspace.is_none() => {
            let session = session_of(context, &client, program)?;
            client.in_session(session)
        }
        _ => client,
    };
    let mut claimed = Vec::new();
    for command in commands(edit, client.principal(), &paths) {
        match executed(context, &client, &command) {
            Ok(Reply::Used(used)) => claimed.extend(used.claimed),
            Ok(other) => return Err(Error::unexpected(&other)),
            Err(EngineError::Refused(refusal)) => {
                let reason = reason(&refusal, client.principal(), context.now());
                let asks = refusal.rule == Rule::Authority && edit.outside == Outside::Ask;
                let refused = Box::new(Refused { reason, error: Error::from(*refusal) });
                return Ok(if asks { Verdict::Ask(refused) } else { Verdict::Refused(refused) });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Verdict::Allowed(claimed))
}

/// Issues a command. If only programs that have ended are in the way, and not for long, it is issued again
/// once they are not.
fn executed(
    context: &ProjectContext,
    client: &Client,
    command: &Command,
) -> Result<Reply, EngineError> {
    let refusal = match client.execute(command.clone()) {
        Err(EngineError::Refused(refusal)) => refusal,
        other => return other,
    };
    let Details::Collisions(held) = &refusal.details else {
        return Err(EngineError::Refused(refusal));
    };
    let free = held.iter().map(|own| own.host_gone.map(|gone| gone.until));
    let free = free.collect::<Option<Vec<Timestamp>>>().and_then(|all| all.into_iter().max());
    let wait = free.map(|free| Duration::from_micros(free.since(context.now()).micros()));
    match wait.filter(|wait| *wait <= WAIT_MAX) {
        Some(wait) => {
            std::thread::sleep(wait + Duration::from_millis(1));
            client.execute(command.clone())
        }
        None => Err(EngineError::Refused(refusal)),
    }
}

/// The session of a program, in which its claims end soon after it does.
fn session_of(
    context: &ProjectContext,
    client: &Client,
    program: &Program,
) -> Result<Option<WorkspaceId>, Error> {
    let Principal::Agent(agent) = client.principal() else { return Ok(None) };
    let Ok(name) = Text::new(&program.process) else { return Ok(None) };
    let label: Text<128> = Text::lossy(&format!("{} hooks", program.kind));
    let engine = context.opened()?;
    let world = engine.world()?;
    let now = engine.moment(&world.state);
    if let Some(known) = world.state.session_through(agent, &label, &name, now) {
        return Ok(Some(known.clone()));
    }
    let grace_s = Grace::new(GRACE_SECS).map_err(Error::unreadable)?;
    let connection = Some(Connection { grace_s, name });
    let open = Open { client: Some(label), connection, idle_s: None };
    match client.execute(Command::SessionOpen(open))? {
        Reply::Session(session) => Ok(Some(session.workspace)),
        other => Err(Error::unexpected(&other)),
    }
}

/// The commands for some paths, as many at once as fit. What is no path of a project is nobody's.
fn commands(edit: &Edit, who: &Principal, paths: &[String]) -> Vec<Command> {
    let read = |path: &String| Surface::new(&Surface::escape(path)).ok();
    let surfaces: Vec<Surface> = paths.iter().filter_map(read).collect();
    let name = who.to_string();
    let purpose = format!("{EDITED}{}", name.trim_start_matches("agent:"));
    let chunks = surfaces.chunks(althing_kernel::lease::SURFACES_MAX);
    let uses = chunks.filter_map(|chunk| Paths::new(chunk.to_vec()).ok()).map(|paths| Use {
        outside: edit.outside == Outside::Allow,
        paths,
        purpose: Some(Text::lossy(&purpose)),
        ttl_s: Some(edit.ttl),
        unheld: match edit.on_edit {
            OnEdit::Auto => Unheld::Claim,
            OnEdit::Require => Unheld::Refuse,
            OnEdit::Off => Unheld::Allow,
        },
        workspace: edit.workspace.clone(),
    });
    uses.map(Command::LeaseUse).collect()
}
