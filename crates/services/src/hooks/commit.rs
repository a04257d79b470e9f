//! Files that are about to be committed.

use althing_kernel::lease::{Paths, SURFACES_MAX, Surfaces, Unheld, Use};
use althing_kernel::query::{Answer, Collision, LeaseCheck, Query};
use althing_kernel::{AgentName, Command, Principal, Surface, WorkspaceId};
use serde_json::json;

use super::words::{Refused, collision, reason};
use crate::context::ProjectContext;
use crate::error::Error;

/// Whoever commits, as far as that is known.
#[derive(Clone, Debug, Default)]
pub struct Committer {
    /// The agents that the commit is made by: one, or all that the program around it acts for. None for a
    /// person, and for whoever is not known.
    pub agents: Vec<AgentName>,
    /// The attempt that it is a part of.
    pub workspace: Option<WorkspaceId>,
    /// Whether files outside the authority of the attempt may be committed.
    pub outside: bool,
}

/// Asks whether files may be committed, given by their paths from the project's root. Returns the refusal, if
/// there is one. A known agent is refused by the kernel, on record; anybody else is only kept from committing
/// what agents hold.
pub fn commit(
    context: &ProjectContext,
    by: &Committer,
    paths: &[String],
) -> Result<Option<Refused>, Error> {
    let read = |path: &String| Surface::new(&Surface::escape(path)).ok();
    let surfaces: Vec<Surface> = paths.iter().filter_map(read).collect();
    for chunk in surfaces.chunks(SURFACES_MAX) {
        if let Some(refused) = refusal(context, by, chunk)? {
            return Ok(Some(refused));
        }
    }
    Ok(None)
}

fn refusal(
    context: &ProjectContext,
    by: &Committer,
    surfaces: &[Surface],
) -> Result<Option<Refused>, Error> {
    let others = held_by_others(context, by, surfaces)?;
    if by.agents.is_empty() {
        let Some(first) = others.first() else { return Ok(None) };
        let text = collision(&others, "NAME", context.now());
        let error = Error::collision(format!("{} is held by {}", first.wanted, first.holder));
        let error = error.with(json!({ "collisions": others }));
        return Ok(Some(Refused { reason: format!("{text} [{}]", error.rule()), error }));
    }
    // Without an attempt, files that nobody else holds need no decision.
    if others.is_empty() && by.workspace.is_none() {
        return Ok(None);
    }
    let Ok(paths) = Paths::new(surfaces.to_vec()) else { return Ok(None) };
    let command = Command::LeaseUse(Use {
        outside: by.outside,
        paths,
        purpose: None,
        ttl_s: None,
        unheld: Unheld::Allow,
        workspace: by.workspace.clone(),
    });
    let client = context.client()?;
    if client.settled(&command)?.is_some() {
        return Ok(None);
    }
    match client.execute(command) {
        Ok(_) => Ok(None),
        Err(althing_engine::EngineError::Refused(refusal)) => {
            let reason = reason(&refusal, client.principal(), context.now());
            Ok(Some(Refused { reason, error: Error::from(*refusal) }))
        }
        Err(error) => Err(error.into()),
    }
}

/// The leases on files that are held by agents other than those who commit.
fn held_by_others(
    context: &ProjectContext,
    by: &Committer,
    surfaces: &[Surface],
) -> Result<Vec<Collision>, Error> {
    let Ok(surfaces) = Surfaces::new(surfaces.to_vec()) else { return Ok(Vec::new()) };
    let holder = by.agents.first().cloned().map(Principal::Agent);
    let check = LeaseCheck { holder, epoch: None, surfaces };
    let report = match context.opened()?.ask(&Query::LeaseCheck(check))? {
        Answer::Check(report) => report,
        other => return Err(Error::unexpected(&other)),
    };
    let is_other = |own: &Collision| match &own.holder {
        Principal::Agent(name) => !by.agents.contains(name),
        Principal::User(_) | Principal::System => !by.agents.is_empty(),
    };
    Ok(report.collisions.into_iter().filter(is_other).collect())
}
