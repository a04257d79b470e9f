//! Files in which secrets lie, by their names.

use super::{Found, Layer, run};

/// Names of files and folders in which secrets lie.
const SECRET_NAMES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    "credentials.json",
    ".env",
];
const SECRET_ENDINGS: &[&str] = &[".pem", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
const SECRET_PLACES: &[&str] = &[".ssh/", ".aws/credentials", ".kube/config", ".gnupg/"];

/// Whether secrets lie at a path, going by its name.
pub fn is_secret_path(path: &str) -> bool {
    let path = path.to_ascii_lowercase().replace('\\', "/");
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_sample =
        [".example", ".sample", ".template", ".pub"].iter().any(|end| name.ends_with(end));
    let is_named = SECRET_NAMES.contains(&name) || name.starts_with(".env.");
    let is_place = SECRET_PLACES
        .iter()
        .any(|place| path.find(place).is_some_and(|at| at == 0 || path.as_bytes()[at - 1] == b'/'));
    let ends = SECRET_ENDINGS.iter().any(|end| name.ends_with(end) && name.len() > end.len());
    !is_sample && (is_named || is_place || ends)
}

pub(super) fn paths(found: &mut Found<'_>) {
    const PATH_MAX: usize = 400;
    let bytes = found.text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/\\~".contains(&byte);
    let mut at = 0;
    while at < bytes.len() {
        let end = run(bytes, at, is_part);
        let word = found.text[at..end].trim_end_matches('.');
        if word.len() <= PATH_MAX && is_secret_path(word) {
            found.note(Layer::Path, "a file in which secrets lie", (at, at + word.len()));
        }
        at = end + 1;
        // The next word begins where a character does.
        while at < bytes.len() && !found.text.is_char_boundary(at) {
            at += 1;
        }
    }
}
