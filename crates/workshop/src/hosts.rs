//! Names for sessions of coding agents: which agent a session is, and which agents a process is.
//!
//! A session is an agent of its own, named after the agent's kind and the session's id. Whatever a
//! process of an agent starts (hooks, the MCP server, commits in its shell) belongs to the same agent,
//! though it knows nothing of the session. Two kinds of small files keep that together: one per session
//! with its name, one per process with the names of its sessions. Nothing here is proof of anything: the
//! keys of all agents lie beside these files.

use sha2::Digest as _;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ancestry::{self, Process};
use crate::error::WorkshopError;
use crate::hook_shapes::Agent;

/// How long the name of a session is remembered after it was last made or used at a start.
const SESSION_AGE_MAX: Duration = Duration::from_hours(90 * 24);

/// The files of a state folder.
#[derive(Clone, Debug)]
pub struct Hosts {
    folder: PathBuf,
}

impl Hosts {
    /// The files in a state folder.
    pub fn of(state: &Path) -> Self {
        Hosts { folder: state.join("hosts") }
    }

    fn session_file(&self, session: &str) -> PathBuf {
        self.folder.join(format!("session-{}", &digest(session)[..16]))
    }

    fn process_file(&self, process: &Process) -> PathBuf {
        self.folder.join(format!("process-{}", process.id()))
    }

    /// The name of a session's agent, the same for as long as the session lasts. A session of a
    /// process that has a name already goes on under that one, if its kind is one agent per process.
    pub fn name(&self, agent: Agent, session: Option<&str>) -> Result<String, WorkshopError> {
        let host = ancestry::host();
        let known = session.and_then(|session| read_names(&self.session_file(session)).pop());
        let here = host.as_ref().map(|host| read_names(&self.process_file(host)));
        if let (Some(known), Some(here)) = (&known, &here)
            && here.contains(known)
        {
            return Ok(known.clone());
        }
        let shape = agent.shape();
        let first = here.as_ref().and_then(|names| names.first().cloned());
        let process = host.as_ref().map(Process::id).unwrap_or_default();
        let new = || format!("{}-{}", shape.name, &digest(session.unwrap_or(&process))[..8]);
        let name = known.or_else(|| first.filter(|_| shape.is_one_process)).unwrap_or_else(new);
        self.remember(session, host.as_ref(), &here.unwrap_or_default(), &name)?;
        Ok(name)
    }

    fn remember(
        &self,
        session: Option<&str>,
        host: Option<&Process>,
        here: &[String],
        name: &str,
    ) -> Result<(), WorkshopError> {
        let failed = |error: std::io::Error| self.failed(&error);
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        if let Some(session) = session {
            std::fs::write(self.session_file(session), format!("{name}\n")).map_err(failed)?;
        }
        if let Some(host) = host.filter(|_| !here.iter().any(|own| own == name)) {
            let file = self.process_file(host);
            let opened = std::fs::File::options().create(true).append(true).open(file);
            opened.and_then(|mut file| writeln!(file, "{name}")).map_err(failed)?;
        }
        Ok(())
    }

    fn failed(&self, error: &std::io::Error) -> WorkshopError {
        WorkshopError::new(format!("{}: {error}", self.folder.display()))
    }

    /// The name of the program that called this one, if hooks of it were called before.
    pub fn host_name(&self) -> Option<String> {
        let host = ancestry::host()?;
        read_names(&self.process_file(&host)).into_iter().next()
    }

    /// The names of the agents that this process was started by, nearest first: what is done in a
    /// shell of an agent is done by it.
    pub fn names_above(&self) -> Vec<String> {
        if !self.folder.is_dir() {
            return Vec::new();
        }
        let files = ancestry::above().into_iter().map(|process| self.process_file(&process));
        files.map(|file| read_names(&file)).find(|names| !names.is_empty()).unwrap_or_default()
    }

    fn told_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("told-{}", &digest(name)[..16]))
    }

    /// The ids of the messages that an agent was told of and has not taken.
    pub fn told(&self, name: &str) -> BTreeSet<String> {
        read_names(&self.told_file(name)).into_iter().collect()
    }

    /// Remembers the messages that an agent was told of and has not taken.
    pub fn tell(&self, name: &str, ids: &BTreeSet<String>) -> Result<(), WorkshopError> {
        let file = self.told_file(name);
        if ids.is_empty() {
            return match std::fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(self.failed(&error))
                }
                _ => Ok(()),
            };
        }
        let text: String = ids.iter().flat_map(|id| [id.as_str(), "\n"]).collect();
        let written =
            std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(file, text));
        written.map_err(|error| self.failed(&error))
    }

    /// Removes the files of processes that have ended, and of sessions that are long over.
    pub fn clean(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let age = || path.metadata().ok()?.modified().ok()?.elapsed().ok();
            let is_over = match name.strip_prefix("process-") {
                Some(id) => !ancestry::is_running(id),
                None => age().is_some_and(|age| age > SESSION_AGE_MAX),
            };
            if is_over && let Err(error) = std::fs::remove_file(&path) {
                tracing::debug!(%error, path = %path.display(), "a file of a session stays");
            }
        }
    }
}

/// The names in a file, one per line.
fn read_names(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The SHA-256 of a text in hexadecimal digits.
fn digest(text: &str) -> String {
    crate::wiring::hex(&sha2::Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_its_name_and_a_process_its_agent() {
        let folder = std::env::temp_dir().join(format!("althing-hosts-{}", std::process::id()));
        let hosts = Hosts::of(&folder);
        assert!(hosts.names_above().is_empty());
        let first = hosts.name(Agent::Claude, Some("one")).unwrap();
        assert!(first.starts_with("claude-") && first.len() == 15, "{first}");
        assert_eq!(hosts.name(Agent::Claude, Some("one")).unwrap(), first);
        // Another session of the same process is the same agent, but not in an editor.
        if ancestry::host().is_some() {
            assert_eq!(hosts.name(Agent::Claude, Some("two")).unwrap(), first);
            assert_eq!(hosts.host_name(), Some(first.clone()));
        }
        let other = hosts.name(Agent::Cursor, Some("three")).unwrap();
        assert!(other.starts_with("cursor-"), "{other}");
        if ancestry::host().is_some() {
            assert_eq!(hosts.names_above(), [first, other]);
        }
        hosts.clean();
        assert_eq!(hosts.names_above().is_empty(), ancestry::host().is_none());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
