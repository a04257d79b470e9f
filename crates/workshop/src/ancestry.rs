//! The processes above this one: which program called.

use std::path::Path;

/// The most processes that are looked at on the way up.
const DEPTH_MAX: usize = 24;

/// Programs that only start others.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "env", "timeout", "git", "nice",
];

/// A running process. Its number may be used again after its end, its number and start together not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The number.
    pub pid: u32,
    /// When it was started, as the system writes it.
    pub started: String,
    parent: u32,
    name: String,
}

impl Process {
    /// A name that no other process has while it runs, fit for a file: its number, its start, and where
    /// numbers are given out apart from others, as in a container, that place.
    pub fn id(&self) -> String {
        let started: String = self.started.chars().filter(char::is_ascii_alphanumeric).collect();
        match namespace() {
            Some(place) => format!("{}-{started}-{place}", self.pid),
            None => format!("{}-{started}", self.pid),
        }
    }

    fn is_shell(&self) -> bool {
        let name = self.name.trim_start_matches('-');
        let name = name.rsplit('/').next().unwrap_or(name);
        SHELLS.contains(&name)
    }
}

/// The processes above this one, nearest first.
pub fn above() -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut next = process(std::process::id()).map(|own| own.parent);
    while let Some(pid) = next.filter(|pid| *pid > 1 && found.len() < DEPTH_MAX) {
        let Some(own) = process(pid) else { break };
        next = Some(own.parent).filter(|parent| found.iter().all(|known| known.pid != *parent));
        found.push(own);
    }
    found
}

/// The program that called this one: the nearest process above that is not a shell.
pub fn host() -> Option<Process> {
    let mut next = process(std::process::id())?.parent;
    for _ in 0..DEPTH_MAX {
        let own = process(next).filter(|own| own.pid > 1)?;
        if !own.is_shell() {
            return Some(own);
        }
        next = own.parent;
    }
    None
}

/// Whether a process of this id still runs. One that cannot be looked at counts as running.
pub fn is_running(id: &str) -> bool {
    let mut parts = id.split('-');
    let pid = parts.next().and_then(|pid| pid.parse().ok());
    let (Some(pid), Some(_)) = (pid, parts.next()) else { return true };
    if parts.next() != namespace().as_deref() {
        return true;
    }
    match process(pid) {
        Some(own) => own.id() == id,
        None => !Path::new("/proc/self/stat").exists(),
    }
}

/// The place that numbers of processes are given out in.
#[cfg(target_os = "linux")]
fn namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let number = link.to_str()?.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().ok()?;
    Some(format!("{number:x}"))
}

#[cfg(not(target_os = "linux"))]
fn namespace() -> Option<String> {
    None
}

#[cfg(target_os = "linux")]
fn process(pid: u32) -> Option<Process> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may have any character, so the fields after it are counted from
    // its end.
    let (start, end) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(start + 1..end)?.to_owned();
    let fields: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
    let (parent, started) = (fields.get(1)?.parse().ok()?, (*fields.get(19)?).to_owned());
    Some(Process { pid, started, parent, name })
}

#[cfg(all(unix, not(target_os = "linux")))]
fn process(pid: u32) -> Option<Process> {
    let output = std::process::Command::new("ps")
        .args(["-o", "ppid=", "-o", "lstart=", "-o", "comm=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let words: Vec<&str> = text.split_whitespace().collect();
    // The parent, five words of a date, and the name.
    let (parent, rest) = words.split_first()?;
    let (started, name) = (rest.get(..5)?.concat(), rest.get(5..)?.join(" "));
    Some(Process { pid, started, parent: parent.parse().ok()?, name })
}

#[cfg(not(unix))]
fn process(_: u32) -> Option<Process> {
    None
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processes_above_are_found() {
        let above = above();
        assert!(!above.is_empty());
        assert!(above.iter().all(|own| is_running(&own.id())), "{above:?}");
        let own = process(std::process::id()).unwrap();
        assert!(is_running(&own.id()));
        let place = namespace().unwrap();
        assert!(!is_running(&format!("{}-1-{place}", own.pid)), "another process had that number");
        assert!(!is_running(&format!("4194305-1-{place}")), "no process has that number");
        assert!(is_running("4194305-1-0"), "nobody knows what runs elsewhere");
        assert!(own.id().len() <= 32, "{}", own.id());
    }
}
