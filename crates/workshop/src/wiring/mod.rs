//! Wiring: Althing's hooks, its MCP server and a primer in the files of coding agents, and git hooks.
//!
//! Files belong to people. They are changed as text: comments, order and form stay, and what was added
//! is remembered by its place, so that taking it out gives the file as it was, to the byte. A file that was
//! changed since keeps the change; one that cannot be read is left alone. Every file is replaced as a
//! whole, and links are not followed out of the project.

mod agents;
mod blocks;
mod content;
mod diff;
mod draft;
mod git_hooks;
mod json;
pub(crate) mod jsonc;
mod place;
mod record;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use agents::{Choice, PRIMER, hooks_object, note};
pub use diff::unified;
pub use json::Json;
pub(crate) use record::hex;

use crate::error::WorkshopError;
use crate::hook_shapes::{Agent, SHAPES};
use agents::{Change, Wanted};
use place::Found;
use record::{Record, Written, hash};

/// The name under which git hooks are wired.
pub const GIT: &str = "git";

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was made.
    Created,
    /// Something was added to it.
    Changed,
    /// Everything was there already, or nothing of ours was in it.
    Unchanged,
    /// What was ours was taken out.
    Restored,
    /// It was ours and is gone.
    Removed,
    /// It was left as it is, for this reason.
    Left(String),
}

/// A file, and what became of it or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The path, from the project's root where it is below.
    pub path: PathBuf,
    /// What became of it.
    pub done: Done,
    /// The text before.
    pub before: Option<String>,
    /// The text after.
    pub after: Option<String>,
}

/// A project whose agents are wired.
pub struct Wiring {
    /// The root of the project.
    pub root: PathBuf,
    /// The file that remembers what was written.
    pub record: PathBuf,
    /// Whether nothing is to be changed.
    pub is_dry: bool,
}

impl Wiring {
    /// Wires agents: what is missing is put into their files. With `git`, the git hooks too.
    pub fn wire(
        &self,
        agents: &[Agent],
        git: bool,
        choice: Choice,
    ) -> Result<Vec<Report>, WorkshopError> {
        let mut record = Record::read(&self.record);
        let mut reports = Vec::new();
        for agent in agents {
            for wanted in agents::wanted(*agent, &self.root, choice) {
                let report = self.put(&mut record, agent.shape().name, &wanted)?;
                merge(&mut reports, report);
            }
        }
        if git {
            git_hooks::wire(self, &mut record, &mut reports)?;
        }
        Ok(reports)
    }

    /// Takes out what was written for agents; for all of them, and git, without names.
    pub fn unwire(&self, names: Option<&[String]>) -> Result<Vec<Report>, WorkshopError> {
        let mut record = Record::read(&self.record);
        let all: Vec<String> =
            SHAPES.iter().map(|shape| shape.name.to_owned()).chain([GIT.to_owned()]).collect();
        let names = names.unwrap_or(&all);
        let mut reports = Vec::new();
        let folders = folders_of(&record);
        for agent in SHAPES.iter().filter(|shape| names.iter().any(|name| name == shape.name)) {
            for wanted in agents::wanted(agent.agent, &self.root, Choice::default()) {
                let report = self.take(&mut record, agent.name, &wanted)?;
                merge(&mut reports, report);
            }
            // A file may have been chosen by what was there then.
            for path in left_over(&record, agent.name) {
                let Some(wanted) = self.like(agent.agent, &path) else { continue };
                let report = self.take_at(&mut record, agent.name, &path, &wanted.change)?;
                merge(&mut reports, report);
            }
        }
        if names.iter().any(|name| name == GIT) {
            git_hooks::unwire(self, &mut record, &mut reports)?;
        }
        if !self.is_dry {
            place::remove_folders(&folders);
        }
        Ok(reports)
    }

    /// The names of what is wired, according to the record.
    pub fn wired(&self) -> BTreeSet<String> {
        let record = Record::read(&self.record);
        record.files().iter().flat_map(|own| own.agents.clone()).collect()
    }

    /// What is wanted in another file of the same kind.
    fn like(&self, agent: Agent, path: &Path) -> Option<Wanted> {
        let mut all = agents::wanted(agent, &self.root, Choice::default()).into_iter();
        all.find(|own| Path::new(own.path).extension() == path.extension())
    }

    fn put(
        &self,
        record: &mut Record,
        agent: &str,
        wanted: &Wanted,
    ) -> Result<Report, WorkshopError> {
        let path = PathBuf::from(wanted.path);
        let found = match place::look(&self.root, &path) {
            Ok(found) => found,
            Err(why) => return Ok(left(path, None, why)),
        };
        let known = record.get(&path).cloned();
        let is_there = match &found.text {
            Some(text) => match content::is_in(text, &wanted.change) {
                Ok(is_there) => is_there,
                Err(why) => return Ok(left(path, found.text.clone(), why)),
            },
            None => false,
        };
        if is_there {
            let mut written =
                known.unwrap_or_else(|| Written { path: path.clone(), ..Written::default() });
            written.agents.insert(agent.to_owned());
            self.remember(record, Some(written))?;
            let text = found.text;
            return Ok(Report { path, done: Done::Unchanged, before: text.clone(), after: text });
        }
        let made = match changed(&found, known.as_ref(), &wanted.change) {
            Ok(made) => made,
            Err(why) => return Ok(left(path, found.text.clone(), why)),
        };
        let mut agents = known.as_ref().map(|own| own.agents.clone()).unwrap_or_default();
        agents.insert(agent.to_owned());
        let created = found.text.is_none() || known.as_ref().is_some_and(|own| own.created);
        let folders = match known {
            Some(known) => known.folders,
            None => place::missing_folders(&found.path),
        };
        let written = Written {
            path: path.clone(),
            agents,
            hash: hash(&made.text),
            added: made.added,
            created,
            folders,
            members: made.members,
            moved: None,
        };
        let is_program = matches!(wanted.change, Change::Own { is_program: true, .. });
        // On record first: what is there and not on record could not be taken out to the byte.
        self.remember(record, Some(written))?;
        if !self.is_dry {
            place::replace(&found.path, &made.text, is_program)?;
        }
        let done = if found.text.is_none() { Done::Created } else { Done::Changed };
        Ok(Report { path, done, before: found.text, after: Some(made.text) })
    }

