//! Listing, showing and dropping of rescued work.

use super::work::reference;
use super::{InnerRescue, RESCUE_REFS, Rescue, RescueError};
use crate::git::call::GitError;
use crate::git::changes::{Change, between};
use crate::git::message::Trailers;
use crate::git::object_id::ObjectId;
use crate::git::ref_name::{RefName, TreeName};
use crate::git::refs::Swap;
use crate::git::repository::Repository;

/// The rescued work of a repository.
#[derive(Clone, Debug)]
pub struct Rescues<'r> {
    pub(super) repository: &'r Repository,
}

impl Repository {
    /// The rescued work.
    pub fn rescues(&self) -> Rescues<'_> {
        Rescues { repository: self }
    }
}

impl Rescues<'_> {
    /// All of it, by name and number.
    pub fn list(&self) -> Result<Vec<Rescue>, RescueError> {
        self.below(RESCUE_REFS)
    }

    /// That of one tree, by number.
    pub fn of(&self, name: &TreeName) -> Result<Vec<Rescue>, RescueError> {
        self.below(&format!("{RESCUE_REFS}{name}/"))
    }

    /// One of them.
    pub fn get(&self, name: &TreeName, number: u32) -> Result<Rescue, RescueError> {
        let found = self.of(name)?.into_iter().find(|own| own.number == number);
        let reference = reference(name, number)?;
        found.ok_or_else(|| RescueError::Unknown { reference: reference.to_string() })
    }

    fn below(&self, folder: &str) -> Result<Vec<Rescue>, RescueError> {
        let format = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents)%00";
        let printed = self.repository.call(["for-each-ref", format, folder]).bytes()?;
        let fields: Vec<&[u8]> = printed.split(|byte| *byte == 0).collect();
        let mut found: Vec<Rescue> = fields.chunks_exact(4).filter_map(read).collect();
        found.sort_by(|one, other| (&one.name, one.number).cmp(&(&other.name, other.number)));
        Ok(found)
    }

    /// The changes it holds, against the commit that was checked out.
    pub fn changes(&self, rescue: &Rescue) -> Result<Vec<Change>, RescueError> {
        Ok(between(self.repository, &self.before(rescue)?, &rescue.commit)?)
    }

    /// The same as a patch. File names are as git quotes them.
    pub fn patch(&self, rescue: &Rescue) -> Result<Vec<u8>, RescueError> {
        self.diff(rescue, &["--patch", "--binary"])
    }

    /// The same as a table of files and counts of lines.
    pub fn stat(&self, rescue: &Rescue) -> Result<String, RescueError> {
        Ok(String::from_utf8_lossy(&self.diff(rescue, &["--stat"])?).into_owned())
    }

    fn diff(&self, rescue: &Rescue, options: &[&str]) -> Result<Vec<u8>, RescueError> {
        let args = ["diff-tree", "-r", "--find-renames", "--no-ext-diff", "--no-textconv"];
        let call = self.repository.call(args).arg("--no-color");
        let call = options.iter().fold(call, crate::git::call::Call::arg);
        let before = self.before(rescue)?;
        Ok(call.arg(before.as_str()).arg(rescue.commit.as_str()).bytes()?)
    }

    /// The commit that was checked out, or the empty tree.
    pub(super) fn before(&self, rescue: &Rescue) -> Result<ObjectId, GitError> {
        match self.repository.resolve(&format!("{}^", rescue.commit))? {
            Some(parent) => Ok(parent),
            None => self.repository.call(["mktree"]).input(b"").id(),
        }
    }

    /// Deletes it for good, if it is still what the caller saw.
    pub fn drop(&self, rescue: &Rescue) -> Result<(), RescueError> {
        let refs = self.repository.refs();
        let folder = format!("{}.inner/", rescue.reference);
        match refs.delete(&rescue.reference, &rescue.commit)? {
            Swap::Done => {}
            Swap::Moved { .. } => {
                return Err(RescueError::Moved { reference: rescue.reference.to_string() });
            }
        }
        for (name, at) in refs.below(&folder)? {
            refs.delete(&name, &at)?;
        }
        Ok(())
    }
}

/// Reads a line of the listing; none for refs of other forms, such as those of repositories inside.
fn read(fields: &[&[u8]]) -> Option<Rescue> {
    let text = |at: usize| fields.get(at).map(|field| String::from_utf8_lossy(field));
    let reference = RefName::new(text(0)?.trim_start_matches('\n')).ok()?;
    let (name, number) = reference.as_str().strip_prefix(RESCUE_REFS)?.split_once('/')?;
    let (name, number) = (TreeName::new(name).ok()?, number.parse().ok()?);
    let contents = text(3)?;
    let trailers = Trailers::of(&contents);
    let value = |key: &str| trailers.get(key).map(str::to_owned);
    let inner = trailers.iter().filter(|(key, _)| *key == "Althing-Inner");
    let inner = inner.enumerate().filter_map(|(at, (_, path))| {
        let reference = RefName::new(&format!("{reference}.inner/{}/files", at + 1)).ok()?;
        Some(InnerRescue { path: path.to_owned(), reference })
    });
    Some(Rescue {
        name,
        number,
        commit: ObjectId::of_bytes(fields.get(1)?)?,
        at: text(2)?.parse().ok()?,
        branch: value("Althing-Branch"),
        files: value("Althing-Files").and_then(|files| files.parse().ok()).unwrap_or(0),
        subject: contents.lines().next().unwrap_or_default().to_owned(),
        reason: value("Althing-Reason").unwrap_or_default(),
        inner: inner.collect(),
        fingerprint: value("Althing-State").unwrap_or_default(),
        reference,
    })
}
