//! A home folder for one start of an agent that reads hooks only from files of the person.
//!
//! Its settings are the person's with something added. Everything else in it is a link to what the
//! person has, so logins and conversations are the same.

use serde_json::{Map, Value};
use std::io::ErrorKind;
use std::path::Path;

use super::handover::cannot;
use crate::error::WorkshopError;
use crate::wiring::jsonc;

/// Where an agent keeps its files, in a home folder.
pub(super) struct PrivateHome {
    /// The folder in the home.
    pub(super) folder: &'static str,
    /// The file with settings in that folder.
    pub(super) settings: &'static str,
}

impl PrivateHome {
    /// The settings that the person has. A file that cannot be read is an error: settings of the
    /// person must not be lost because an agent is started by Althing.
    pub(super) fn settings_of(
        &self,
        home: Option<&Path>,
    ) -> Result<Map<String, Value>, WorkshopError> {
        let Some(home) = home else { return Ok(Map::new()) };
        let path = home.join(self.folder).join(self.settings);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) if text.trim().is_empty() => return Ok(Map::new()),
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        match jsonc::value(&text) {
            Ok(Value::Object(settings)) => Ok(settings),
            Ok(_) => Err(cannot("read", &path, &"it is no object")),
            Err(error) => Err(cannot("read", &path, &error)),
        }
    }

    /// Makes a home, or brings one up to date.
    pub(super) fn make(
        &self,
        own: &Path,
        theirs: Option<&Path>,
        settings: &Value,
    ) -> Result<(), WorkshopError> {
        let folder = own.join(self.folder);
        std::fs::create_dir_all(&folder).map_err(|error| cannot("make", &folder, &error))?;
        if let Some(theirs) = theirs {
            self.link(&folder, &theirs.join(self.folder))?;
        }
        let path = folder.join(self.settings);
        write_private(&path, &format!("{settings:#}\n"))
            .map_err(|error| cannot("write", &path, &error))
    }

    /// Links to everything that the person has there but settings.
    fn link(&self, folder: &Path, theirs: &Path) -> Result<(), WorkshopError> {
        let entries = match std::fs::read_dir(theirs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(cannot("read", theirs, &error)),
        };
        for entry in entries {
            let entry = entry.map_err(|error| cannot("read", theirs, &error))?;
            if entry.file_name() == self.settings {
                continue;
            }
            let link = folder.join(entry.file_name());
            match symlink(&entry.path(), &link) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(cannot("link", &link, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn symlink(target: &Path, link: &Path) -> std::io::Result<()> {
    if target.is_dir() {
        std::os::windows::fs::symlink_dir(target, link)
    } else {
        std::os::windows::fs::symlink_file(target, link)
    }
}

/// Writes a file that only its owner reads: settings may have keys of services in them.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
