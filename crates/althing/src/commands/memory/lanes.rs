//! `althing memory coordinate`, `dispatch`, `loop`, `sweep`, `harvest`: what they take.

use althing_dialects::memory::entity;
use althing_dialects::memory::words::labelled;
use althing_kernel::records::Kind;
use althing_services::memory::Verb;
use althing_services::memory::args::{
    Act, Aim, Artifact, Coordinate, Dispatch, DispatchIntent, Harvest, Loop, Place,
};
use std::collections::BTreeMap;

use super::chosen;
use crate::cli::{self, LoopAct, MemoryCoordinate, MemoryDispatch, MemoryHarvest, MemoryLoop};
use crate::error::Error;

/// The hint for a missing loop.
const HELP: &str = "`althing memory find loop` shows what there is; `althing memory loop --help` \
                    shows its arguments.";

/// `NAME=VALUE`
pub(super) fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), Error> {
    let wrong = || Error::usage(format!("{option} {text:?}: write NAME=VALUE"));
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim(), value.trim()))
}

pub(super) fn coordinate(own: &MemoryCoordinate) -> Result<Coordinate, Error> {
    let mut scopes = BTreeMap::new();
    for text in &own.scopes {
        let (agent, scope) = pair("--lane-scope", text)?;
        if scopes.insert(agent.to_owned(), scope.to_owned()).is_some() {
            let message = format!("--lane-scope names {agent} twice; put commas between paths");
            return Err(Error::usage(message));
        }
    }
    Ok(Coordinate {
        intent: match own.intent {
            cli::Aim::Assign => Aim::Assign,
            cli::Aim::Consult => Aim::Consult,
            cli::Aim::Review => Aim::Review,
            cli::Aim::Reroute => Aim::Reroute,
            cli::Aim::Summarize => Aim::Summarize,
            cli::Aim::Ideate => Aim::Ideate,
        },
        task: own.task.clone().unwrap_or_default(),
        targets: own.targets.clone(),
        scope: own.scope.clone(),
        scopes,
        plan: own.plan.clone(),
        assignment: own.assignment.clone(),
        worktree: own.worktree.clone(),
        lane: own.lane.clone(),
        thread: own.thread.clone(),
        open_loop: own.open_loop,
        allow_dirty: own.allow_dirty,
        reference: own.reference.clone(),
        client_request_id: own.request_id.clone(),
    })
}

pub(super) fn dispatch(own: &MemoryDispatch) -> Dispatch {
    Dispatch {
        intent: match own.intent {
            cli::DispatchIntent::Analysis => DispatchIntent::Analysis,
            cli::DispatchIntent::Execute => DispatchIntent::Execute,
            cli::DispatchIntent::Review => DispatchIntent::Review,
        },
        sequence: own.sequence.clone(),
        agents: own.agents.clone(),
        lanes: own.lanes.clone(),
        assignments_max: own.max,
        capacity: own.capacity,
        dry_run: own.dry_run,
        allow_dirty: own.allow_dirty,
        handoff: own.handoff.clone(),
        reviewer: own.reviewer.clone(),
        open_loop: own.open_loop,
        client_request_id: own.request_id.clone(),
    }
}

fn act(own: LoopAct) -> Act {
    match own {
        LoopAct::Open => Act::Open,
        LoopAct::Get => Act::Get,
        LoopAct::List => Act::List,
        LoopAct::Turn => Act::Turn,
        LoopAct::CompleteTurn => Act::CompleteTurn,
        LoopAct::Advance => Act::Advance,
        LoopAct::AddArtifact => Act::AddArtifact,
        LoopAct::Pause => Act::Pause,
        LoopAct::Resume => Act::Resume,
        LoopAct::Close => Act::Close,
        LoopAct::Bind => Act::Bind,
        LoopAct::Continue => Act::Continue,
        LoopAct::Takeover => Act::Takeover,
        LoopAct::Verify => Act::Verify,
        LoopAct::RequestInput => Act::RequestInput,
        LoopAct::ProvideInput => Act::ProvideInput,
    }
}

pub(super) fn rounds(own: &MemoryLoop) -> Result<Loop, Error> {
    let artifact = |text: &String| {
        let (sort, place) = pair("--artifact", text)?;
        Ok::<Artifact, Error>(Artifact {
            sort: sort.to_owned(),
            place: place.to_owned(),
            description: None,
        })
    };
    let artifact = own.artifact.as_ref().map(artifact).transpose()?;
    if let Some(id) = &own.id {
        let known = entity::id(Kind::Loop, id);
        known.map_err(|error| Error::usage(labelled(&error)).hint(HELP.to_owned()))?;
    }
    let place = |agent: &String| Place { agent: agent.clone(), role: None, assignment: None };
    let (slots, to_agent) = match own.agents.as_slice() {
        [agent] if own.intent == LoopAct::Takeover => (Vec::new(), Some(agent.clone())),
        agents => (agents.iter().map(place).collect(), None),
    };
    Ok(Loop {
        intent: act(own.intent),
        id: own.id.clone(),
        kind: chosen(Verb::Loop, "kind", own.kind.as_ref())?,
        task: own.task.clone(),
        slots,
        stop_conditions: own.stop_conditions.clone(),
        plan: own.plan.clone(),
        allow_orphan: own.allow_orphan,
        slot: own.slot.clone(),
        outcome: own.outcome.clone(),
        phase: own.phase.clone(),
        artifact,
        status: chosen(Verb::Loop, "status", own.status.as_ref())?,
        assignment: own.assignment.clone(),
        to_agent,
        verdict: chosen(Verb::Loop, "verdict", own.verdict.as_ref())?,
        message: own.message.clone(),
        reason: own.reason.clone(),
        expected_version: own.expected_version,
        client_request_id: own.request_id.clone(),
    })
}

pub(super) fn harvest(own: &MemoryHarvest) -> Harvest {
    Harvest {
        assignment: own.assignment.clone(),
        integrate: own.integrate,
        allow_outside: own.allow_outside,
    }
}
