//! Conflicts of a merge, from the words of `git merge-tree`.

use crate::git::object_id::ObjectId;
use crate::git::tree_path::TreePath;

/// The kind of a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both changed the same lines.
    Content,
    /// Both added the file, differently.
    AddAdd,
    /// One changed it, the other deleted it.
    ModifyDelete,
    /// One renamed it, the other deleted it.
    RenameDelete,
    /// Both renamed files so that they clash.
    Rename,
    /// One has a file where the other has a folder.
    FileDirectory,
    /// Both changed a file that is not text.
    Binary,
    /// Both changed a submodule.
    Submodule,
    /// Both changed its mode or type.
    Mode,
    /// Names that differ in case only, where the file system does not tell them apart.
    Case,
    /// Another kind, in git's short words.
    Other(String),
}

/// A conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: TreePath,
    /// The kind.
    pub kind: ConflictKind,
    /// Git's words.
    pub text: String,
}

impl Conflict {
    /// One line for people: the path and the kind of conflict.
    pub fn line(&self) -> String {
        format!("{}: {}", self.path, self.kind.words())
    }
}

impl ConflictKind {
    fn words(&self) -> &str {
        match self {
            ConflictKind::Content => "both changed the same lines",
            ConflictKind::AddAdd => "both added it, differently",
            ConflictKind::ModifyDelete => "one changed it, the other deleted it",
            ConflictKind::RenameDelete => "one renamed it, the other deleted it",
            ConflictKind::Rename => "both renamed files so that they clash",
            ConflictKind::FileDirectory => "one has a file where the other has a folder",
            ConflictKind::Binary => "both changed it, and it is not text",
            ConflictKind::Submodule => "both changed the submodule",
            ConflictKind::Mode => "both changed its mode or type",
            ConflictKind::Case => "its name differs from another in case only",
            ConflictKind::Other(words) => words,
        }
    }

    fn of(word: &str) -> Self {
        let inner = word.trim_start_matches("CONFLICT (").trim_end_matches(')');
        match inner {
            "contents" => ConflictKind::Content,
            "add/add" => ConflictKind::AddAdd,
            "modify/delete" => ConflictKind::ModifyDelete,
            "rename/delete" => ConflictKind::RenameDelete,
            "file/directory" => ConflictKind::FileDirectory,
            "binary" => ConflictKind::Binary,
            "distinct modes" | "distinct types" => ConflictKind::Mode,
            _ if inner.starts_with("rename") => ConflictKind::Rename,
            _ if inner.starts_with("directory rename") => ConflictKind::Rename,
            _ if inner.starts_with("submodule") => ConflictKind::Submodule,
            _ => ConflictKind::Other(inner.to_owned()),
        }
    }
}

/// Reads `tree␀ path␀… ␀ (count␀ path␀… kind␀ text␀)…`: the tree and the conflicts.
pub(super) fn parse(printed: &[u8]) -> Option<(ObjectId, Vec<Conflict>)> {
    let mut parts = printed.split(|byte| *byte == 0);
    let tree = ObjectId::of_bytes(parts.next()?)?;
    let mut conflicted = Vec::new();
    for name in parts.by_ref() {
        if name.is_empty() {
            break;
        }
        conflicted.push(TreePath::new(name));
    }
    let mut conflicts: Vec<Conflict> = Vec::new();
    while let Some(count) = parts.next() {
        if count.is_empty() {
            break;
        }
        let count: usize = std::str::from_utf8(count).ok()?.trim().parse().ok()?;
        let paths = (0..count).map(|_| parts.next()).collect::<Option<Vec<&[u8]>>>()?;
        let word = String::from_utf8_lossy(parts.next()?).into_owned();
        let text = String::from_utf8_lossy(parts.next()?).trim().to_owned();
        if !word.starts_with("CONFLICT") {
            continue;
        }
        let named = paths.iter().map(|path| TreePath::new(path));
        // A message may name several files; the one with the conflict is in the list before.
        let path = named.clone().find(|path| conflicted.contains(path)).or(named.clone().next())?;
        let kind = if text.contains("add/add") && word.contains("contents") {
            ConflictKind::AddAdd
        } else {
            ConflictKind::of(&word)
        };
        // Git says of a file that is not text both that and that its content is in conflict.
        let is_said = |own: &Conflict| own.path == path && own.kind == ConflictKind::Binary;
        if kind == ConflictKind::Content && conflicts.iter().any(is_said) {
            continue;
        }
        conflicts.push(Conflict { path, kind, text });
    }
    for path in conflicted {
        if !conflicts.iter().any(|own| own.path == path) {
            let kind = ConflictKind::Other("conflict".to_owned());
            conflicts.push(Conflict { path, kind, text: String::new() });
        }
    }
    Some((tree, conflicts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_off_list_is_not_half_read() {
        let tree = "a".repeat(40);
        let whole = format!("{tree}\0f\0\x001\0f\0CONFLICT (contents)\0Merge conflict in f\n\0");
        let (_, conflicts) = parse(whole.as_bytes()).unwrap();
        assert_eq!(conflicts.len(), 1);
        assert_eq!(conflicts[0].kind, ConflictKind::Content);
        for text in [String::new(), "x\0".to_owned(), format!("{tree}\0f\0\x002\0f\0")] {
            assert!(parse(text.as_bytes()).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_line_is_one_line_whatever_the_name() {
        let path = TreePath::new(b"a\nb\x1b[31m");
        let kind = ConflictKind::Other("some new kind".to_owned());
        let line = Conflict { path, kind, text: "more\nwords".to_owned() }.line();
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(line.ends_with(": some new kind"), "{line:?}");
    }
}
