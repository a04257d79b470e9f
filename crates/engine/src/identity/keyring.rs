//! Keys: one for the runtime, one per agent, one per person.
//!
//! Agents and the runtime have plain key files, readable by the owner only: whoever can read one
//! *is* that agent as far as this machine can tell. A person's key file is encrypted with a
//! passphrase (Argon2id and XChaCha20-Poly1305), so having the file is not enough.
//!
//! Only this module makes a [`Credential`]; without one nobody can act as anybody.

use althing_kernel::{AgentName, Principal, UserId};
use althing_trail::SecretKey;
use data_encoding::HEXLOWER;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::error::EngineError;
use crate::identity::encrypted_key::EncryptedKey;
use crate::mint::random;
use crate::store::home::{Home, remove_leftover, sync_folder_of};

const PLAIN_HEADER: &str = "althing secret key v1";
/// Largest size of a key file, in bytes: more than any has.
const KEY_BYTES_MAX: u64 = 4096;
/// Shortest passphrase, in characters.
pub const PASSPHRASE_CHARS_MIN: usize = 8;

/// Proof of identity: a principal and their key.
#[derive(Clone, Debug)]
pub struct Credential {
    principal: Principal,
    key: SecretKey,
}

impl Credential {
    /// The principal.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The key.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }
}

/// The keys of a state folder.
#[derive(Clone, Debug)]
pub struct Keyring {
    folder: PathBuf,
}

impl Keyring {
    /// The keyring of a state folder.
    pub fn of(home: &Home) -> Self {
        Keyring { folder: home.keys() }
    }

    /// The keyring in a folder of keys.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Keyring { folder: folder.to_owned() }
    }

    /// Path of the runtime's key.
    pub fn runtime_path(&self) -> PathBuf {
        self.folder.join("runtime.key")
    }

    fn agent_path(&self, name: &AgentName) -> PathBuf {
        self.folder.join(format!("agent-{}.key", file_name(name.as_str())))
    }

    fn user_path(&self, id: &UserId) -> PathBuf {
        self.folder.join(format!("user-{}.key", file_name(id.as_str())))
    }

    /// The runtime's key, if it is on this machine.
    pub fn runtime(&self) -> Result<Option<SecretKey>, EngineError> {
        read_plain(&self.runtime_path())
    }

    /// The runtime's key; it is made if it is missing.
    pub fn runtime_or_new(&self) -> Result<SecretKey, EngineError> {
        read_or_make(&self.runtime_path())
    }

    /// An agent's credential, if its key is on this machine.
    pub fn agent(&self, name: &AgentName) -> Result<Option<Credential>, EngineError> {
        let key = read_plain(&self.agent_path(name))?;
        Ok(key.map(|key| Credential { principal: Principal::Agent(name.clone()), key }))
    }

    /// An agent's credential; its key is made on first use.
    pub fn agent_or_new(&self, name: &AgentName) -> Result<Credential, EngineError> {
        let key = read_or_make(&self.agent_path(name))?;
        Ok(Credential { principal: Principal::Agent(name.clone()), key })
    }

    /// Whether a person's encrypted key is on this machine.
    pub fn has_user(&self, id: &UserId) -> bool {
        self.user_path(id).exists()
    }

    /// Decrypts a person's key with their passphrase.
    pub fn user(&self, id: &UserId, passphrase: &str) -> Result<Credential, EngineError> {
        let path = self.user_path(id);
        if !self.has_user(id) {
            let message = format!("there is no key of user {id} here; run `althing login {id}`");
            return Err(EngineError::Credential(message));
        }
        let text = read_file(&path)?;
        let key = EncryptedKey::parse(&text)
            .ok_or_else(|| damaged(&path))?
            .open(passphrase)
            .ok_or_else(|| EngineError::Credential(format!("wrong passphrase for user {id}")))?;
        Ok(Credential { principal: Principal::User(id.clone()), key })
    }

    /// Makes a person's key, encrypted with their passphrase. Never replaces an existing key.
    pub fn new_user(&self, id: &UserId, passphrase: &str) -> Result<Credential, EngineError> {
        if passphrase.chars().count() < PASSPHRASE_CHARS_MIN {
            let message = format!("a passphrase has at least {PASSPHRASE_CHARS_MIN} characters");
            return Err(EngineError::Credential(message));
        }
        let key = SecretKey::from_seed(&random()?);
        let encrypted = EncryptedKey::new(&key, passphrase, random()?, random()?)
            .ok_or_else(|| EngineError::Defect("a key could not be sealed".to_owned()))?;
        if !create_once(&self.user_path(id), &encrypted.text())? {
            let message = format!("user {id} already has a key here");
            return Err(EngineError::Credential(message));
        }
        Ok(Credential { principal: Principal::User(id.clone()), key })
    }

    /// Paths of all key files.
    pub fn files(&self) -> Result<Vec<PathBuf>, EngineError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(EngineError::file("list", &self.folder)(error)),
        };
        let mut files: Vec<PathBuf> =
            entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        files.sort();
        Ok(files)
    }
}

/// A name as a file name: capitals and special characters are escaped, so that names which differ
/// only in case get different files on file systems that ignore case.
fn file_name(name: &str) -> String {
    let plain =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    name.chars()
        .map(|c| if plain(c) { c.to_string() } else { format!("%{:02x}", u32::from(c)) })
        .collect()
}

