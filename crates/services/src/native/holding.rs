//! `claim` and `release`, for callers that name paths from the project's root.

use althing_kernel::lease::{Open, Release, Ttl};
use althing_kernel::query::{Answer, LeaseList, LeaseView, Query};
use althing_kernel::text::Text;
use althing_kernel::{Command, Reply};
use serde::Serialize;

use super::planning::surfaces;
use super::{Worded, Work, in_hand, until};
use crate::context::ProjectContext;
use crate::error::Error;

/// A claim that was opened.
#[derive(Clone, Debug, Serialize)]
pub struct Claimed {
    /// The lease.
    pub lease: String,
    /// The files.
    pub files: Vec<String>,
    /// When it runs out, in words.
    pub until: String,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl Worded for Claimed {
    fn text(&self) -> String {
        format!("you hold {} ({})", self.files.join(", "), self.until)
    }
}

/// Claims that were released.
#[derive(Clone, Debug, Serialize)]
pub struct Released {
    /// The files of each claim.
    pub released: Vec<String>,
}

impl Worded for Released {
    fn text(&self) -> String {
        match self.released.as_slice() {
            [] => "you held nothing there".to_owned(),
            files => format!("released {}", files.join("; ")),
        }
    }
}

/// Claims files, all or none, for the task in hand if there is one.
pub fn claim(
    context: &ProjectContext,
    paths: &[String],
    why: Option<&str>,
    ttl: Option<Ttl>,
) -> Result<Claimed, Error> {
    let task = match in_hand(context)? {
        Some(Work::Task { task, .. }) => Some(task.id),
        Some(Work::Workspace(_)) | None => None,
    };
    let open = Open {
        purpose: why.map(Text::new).transpose().map_err(Error::unreadable)?,
        replace: false,
        request_id: None,
        reuse: None,
        surfaces: surfaces(&paths.join(", "))?,
        task: task.map(|task| Text::lossy(&task.to_string())),
        ttl_s: ttl,
    };
    match context.execute(Command::LeaseOpen(open))? {
        Reply::Lease(lease) => Ok(Claimed {
            lease: lease.lease.to_string(),
            files: lease.surfaces.iter().map(ToString::to_string).collect(),
            until: until(lease.expires_at, context.now()),
            task: task.map(|task| task.label()),
        }),
        other => Err(Error::unexpected(&other)),
    }
}

/// Releases the caller's claims: those that name one of these paths, or all.
pub fn release(context: &ProjectContext, paths: &[String]) -> Result<Released, Error> {
    let holder = Some(context.named()?.clone());
    let list = LeaseList { holder, surfaces: None };
    let mut held: Vec<LeaseView> = match context.ask(&Query::LeaseList(list))? {
        Answer::Leases(held) => held,
        other => return Err(Error::unexpected(&other)),
    };
    if !paths.is_empty() {
        let wanted = surfaces(&paths.join(", "))?;
        let meets = |lease: &LeaseView| {
            lease.surfaces.iter().any(|own| wanted.as_slice().iter().any(|path| path.meets(own)))
        };
        held.retain(meets);
    }
    let mut released = Vec::new();
    for lease in held {
        let files: Vec<String> = lease.surfaces.iter().map(ToString::to_string).collect();
        let release = Release { epoch: None, lease: lease.lease.clone() };
        context.execute(Command::LeaseRelease(release))?;
        released.push(files.join(", "));
    }
    Ok(Released { released })
}
