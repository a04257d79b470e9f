//! The system's table of processes: who lives, and who belongs to an attempt.
//!
//! Linux shows everything in `/proc`. Elsewhere (macOS) `ps` tells when a process began, and an
//! attempt reaches as far as the agent's process group: tool shells in sessions of their own are
//! not found there once the agent is gone.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::record::MARKER;
use super::system::{self, Sign};

/// A process. Numbers are reused, so its beginning belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Its number.
    pub(super) pid: u32,
    /// When it began, in the system's own words: boot and clock ticks, or a time.
    pub(super) started: String,
}

impl Identity {
    /// The process that has this number now.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let started = if has_proc() {
            let row = Row::read(pid)?;
            format!("{}:{}", boot(), row.started)
        } else {
            began(pid)?
        };
        Some(Identity { pid, started })
    }

    /// Whether this very process still lives. One that waits to be reaped does not.
    pub(super) fn is_alive(&self) -> bool {
        let is_zombie = has_proc() && Row::read(self.pid).is_none_or(|row| row.is_zombie);
        !is_zombie && Identity::of(self.pid).as_ref() == Some(self)
    }
}

/// The processes of an attempt.
pub(super) struct Scope {
    workspace: String,
    /// The supervising process: whatever descends from it belongs to the attempt, because it
    /// adopts orphans. None if it is gone.
    shim: Option<Identity>,
    /// The agent, which leads a process group.
    agent: Option<Identity>,
}

impl Scope {
    pub(super) fn new(workspace: &str, shim: Option<Identity>, agent: Option<Identity>) -> Self {
        Scope { workspace: workspace.to_owned(), shim, agent }
    }

    /// Every living process of the attempt but the supervising one and the caller. Without
    /// `/proc` the agent stands for its whole group.
    pub(super) fn members(&self) -> Vec<Identity> {
        if !has_proc() {
            return self.group().filter(|agent| system::group_lives(agent.pid)).cloned().collect();
        }
        let rows = Row::all();
        let shim = self.shim.as_ref().filter(|shim| shim.is_alive());
        let descendants = shim.map(|shim| descendants(&rows, shim.pid)).unwrap_or_default();
        let mark = format!("{MARKER}={}", self.workspace);
        let own = std::process::id();
        let boot = boot();
        rows.values()
            .filter(|row| row.pid != own && Some(row.pid) != shim.map(|shim| shim.pid))
            .filter(|row| !row.is_zombie)
            .filter(|row| descendants.contains(&row.pid) || carries(row.pid, &mark))
            .map(|row| Identity { pid: row.pid, started: format!("{boot}:{}", row.started) })
            .collect()
    }

    /// The leader of the agent's process group, if the group is still the agent's: its number is
    /// not given away while the leader or the supervising process is there.
    fn group(&self) -> impl Iterator<Item = &Identity> {
        let is_watched = self.shim.as_ref().is_some_and(Identity::is_alive);
        self.agent.iter().filter(move |agent| is_watched || agent.is_alive())
    }

    /// Asks the agent to end, with everything that is in its group: launchers do not always tell
    /// the agent they launched.
    pub(super) fn ask_to_end(&self) {
        for agent in self.group() {
            system::send_to_group(agent.pid, Sign::Term);
        }
    }

    /// Sends a signal to every member and returns them.
    pub(super) fn signal(&self, sign: Sign) -> Vec<Identity> {
        let members = self.members();
        for member in &members {
            if has_proc() {
                system::send(member, sign);
            } else {
                system::send_to_group(member.pid, sign);
            }
        }
        members
    }

    /// The memory that all of them use now, in bytes, where it is known.
    pub(super) fn memory(&self) -> Option<u64> {
        if !has_proc() {
            return None;
        }
        Some(self.members().iter().filter_map(|member| resident(member.pid)).sum())
    }
}

/// A line of the table.
#[derive(Clone, Debug)]
struct Row {
    pid: u32,
    parent: u32,
    is_zombie: bool,
    /// Clock ticks since the system was started.
    started: u64,
    /// Processor time of the children it waited for, in clock ticks.
    ticks_of_children: u64,
}

impl Row {
    fn read(pid: u32) -> Option<Self> {
        Row::parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads `/proc/PID/stat`. The name in parentheses may have anything in it.
    fn parse(pid: u32, text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Row {
            pid,
            parent: u32::try_from(number(1)?).ok()?,
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
            started: number(19)?,
            ticks_of_children: number(13)?.saturating_add(number(14)?),
        })
    }

    fn all() -> BTreeMap<u32, Self> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| Some((pid, Row::read(pid)?))).collect()
    }
}

fn has_proc() -> bool {
    cfg!(target_os = "linux") && Path::new("/proc/self/stat").exists()
}

/// The start of the system that is running. Clock ticks are counted from it.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().split('-').next().unwrap_or_default().to_owned()
}

/// When a process began, from `ps`.
fn began(pid: u32) -> Option<String> {
    let ran = std::process::Command::new("ps")
        .args(["-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    (ran.status.success() && !text.is_empty()).then_some(text)
}

fn descendants(rows: &BTreeMap<u32, Row>, root: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        let more = rows.values().filter(|row| found.contains(&row.parent)).map(|row| row.pid);
        let more: Vec<u32> = more.collect();
        found.extend(more);
        if found.len() == before {
            found.remove(&root);
            return found;
        }
    }
}

/// Whether a process was started with a variable. Others' processes cannot be looked into.
fn carries(pid: u32, mark: &str) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

/// The memory of a process that is not swapped out, in bytes.
fn resident(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The processor time of all children this process waited for, in milliseconds, where known.
pub(super) fn cpu_of_children() -> Option<u64> {
    // A clock tick of `/proc` is 10 ms on every system that Rust's standard library runs on.
    let row = has_proc().then(|| Row::read(std::process::id())).flatten()?;
    row.ticks_of_children.checked_mul(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_whatever_the_program_is_called() {
        let text = "7 (a ) b (c) S 5 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 9000 1 2 3";
        let row = Row::parse(7, text).unwrap();
        assert_eq!((row.parent, row.is_zombie, row.started), (5, false, 9000));
        assert_eq!(row.ticks_of_children, 70);
        assert!(Row::parse(7, &text.replace(" S ", " Z ")).unwrap().is_zombie);
        for bad in ["", "7", "7 (x", "7 (x)", "7 (x) S", "7 (x) S a b"] {
            assert!(Row::parse(7, bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn this_process_lives_and_another_with_its_number_does_not() {
        let own = Identity::of(std::process::id()).unwrap();
        assert!(own.is_alive());
        assert!(!Identity { started: "earlier".to_owned(), ..own }.is_alive());
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let row = |pid, parent| {
            let row = Row { pid, parent, is_zombie: false, started: 0, ticks_of_children: 0 };
            (pid, row)
        };
        let rows = BTreeMap::from([row(2, 1), row(3, 9), row(4, 3), row(9, 2), row(5, 1)]);
        assert_eq!(descendants(&rows, 2), BTreeSet::from([3, 4, 9]));
    }
}