    fn take(
        &self,
        record: &mut Record,
        agent: &str,
        wanted: &Wanted,
    ) -> Result<Report, WorkshopError> {
        self.take_at(record, agent, Path::new(wanted.path), &wanted.change)
    }

    fn take_at(
        &self,
        record: &mut Record,
        agent: &str,
        path: &Path,
        change: &Change,
    ) -> Result<Report, WorkshopError> {
        let known = record.get(path).cloned();
        let others = known.as_ref().map(|own| {
            let mut others = own.agents.clone();
            others.remove(agent);
            others
        });
        if let (Some(others), Some(known)) = (others.filter(|others| !others.is_empty()), &known) {
            // Other agents still need it.
            self.remember(record, Some(Written { agents: others, ..known.clone() }))?;
            let path = path.to_owned();
            return Ok(Report { path, done: Done::Unchanged, before: None, after: None });
        }
        let found = match place::look(&self.root, path) {
            Ok(found) => found,
            Err(why) => return Ok(left(path.to_owned(), None, why)),
        };
        let report = self.restored(path, &found, known.as_ref(), change)?;
        if !matches!(report.done, Done::Left(_)) && !self.is_dry {
            record.remove(path);
            record.write(&self.record)?;
        }
        Ok(report)
    }

    /// Takes what is ours out of a file, and removes the file if nothing else is in it and it was made
    /// for that.
    fn restored(
        &self,
        path: &Path,
        found: &Found,
        known: Option<&Written>,
        change: &Change,
    ) -> Result<Report, WorkshopError> {
        let report = |done: Done, after: Option<String>| Report {
            path: path.to_owned(),
            done,
            before: found.text.clone(),
            after,
        };
        let Some(text) = &found.text else { return Ok(report(Done::Unchanged, None)) };
        let base = match base_of(text, known, change) {
            Ok(base) => base,
            Err(why) => return Ok(left(path.to_owned(), found.text.clone(), why)),
        };
        let created = known.is_some_and(|own| own.created);
        if created && content::is_blank(&base, change) {
            if !self.is_dry {
                place::remove(&found.path)?;
            }
            return Ok(report(Done::Removed, None));
        }
        if base == *text {
            return Ok(report(Done::Unchanged, Some(base)));
        }
        if !self.is_dry {
            place::replace(&found.path, &base, false)?;
        }
        Ok(report(Done::Restored, Some(base)))
    }

    /// Remembers what was written, unless nothing is to be changed.
    fn remember(&self, record: &mut Record, written: Option<Written>) -> Result<(), WorkshopError> {
        if let Some(written) = written
            && record.get(&written.path) != Some(&written)
        {
            record.put(written);
            if !self.is_dry {
                record.write(&self.record)?;
            }
        }
        Ok(())
    }
}

/// The folders that were made for files, outermost first.
fn folders_of(record: &Record) -> Vec<PathBuf> {
    let folders = record.files().iter().flat_map(|own| own.folders.clone());
    let folders: BTreeSet<PathBuf> = folders.collect();
    folders.into_iter().collect()
}

/// The files that are still on record for an agent.
fn left_over(record: &Record, agent: &str) -> Vec<PathBuf> {
    let own = record.files().iter().filter(|own| own.agents.contains(agent));
    own.map(|own| own.path.clone()).collect()
}

fn left(path: PathBuf, text: Option<String>, why: String) -> Report {
    Report { path, done: Done::Left(why), before: text.clone(), after: text }
}

/// Adds a report, or joins it with the one about the same file.
fn merge(reports: &mut Vec<Report>, report: Report) {
    match reports.iter_mut().find(|own| own.path == report.path) {
        Some(own) if own.done == Done::Unchanged => *own = report,
        Some(_) => {}
        None => reports.push(report),
    }
}

/// A text with something put in.
struct Made {
    text: String,
    added: Vec<std::ops::Range<usize>>,
    members: Vec<String>,
}

/// The new text of a file.
fn changed(found: &Found, known: Option<&Written>, change: &Change) -> Result<Made, String> {
    let base = match (&found.text, change) {
        (None, _) => String::new(),
        (Some(text), Change::Own { .. }) => {
            if known.is_none_or(|own| own.hash != hash(text)) {
                return Err("it is there already, and it is not ours".to_owned());
            }
            String::new()
        }
        (Some(text), _) => base_of(text, known, change)?,
    };
    let (draft, members) = content::put_in(&base, change)?;
    Ok(Made { text: draft.text, added: draft.added, members })
}

/// A text without what is ours: by its place if the file is as it was written, else by what it is.
fn base_of(text: &str, known: Option<&Written>, change: &Change) -> Result<String, String> {
    if let Some(known) = known
        && known.hash == hash(text)
        && let Some(base) = draft::without(text, &known.added)
    {
        return Ok(base);
    }
    let members = known.map(|own| own.members.as_slice()).unwrap_or_default();
    if matches!(change, Change::Own { .. }) {
        let is_ours = known.is_some_and(|own| own.created && !own.hash.is_empty());
        return if is_ours {
            Err("it was changed since; remove it by hand".to_owned())
        } else {
            Ok(text.to_owned())
        };
    }
    content::take_out(text, change, members)
}
