//! Telling a host of mail that waits: with its next answer, whatever tool it called, once per letter.

use althing_kernel::AgentName;
use althing_services::mail::{self, Letter};
use althing_services::{Identity, Project, ProjectContext};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The most lines about mail in one answer.
const LINES_MAX: usize = 3;

/// The letters each agent was told of over this connection. Nothing about it is recorded: reading
/// writes nothing, and a new connection tells again of what still waits.
#[derive(Default)]
pub(crate) struct Notices(Mutex<BTreeMap<AgentName, BTreeSet<String>>>);

impl Notices {
    /// The lines to tell an agent now. With `shown`, the answer shows the mail itself, so it only
    /// counts as told.
    pub(crate) fn of(&self, project: &Arc<Project>, who: &Identity, shown: bool) -> Vec<String> {
        let context = ProjectContext::of_host(project, who);
        // A project that is not there yet has no mail, and no answer fails because of a notice.
        let waiting = match context.readable() {
            Ok(Some(_)) => mail::waiting(&context),
            Ok(None) => return Vec::new(),
            Err(error) => Err(error),
        };
        let letters = match waiting {
            Ok(waiting) => waiting.letters,
            Err(error) => {
                tracing::warn!(%error, "mail was not looked at");
                return Vec::new();
            }
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(who.agent.clone()).or_default();
        let is_new = |letter: &&Letter| !known.contains(&letter.id);
        let new: Vec<&Letter> = letters.iter().filter(is_new).collect();
        let lines = if shown { Vec::new() } else { lines(&new) };
        known.extend(new.into_iter().map(|letter| letter.id.clone()));
        // Letters that no longer wait need not be remembered.
        known.retain(|id| letters.iter().any(|letter| letter.id == *id));
        lines
    }
}

fn lines(new: &[&Letter]) -> Vec<String> {
    if new.len() <= LINES_MAX {
        return new.iter().map(|letter| letter.line()).collect();
    }
    let first = new.iter().take(LINES_MAX - 1).map(|letter| letter.line());
    let rest = format!("and {} more", new.len() - (LINES_MAX - 1));
    first.chain([rest]).collect()
}
