//! Orders that wait at a gate, and how they are carried out once a person has agreed.

use serde::{Deserialize, Serialize};

use super::gate::Gate;
use super::resolve::Modifications;
use crate::content::{Blob, Content};
use crate::id::WorkspaceId;
use crate::integration::conflict::Resolve;
use crate::integration::salvage::{self, Salvage};
use crate::integration::{self, Decide};
use crate::key::PublicKey;
use crate::principal::{Actor, Caller};
use crate::refusal::Record;
use crate::turn::{Halt, Turn};
use crate::workspace::abort::{self, Abort};
use crate::workspace::create::{self, Create};

/// An order that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To end a workspace.
    Abort(Box<Abort>),
    /// To make one.
    Create(Box<Create>),
    /// To merge what one finished.
    Integrate(Box<Decide>),
    /// To settle a conflict.
    Resolve(Box<Resolve>),
    /// To merge what can be saved of one that failed.
    Salvage(Box<Salvage>),
}

impl Request {
    /// The content it cites.
    pub(crate) fn blobs(&self) -> Vec<&Blob> {
        match self {
            Request::Abort(_) => Vec::new(),
            Request::Create(create) => {
                let directive = create.directive.iter();
                let directive = directive.flat_map(|d| d.attachments.iter().chain([&d.content]));
                directive.chain(&create.context).filter_map(Content::blob).collect()
            }
            Request::Integrate(decide) => in_files(decide.merged.as_deref()),
            Request::Resolve(resolve) => in_files(resolve.merged.as_deref()),
            Request::Salvage(salvage) => in_files(Some(&salvage.merged)),
        }
    }
}

fn in_files(files: Option<&[crate::file::FileArg]>) -> Vec<&Blob> {
    let files = files.into_iter().flatten();
    files.filter_map(|file| file.content.as_ref()?.blob()).collect()
}

/// Whoever ordered it, as the caller it was.
fn asker(gate: &Gate) -> Option<Caller> {
    let Actor::Principal(principal) = &gate.asked_by else { return None };
    let key = PublicKey::from_bytes([0; 32]);
    Some(Caller { principal: principal.clone(), key, session: None })
}

/// A creation with what a person changed about it.
fn with_changes(create: &Create, changed: Option<&Modifications>) -> Create {
    let mut create = create.clone();
    if let Some(changed) = changed {
        if let Some(visibility) = &changed.visibility {
            create.visibility.clone_from(visibility);
        }
        create.priority = changed.workspace_priority.or(create.priority);
        if let Some(budget) = &changed.budget {
            // What is not named stays as it was ordered.
            create.budget.extend(budget.clone());
        }
    }
    create
}

/// Carries an order out, on behalf of whoever gave it.
pub(super) fn carry_out(
    turn: &mut Turn<'_>,
    gate: &Gate,
    changed: Option<&Modifications>,
) -> Result<(), Halt> {
    let (Some(caller), Some(request)) = (asker(gate), gate.request.clone()) else { return Ok(()) };
    let done = turn.on_behalf(|turn| match &request {
        Request::Abort(order) => abort::decide_abort(turn, &caller, order).map(|_| ()),
        Request::Create(create) => {
            let reserved = WorkspaceId::new(gate.subject.as_str()).ok();
            let create = with_changes(create, changed);
            create::make(turn, &caller, &create, reserved).map(|_| ())
        }
        Request::Integrate(decide) => integration::decide_decide(turn, &caller, decide).map(|_| ()),
        Request::Salvage(order) => salvage::decide_salvage(turn, &caller, order).map(|_| ()),
        Request::Resolve(resolve) => {
            let mut resolve = resolve.as_ref().clone();
            if let Some(merged) = changed.and_then(|changed| changed.merged.clone()) {
                resolve.merged = Some(merged);
            }
            integration::conflict::settle(turn, &caller, &resolve)
        }
    });
    done.map_err(|halt| match halt {
        // What is refused is the answer at the gate, whatever the order itself would have said.
        Halt::Refused(why) if !matches!(why.record, Record::Violation(_)) => {
            why.recorded(Record::Command).into()
        }
        other => other,
    })
}
