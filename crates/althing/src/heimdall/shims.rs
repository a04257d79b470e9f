//! The other names of this program: links beside it or wherever they are wanted.

use serde::Serialize;
use std::path::{Path, PathBuf};

use super::Tool;
use crate::error::Error;

/// The name under which hosts know the server.
pub(crate) const MCP_NAME: &str = "heimdall-ledger-mcp";

/// The result for one command name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    /// The link was created.
    Made,
    /// The link to this program existed already.
    There,
    /// Another file has this name, and was left alone.
    Foreign,
}

/// Makes all names in a folder. What is there and is not this program is left alone.
pub(crate) fn make(folder: &Path) -> Result<Vec<(PathBuf, Fate)>, Error> {
    let failed = |what: &Path, error: std::io::Error| {
        Error::unavailable(format!("{}: {error}", what.display()))
    };
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    let own = own.map_err(|error| failed(Path::new("this program"), error))?;
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut made = Vec::new();
    for name in Tool::ALL.iter().map(|tool| tool.name()).chain([MCP_NAME]) {
        let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let fate = match path.symlink_metadata() {
            Ok(_) if is_same(&path, &own) => Fate::There,
            Ok(_) => Fate::Foreign,
            Err(_) => {
                link(&own, &path).map_err(|error| failed(&path, error))?;
                Fate::Made
            }
        };
        made.push((path, fate));
    }
    Ok(made)
}

#[cfg(unix)]
fn link(own: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(own, path)
}

#[cfg(not(unix))]
fn link(own: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::hard_link(own, path)
}

#[cfg(unix)]
fn is_same(path: &Path, own: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    of(path).is_some_and(|found| Some(found) == of(own))
}

#[cfg(not(unix))]
fn is_same(path: &Path, own: &Path) -> bool {
    let of = |path: &Path| std::fs::read(path).ok();
    of(path).is_some_and(|found| Some(found) == of(own))
}
