//! The results of the demo, counted from the trail and checked against the files.

use althing_kernel::{Actor, Event};
use althing_trail::Entry;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{FILES, agent_of};
use crate::app::App;
use crate::error::Error;
use crate::output::counted;

/// Counts from the trail.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    agents: BTreeMap<String, Counts>,
    expired: u64,
    takeovers: u64,
    #[serde(skip)]
    expired_files: BTreeSet<String>,
    #[serde(skip)]
    holders: BTreeMap<String, String>,
    #[serde(skip)]
    shown: BTreeSet<(String, String)>,
}

/// The results of one agent.
#[derive(Debug, Default, Serialize)]
struct Counts {
    granted: u64,
    refused: u64,
}

/// The results for one file.
#[derive(Debug, Serialize)]
pub(crate) struct FileCheck {
    file: &'static str,
    writes: usize,
    writers: usize,
    /// Whether every write was made under a later epoch than the one before it.
    in_order: bool,
}

impl Summary {
    pub(crate) fn take(&mut self, entry: &Entry) {
        let draft = &entry.stamped.draft;
        let actor = match &draft.actor {
            Actor::Principal(principal) => agent_of(principal).map(str::to_owned),
            Actor::Protocol => None,
        };
        match (&draft.event, actor) {
            (Event::LeaseOpened(opened), Some(agent)) => {
                self.agents.entry(agent).or_default().granted += 1;
                let file = opened.surfaces.as_slice()[0].to_string();
                if self.expired_files.remove(&file) {
                    self.takeovers += 1;
                }
                self.holders.insert(opened.lease.to_string(), file);
            }
            (Event::CommandRefused(_), Some(agent)) => {
                self.agents.entry(agent).or_default().refused += 1;
            }
            (Event::LeaseExpired(expired), _) => {
                self.expired += 1;
                self.expired_files.extend(self.holders.get(expired.lease.as_str()).cloned());
            }
            // Any other entry is not counted here.
            _ => {}
        }
    }

    pub(crate) fn has_granted(&self, agent: &str) -> bool {
        self.agents.get(agent).is_some_and(|counts| counts.granted > 0)
    }

    /// Whether this refusal, of this agent in favour of that lease, was not told yet.
    pub(crate) fn is_news(&mut self, entry: &Entry) -> bool {
        let Event::CommandRefused(refused) = &entry.stamped.draft.event else { return false };
        let actor = entry.stamped.draft.actor.to_string();
        self.shown.insert((actor, refused.message.to_string()))
    }

    pub(crate) fn print(&self, app: &App, files: &[FileCheck]) -> Result<(), Error> {
        app.out.line("")?;
        let rows: Vec<Vec<String>> = self
            .agents
            .iter()
            .map(|(agent, counts)| {
                vec![agent.clone(), counts.granted.to_string(), counts.refused.to_string()]
            })
            .collect();
        app.out.table(&["AGENT", "GRANTED", "REFUSED"], &rows)?;
        app.out.line("")?;
        let rows: Vec<Vec<String>> = files
            .iter()
            .map(|check| {
                vec![
                    check.file.to_owned(),
                    check.writes.to_string(),
                    check.writers.to_string(),
                    if check.in_order { "yes" } else { "NO" }.to_owned(),
                ]
            })
            .collect();
        app.out.table(&["FILE", "WRITES", "WRITERS", "ONE AT A TIME"], &rows)?;
        app.out.line("")?;
        app.out.line(format!(
            "{} lease expired with its dead holder and was taken over {}.",
            self.expired,
            counted(self.takeovers, "time", "times")
        ))
    }
}

/// Reads back what the agents wrote.
pub(super) fn check_files(root: &Path) -> Result<Vec<FileCheck>, Error> {
    let mut checks = Vec::new();
    for file in FILES {
        let text = std::fs::read_to_string(root.join(file))
            .map_err(|error| Error::unavailable(format!("{file}: {error}")))?;
        let epochs: Vec<u64> = text
            .lines()
            .filter_map(|line| line.split(' ').next().and_then(|epoch| epoch.parse().ok()))
            .collect();
        let writers: BTreeSet<&str> =
            text.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        let in_order =
            epochs.windows(2).all(|pair| pair[0] < pair[1]) && epochs.len() == text.lines().count();
        checks.push(FileCheck { file, writes: epochs.len(), writers: writers.len(), in_order });
    }
    match checks.iter().find(|check| !check.in_order) {
        Some(bad) => Err(Error::unavailable(format!("{} was written out of turn", bad.file))),
        None => Ok(checks),
    }
}
