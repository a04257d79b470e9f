//! Files that git ignores.
//!
//! Asking git costs a process, so the patterns are looked at first: only a path that some pattern may
//! match is asked about. Git has the last word, since it knows what is tracked all the same.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The largest file of patterns that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where patterns are, besides the `.gitignore` files of the work tree.
pub struct Sources {
    /// The root of the work tree.
    pub root: PathBuf,
    /// The files for the whole repository and for everything of this person.
    pub others: Vec<PathBuf>,
}

/// The paths, from the root of the work tree, that git ignores. Nothing is ignored if git cannot be asked.
pub fn ignored(sources: &Sources, paths: &[String]) -> BTreeSet<String> {
    let may_be: Vec<&String> = paths.iter().filter(|path| may_be_ignored(sources, path)).collect();
    if may_be.is_empty() {
        return BTreeSet::new();
    }
    match ask_git(&sources.root, &may_be) {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(%error, "git was not asked what it ignores");
            BTreeSet::new()
        }
    }
}

fn ask_git(root: &Path, paths: &[&String]) -> std::io::Result<BTreeSet<String>> {
    let mut git = Command::new("git")
        .args(["check-ignore", "-z", "--stdin"])
        .current_dir(root)
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = git.stdin.take() {
        let list: Vec<u8> =
            paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        input.write_all(&list)?;
    }
    let output = git.wait_with_output()?;
    let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Whether some pattern matches a path or a folder above it. What a later pattern takes back is not
/// looked at.
fn may_be_ignored(sources: &Sources, path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    let in_folder = (0..names.len()).any(|depth| {
        let folder = names[..depth].iter().fold(sources.root.clone(), |at, name| at.join(name));
        matches_any(&folder.join(".gitignore"), &names[depth..])
    });
    in_folder || sources.others.iter().any(|file| matches_any(file, &names))
}

fn matches_any(file: &Path, names: &[&str]) -> bool {
    let is_small = file.metadata().is_ok_and(|data| data.is_file() && data.len() <= FILE_BYTES_MAX);
    if !is_small {
        return false;
    }
    let bytes = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().any(|line| matches(line, names))
}

/// Whether a line of patterns matches a path, given by its names, or a folder above it.
fn matches(line: &str, names: &[&str]) -> bool {
    let pattern = line.trim_end();
    if pattern.is_empty() || pattern.starts_with(['#', '!']) {
        return false;
    }
    let pattern = pattern.strip_prefix('\\').unwrap_or(pattern).trim_end_matches('/');
    let is_anchored = pattern.contains('/');
    let pattern = pattern.trim_start_matches('/');
    (1..=names.len()).any(|length| {
        if is_anchored {
            fits(pattern.as_bytes(), names[..length].join("/").as_bytes())
        } else {
            fits(pattern.as_bytes(), names[length - 1].as_bytes())
        }
    })
}

/// The most steps of one comparison. A glob that takes more may match.
const STEPS_MAX: u32 = 10_000;

/// Whether a glob matches a text. A class of characters matches anything: git has the last word.
fn fits(glob: &[u8], text: &[u8]) -> bool {
    fits_within(glob, text, &mut 0)
}

fn fits_within(glob: &[u8], text: &[u8], steps: &mut u32) -> bool {
    *steps += 1;
    if *steps > STEPS_MAX {
        return true;
    }
    match (glob, text) {
        ([], []) => true,
        ([b'*', b'*', b'/', rest @ ..], _) if fits_within(rest, text, steps) => true,
        ([b'*', b'*', rest @ ..], [_, more @ ..]) => {
            fits_within(rest, text, steps) || fits_within(glob, more, steps)
        }
        ([b'*', rest @ ..], [first, more @ ..]) => {
            fits_within(rest, text, steps) || (*first != b'/' && fits_within(glob, more, steps))
        }
        ([b'*', rest @ ..], []) => fits_within(rest, text, steps),
        ([b'?', rest @ ..], [first, more @ ..]) => *first != b'/' && fits_within(rest, more, steps),
        ([b'[', rest @ ..], [_, more @ ..]) => {
            let end = rest.iter().skip(1).position(|byte| *byte == b']');
            end.is_some_and(|end| fits_within(&rest[end + 2..], more, steps))
        }
        ([b'\\', wanted, rest @ ..] | [wanted, rest @ ..], [first, more @ ..]) => {
            wanted == first && fits_within(rest, more, steps)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_files_and_what_is_in_folders() {
        for (pattern, path) in [
            ("target/", "target/debug/x"),
            ("target", "a/target/x"),
            ("/build", "build/x"),
            ("*.log", "deep/down/a.log"),
            ("a/**/z", "a/b/c/z"),
            ("**/out", "x/out/y"),
            ("doc/*.txt", "doc/a.txt"),
            ("[Bb]in", "Bin/x"),
            ("fo?", "foo"),
        ] {
            assert!(matches(pattern, &path.split('/').collect::<Vec<_>>()), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/build", "a/build"),
            ("doc/*.txt", "doc/a/b.txt"),
            ("*.log", "a.logs"),
            ("# target", "target"),
            ("!target", "target"),
            ("", "a"),
        ] {
            assert!(!matches(pattern, &path.split('/').collect::<Vec<_>>()), "{pattern} {path}");
        }
    }
}