/// Reads a file that may hold a key. Fails unless it is a regular file of at most 4 KiB.
pub(crate) fn read_file(path: &Path) -> Result<String, EngineError> {
    let reading = || {
        let file = std::fs::File::open(path)?;
        let mut text = String::new();
        std::io::Read::take(file, KEY_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    };
    if !path.is_file() {
        return Err(damaged(path));
    }
    reading().map_err(EngineError::file("read", path))
}

fn damaged(path: &Path) -> EngineError {
    let source = std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not a key file");
    EngineError::File { doing: "use", path: path.to_owned(), source }
}

fn plain_text(key: &SecretKey) -> String {
    format!("{PLAIN_HEADER}\n{}\n", HEXLOWER.encode(&key.seed()))
}

fn read_plain(path: &Path) -> Result<Option<SecretKey>, EngineError> {
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => return Ok(None),
        Err(error) => return Err(EngineError::file("read", path)(error)),
    }
    let text = read_file(path)?;
    parse_plain(&text).map(Some).ok_or_else(|| damaged(path))
}

fn parse_plain(text: &str) -> Option<SecretKey> {
    let rest = text.strip_prefix(PLAIN_HEADER)?;
    let seed = HEXLOWER.decode(rest.trim().as_bytes()).ok()?;
    Some(SecretKey::from_seed(&seed.try_into().ok()?))
}

/// Whether a text is the content of a key file.
pub fn is_key(text: &str) -> bool {
    parse_plain(text).is_some() || EncryptedKey::parse(text).is_some()
}

fn read_or_make(path: &Path) -> Result<SecretKey, EngineError> {
    if let Some(key) = read_plain(path)? {
        return Ok(key);
    }
    create_once(path, &plain_text(&SecretKey::from_seed(&random()?)))?;
    // Another process may have been faster; any valid key will do.
    read_plain(path)?.ok_or_else(|| damaged(path))
}

/// Writes a new file completely, readable by the owner only. Returns whether it was written; an
/// existing file stays.
pub(crate) fn create_once(path: &Path, text: &str) -> Result<bool, EngineError> {
    let suffix = HEXLOWER.encode(&random::<8>()?);
    let beside = path.with_extension(format!("new-{suffix}"));
    let made = write_new(&beside, text).and_then(|()| match std::fs::hard_link(&beside, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has hard links.
        // The temporary name is not needed any more.
        Err(error) => {
            tracing::debug!(%error, "no second name for a key file; writing it directly");
            write_new(path, text)
        }
    });
    remove_leftover(&beside);
    match made {
        Ok(()) => sync_folder_of(path).map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(EngineError::file("create", path)(error)),
    }
}

/// Writes a file that must not exist yet, for its owner only.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring() -> (tempfile::TempDir, Keyring) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        home.create().unwrap();
        (folder, Keyring::of(&home))
    }

    fn name(text: &str) -> AgentName {
        AgentName::new(text).unwrap()
    }

    #[test]
    fn an_agents_key_is_made_once_and_only_for_its_owner() {
        let (_folder, keys) = keyring();
        assert!(keys.agent(&name("alice")).unwrap().is_none());
        let made = keys.agent_or_new(&name("alice")).unwrap();
        let again = keys.agent_or_new(&name("alice")).unwrap();
        assert_eq!(made.key().public(), again.key().public());
        let others = ["ALICE", "alicE", "a:lice", "bob"];
        for other in others {
            let other = keys.agent_or_new(&name(other)).unwrap();
            assert_ne!(other.key().public(), made.key().public());
        }
        let files = keys.files().unwrap();
        assert_eq!(files.len(), 1 + others.len(), "{files:?}");
        assert!(files.iter().all(|file| !crate::store::home::is_open_to_others(file)));
        let lower: std::collections::BTreeSet<_> =
            files.iter().map(|file| file.to_string_lossy().to_lowercase()).collect();
        assert_eq!(lower.len(), files.len(), "no two meet on file systems that ignore case");
    }

    #[test]
    fn many_at_once_agree_on_one_key() {
        let (_folder, keys) = keyring();
        let made: std::collections::BTreeSet<_> = std::thread::scope(|scope| {
            let make = || keys.agent_or_new(&name("alice")).unwrap().key().public();
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(made.len(), 1);
    }

    #[test]
    fn a_persons_key_opens_with_the_passphrase_only() {
        let (_folder, keys) = keyring();
        let ada = UserId::new("ada").unwrap();
        assert!(keys.new_user(&ada, "short").is_err());
        assert!(!keys.has_user(&ada));
        let made = keys.new_user(&ada, "correct horse").unwrap();
        assert_eq!(keys.user(&ada, "correct horse").unwrap().key().public(), made.key().public());
        let wrong = keys.user(&ada, "wrong horse").unwrap_err().to_string();
        assert!(wrong.contains("wrong passphrase"), "{wrong}");
        assert!(keys.new_user(&ada, "another one").is_err(), "a key is never replaced");
        let text = std::fs::read_to_string(keys.user_path(&ada)).unwrap();
        assert!(!text.contains(&HEXLOWER.encode(&made.key().seed())));
    }

    #[test]
    fn damaged_key_files_are_reported() {
        let (_folder, keys) = keyring();
        let ada = UserId::new("ada").unwrap();
        for content in ["", "althing secret key v1\nzz\n", "nonsense", "althing sealed key v1\n"] {
            std::fs::write(keys.agent_path(&name("alice")), content).unwrap();
            std::fs::write(keys.user_path(&ada), content).unwrap();
            assert!(keys.agent(&name("alice")).is_err(), "{content}");
            assert!(keys.agent_or_new(&name("alice")).is_err(), "{content}");
            assert!(keys.user(&ada, "passphrase").is_err(), "{content}");
        }
    }
}
