//! The author of commits.

use std::process::Command as Process;

/// The address of whoever commits here.
pub(crate) const ADDRESS: &str = "agent@althing.invalid";

/// The name and the address that commits carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    name: String,
    address: String,
}

impl Author {
    /// An agent, under the address that all agents share.
    pub fn agent(name: &str) -> Self {
        Author::new(name, ADDRESS)
    }

    /// Somebody with an address. What git does not take in a name is left out.
    pub fn new(name: &str, address: &str) -> Self {
        let plain = |text: &str, instead: &str| {
            let text: String =
                text.chars().filter(|c| !c.is_control() && !"<>".contains(*c)).collect();
            let text = text.trim_matches(|c: char| " .,:;\"\\'".contains(c));
            if text.is_empty() { instead.to_owned() } else { text.to_owned() }
        };
        Author { name: plain(name, "althing"), address: plain(address, ADDRESS) }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn sign(&self, git: &mut Process) {
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), &self.name);
            git.env(format!("GIT_{role}_EMAIL"), &self.address);
        }
    }
}
