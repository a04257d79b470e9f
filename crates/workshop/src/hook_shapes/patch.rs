//! The files that a patch names.

use std::path::PathBuf;

/// The beginnings of lines that name a file of an `apply_patch` patch.
const NAMES: &[&str] =
    &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The files that a patch in the form of `apply_patch` names, in the order they are named.
pub(super) fn paths(patch: &str) -> Vec<PathBuf> {
    let file = |line: &str| {
        let line = line.trim_end();
        let named = NAMES.iter().find_map(|begins| line.strip_prefix(begins))?.trim();
        (!named.is_empty()).then(|| PathBuf::from(named))
    };
    patch.lines().filter_map(file).collect()
}

/// The files that a unified diff names, with this many leading folders taken away.
pub(super) fn diff_paths(diff: &str, strip: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in diff.lines() {
        let named = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "));
        let Some(named) = named else { continue };
        // A time may follow the name, after a tab.
        let named = named.split('\t').next().unwrap_or(named).trim();
        if named == "/dev/null" || named.is_empty() || named.starts_with('"') {
            continue;
        }
        let parts: Vec<&str> = named.split('/').collect();
        if let Some(rest) = parts.get(strip..).filter(|rest| !rest.is_empty()) {
            found.push(PathBuf::from(rest.join("/")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_a_patch_are_named() {
        let patch = "*** Begin Patch\n*** Add File: new.txt\n+hi\n*** Update File: src/a.rs\n\
                     *** Move to: src/b.rs\n@@\n-x\n+*** Add File: is text\n \
                     *** Add File: is text\n*** Delete File: old.txt\r\n\
                     *** End Patch";
        let expected: Vec<PathBuf> =
            ["new.txt", "src/a.rs", "src/b.rs", "old.txt"].iter().map(PathBuf::from).collect();
        assert_eq!(paths(patch), expected);
        assert!(paths("*** Add File: \nnothing").is_empty());
    }

    #[test]
    fn a_diff_names_both_sides() {
        let diff = "diff --git a/x b/y\n--- a/x\n+++ b/y\t2026-01-01\n@@\n-a\n+b\n--- /dev/null\n";
        assert_eq!(diff_paths(diff, 1), [PathBuf::from("x"), PathBuf::from("y")]);
        assert_eq!(diff_paths("--- x\n+++ x\n", 0).len(), 2);
        assert!(diff_paths("--- x\n+++ x\n", 1).is_empty());
    }
}
