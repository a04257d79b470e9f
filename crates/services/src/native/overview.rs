//! `status`: the caller's task, claims and mail, and what others do.

use althing_dialects::frugal::haid::called;
use althing_kernel::records::{Kind, Status, next as ready};
use althing_kernel::{Principal, Surface};
use serde::Serialize;

use super::{Worded, Work, first_line, in_hand};
use crate::context::ProjectContext;
use crate::error::Error;
use crate::mail;
use crate::peers;

/// The most lines of each list.
const LISTED_MAX: usize = 5;

/// An overview for one caller.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The task in hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The caller's claims.
    pub claims: Vec<String>,
    /// The letters that wait for the caller.
    pub letters: usize,
    /// The tasks the caller could take, the next one first.
    pub ready: Vec<String>,
    /// Claims of others, with their names.
    pub others: Vec<String>,
    /// The number of open tasks.
    pub open: usize,
}

impl Worded for Overview {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        let task = self.task.as_deref().unwrap_or("none; take one with next");
        lines.push(format!("your task: {task}"));
        if !self.claims.is_empty() {
            lines.push(format!("you hold: {}", self.claims.join("; ")));
        }
        if self.letters > 0 {
            lines.push(format!("mail: {} waiting; read it with inbox", self.letters));
        }
        let count = format!("{} ready of {} open tasks", self.ready.len(), self.open);
        let first: Vec<&str> = self.ready.iter().take(LISTED_MAX).map(String::as_str).collect();
        lines.push(match first.as_slice() {
            [] => count,
            ready => format!("{count}: {}", ready.join("; ")),
        });
        lines.extend(self.others.iter().take(LISTED_MAX).map(|other| format!("held by {other}")));
        lines.join("\n")
    }
}

/// Returns the overview for the caller. Changes nothing.
pub fn overview(context: &ProjectContext) -> Result<Overview, Error> {
    let who = context.named()?.clone();
    let present = context.present()?;
    let task = match in_hand(context)? {
        Some(Work::Workspace(own)) => Some(format!("{} ({})", own.workspace, own.status)),
        Some(Work::Task { task, .. }) => {
            Some(format!("{} {}", task.id.label(), first_line(task.text.as_str())))
        }
        None => None,
    };
    let ready = ready::ready(&present.state, present.now, &who);
    let ready =
        ready.iter().map(|own| format!("{} {}", own.id.label(), first_line(own.text.as_str())));
    let gone = peers::gone(context)?;
    let (mut claims, mut others) = (Vec::new(), Vec::new());
    for (_, lease) in present.state.leases().filter(|(_, lease)| lease.is_live(present.now)) {
        let files: Vec<&str> = lease.surfaces.as_slice().iter().map(Surface::as_str).collect();
        let files = files.join(", ");
        if lease.holder == who {
            claims.push(files);
        } else {
            let is_gone = matches!(&lease.holder, Principal::Agent(name) if gone.contains(name));
            let host = if is_gone { " (its host is gone)" } else { "" };
            others.push(format!("{}: {files}{host}", called(&lease.holder)));
        }
    }
    let live = present.state.memory().newest(Kind::Plan, Some(true));
    let open = live.filter(|plan| plan.status != Status::Done).count();
    let letters = mail::waiting(context)?.letters.len();
    Ok(Overview { task, claims, letters, ready: ready.collect(), others, open })
}
