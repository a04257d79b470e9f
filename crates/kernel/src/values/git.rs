//! Names that git gives: commits and branches.

use std::sync::Arc;

use crate::values::string_newtype::string_newtype;

/// The longest name of a branch, in bytes.
const BRANCH_BYTES_MAX: usize = 200;

/// The error for text that is not the id of a commit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the id of a commit: it has 40 or 64 hexadecimal digits")]
pub struct CommitIdError(String);

fn check_commit(text: &str) -> Result<(), CommitIdError> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if matches!(text.len(), 40 | 64) && text.bytes().all(is_hex) {
        return Ok(());
    }
    Err(CommitIdError(text.chars().take(64).collect()))
}

string_newtype!(
    /// The id of a commit: SHA-1 or SHA-256, in hexadecimal digits.
    #[derive(Debug)]
    CommitId(Arc<str>): check_commit => CommitIdError, "the id of a commit",
        "^([0-9a-f]{40}|[0-9a-f]{64})$"
);

/// The error for text that is not the name of a branch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a branch, such as `main` or `feature/parser`")]
pub struct BranchNameError(String);

/// Checks the rules that git has for the names of references.
fn check_branch(text: &str) -> Result<(), BranchNameError> {
    let allowed = |c: char| !c.is_control() && !c.is_whitespace() && !"~^:?*[\\".contains(c);
    let part_is_fine = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && part.strip_suffix(".lock").is_none()
    };
    let is_name = text.len() <= BRANCH_BYTES_MAX
        && text.chars().all(allowed)
        && text.split('/').all(part_is_fine)
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && text != "@";
    if is_name { Ok(()) } else { Err(BranchNameError(text.chars().take(80).collect())) }
}

string_newtype!(
    /// The name of a branch, without `refs/heads/`.
    #[derive(Debug)]
    BranchName(Arc<str>): check_branch => BranchNameError, "the name of a branch",
        "^[^\\s~^:?*\\[\\\\]{1,200}$"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_branches_have_a_form() {
        assert!(CommitId::new(&"a1".repeat(20)).is_ok() && CommitId::new(&"0f".repeat(32)).is_ok());
        for bad in ["", "a1", &"A1".repeat(20), &"g1".repeat(20), &"a".repeat(41)] {
            assert!(CommitId::new(bad).is_err(), "{bad}");
        }
        for good in ["main", "feature/parser", "althing/r1/_merged", "v1.2", "é"] {
            assert!(BranchName::new(good).is_ok(), "{good}");
        }
        let bad = ["", "-x", "a b", "a..b", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a.", "@"];
        for bad in bad.into_iter().chain(["a@{b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b"]) {
            assert!(BranchName::new(bad).is_err(), "{bad}");
        }
    }
}
