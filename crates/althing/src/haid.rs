//! The HAID of whoever sits here: derived from the person, the machine and the project.

use althing_dialects::frugal::haid::Haid;
use althing_kernel::{AgentName, Rule};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;

/// The HAID of this person on this machine in this project.
pub(crate) fn own_haid(root: &Path) -> Result<Haid, Error> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let repo = root.to_str().ok_or_else(|| {
        Error::usage("the name of the project's folder is not UTF-8 text; no HAID follows from it")
    })?;
    Ok(Haid::derive(&human(&root), &machine(), repo))
}

/// The name of a HAID as an agent.
pub(crate) fn agent_name(haid: &Haid) -> Result<AgentName, Error> {
    AgentName::new(&haid.agent_name())
        .map_err(|error| Error::misuse(Rule::Limits, error.to_string()))
}

/// The person: as git knows them, otherwise as the system does.
fn human(root: &Path) -> String {
    let mail =
        output_of(Command::new("git").args(["config", "--get", "user.email"]).current_dir(root));
    let name = mail.as_deref().and_then(|mail| mail.split('@').next()).map(str::to_owned);
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    name.filter(|name| !name.is_empty())
        .or_else(|| variable("USER"))
        .or_else(|| variable("LOGNAME"))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The machine's short name. A name of digits and dots is an address and says nothing.
fn machine() -> String {
    let file = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = file.or_else(|| output_of(&mut Command::new("hostname"))).unwrap_or_default();
    let name = name.trim();
    let is_address = name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_address {
        "unknown".to_owned()
    } else {
        name.split('.').next().unwrap_or(name).to_owned()
    }
}

fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
