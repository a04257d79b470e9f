//! The marker of a tree: a small file among git's files for the worktree that says whose it is and
//! how far it is. It goes with the worktree.

use std::path::{Path, PathBuf};

use super::TreeError;
use crate::git::files;
use crate::git::object_id::ObjectId;
use crate::git::ref_name::{BranchName, TreeName};
use crate::git::tree_path::TreePath;

const FILE: &str = "althing-tree";

/// How far a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is being made or reset.
    Making,
    /// An attempt has it.
    Ready,
    /// It is in the pool.
    Free,
    /// It is on its way to quarantine or lies there.
    Leaving,
    /// Its work is rescued and its files are being deleted.
    Removing,
}

const STAGES: &[(Stage, &str)] = &[
    (Stage::Making, "making"),
    (Stage::Ready, "ready"),
    (Stage::Free, "free"),
    (Stage::Leaving, "leaving"),
    (Stage::Removing, "removing"),
];

/// A file that was copied into a tree, as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopiedFile {
    pub(crate) path: Vec<u8>,
    pub(crate) size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub(crate) written: u128,
}

/// The content of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) stage: Stage,
    pub(crate) name: TreeName,
    pub(crate) branch: BranchName,
    pub(crate) base: ObjectId,
    /// The name of its folder below the root, which is that of its lock.
    pub(crate) folder: String,
    /// Its place in quarantine, once it is on its way there.
    pub(crate) slot: Option<String>,
    /// Whether its content is worth nothing, as that of a check is.
    pub(crate) is_scratch: bool,
    /// Files that were copied into it.
    pub(crate) copied: Vec<CopiedFile>,
}

impl Marker {
    /// Reads the marker of a worktree; none if it has none, or one that cannot be understood.
    pub(crate) fn read(dir: &Path) -> Result<Option<Marker>, TreeError> {
        let path = dir.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(parse(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Ok(None),
            Err(source) => Err(TreeError::File { path, source }),
        }
    }

    /// Writes it, in one step.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), TreeError> {
        let path: PathBuf = dir.join(FILE);
        let written = files::write(&path, self.text().as_bytes());
        written.map_err(|source| TreeError::File { path, source })
    }

    /// The files that were copied into the tree.
    pub(crate) fn copies(&self) -> Vec<TreePath> {
        self.copied.iter().map(|copy| TreePath::new(&copy.path)).collect()
    }

    fn text(&self) -> String {
        let stage = STAGES.iter().find(|(stage, _)| *stage == self.stage);
        let stage = stage.map_or("making", |(_, word)| *word);
        let Marker { name, branch, base, folder, .. } = self;
        let mut text =
            format!("stage {stage}\nname {name}\nbranch {branch}\nbase {base}\nfolder {folder}\n");
        if let Some(slot) = &self.slot {
            text = format!("{text}slot {slot}\n");
        }
        if self.is_scratch {
            text.push_str("scratch yes\n");
        }
        for file in &self.copied {
            text = format!("{text}copied {} {} ", file.size, file.written);
            for byte in &file.path {
                text.extend(
                    [byte >> 4, byte & 15]
                        .map(|half| char::from(b"0123456789abcdef"[usize::from(half)])),
                );
            }
            text.push('\n');
        }
        text
    }
}

fn parse(text: &str) -> Option<Marker> {
    let all = |key: &str| {
        let begin = format!("{key} ");
        text.lines().filter_map(move |line| line.strip_prefix(&begin).map(str::to_owned))
    };
    let one = |key: &str| all(key).next();
    let word = one("stage")?;
    Some(Marker {
        stage: STAGES.iter().find(|(_, own)| *own == word)?.0,
        name: TreeName::new(&one("name")?).ok()?,
        branch: BranchName::new(&one("branch")?).ok()?,
        base: ObjectId::new(&one("base")?).ok()?,
        folder: one("folder")?,
        slot: one("slot"),
        is_scratch: one("scratch").is_some(),
        copied: all("copied").filter_map(|line| parse_copied(&line)).collect(),
    })
}

fn parse_copied(line: &str) -> Option<CopiedFile> {
    let mut parts = line.split(' ');
    let (size, written) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let hex = parts.next()?.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let path = hex.chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(CopiedFile { path, size, written })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_reads_back() {
        let marker = Marker {
            stage: Stage::Leaving,
            name: TreeName::new("lexer.2").unwrap(),
            branch: BranchName::new("althing/r/lexer.2").unwrap(),
            base: ObjectId::new(&"a".repeat(40)).unwrap(),
            folder: "lexer.2".to_owned(),
            slot: Some("lexer.2~1".to_owned()),
            is_scratch: true,
            copied: vec![CopiedFile { path: b"a b\n\xff".to_vec(), size: 3, written: 9 }],
        };
        assert_eq!(parse(&marker.text()), Some(marker));
        assert_eq!(parse("stage ready\nname x\n"), None);
    }
}
