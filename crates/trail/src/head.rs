//! Heads: the size and root of the tree after a commit, signed by the runtime.
//!
//! A head is a checkpoint in the C2SP form (`tlog-checkpoint` over `signed-note`), so common
//! tools read it:
//!
//! ```text
//! althing/<project>
//! <size>
//! <root, base64>
//! prev <hash of the commit before, hex>
//!
//! — althing/<project> <key id and signature, base64>
//! ```
//!
//! The `prev` line is an extension. It names the head before this one, signature included, so
//! the newest signature vouches for every older head as well, and checking it checks them all.

use althing_kernel::{ProjectId, PublicKey};
use data_encoding::BASE64;

use crate::hash::{Domain, Hash};
use crate::key::{SecretKey, is_signed_by};

const ORIGIN: &str = "althing/";
const DASH: &str = "\u{2014} ";
/// A key id of 4 bytes and an Ed25519 signature.
const SIGNATURE_BYTES: usize = 4 + 64;
/// The longest text a head is read from, in bytes; witnesses may have added lines.
pub const HEAD_BYTES_MAX: usize = 16 << 10;

/// The statement of a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Project of the trail.
    pub project: ProjectId,
    /// Number of entries.
    pub size: u64,
    /// Root of the tree over the entries.
    pub root: Hash,
    /// Hash of the previous commit, unless this is the first.
    pub prev: Option<Hash>,
}

/// A head with the runtime's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedHead {
    head: Head,
    text: String,
    key_id: [u8; 4],
    signature: [u8; 64],
}

/// Error for text that is not a signed head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not a signed head: {0}")]
pub struct HeadError(&'static str);

impl Head {
    fn body(&self) -> String {
        let Head { project, size, root, .. } = self;
        let root = BASE64.encode(root.as_bytes());
        let prev = self.prev.map_or_else(String::new, |prev| format!("prev {prev}\n"));
        format!("{ORIGIN}{project}\n{size}\n{root}\n{prev}")
    }

    /// Whether a text is this head with one signature line of the runtime and nothing else. Checks
    /// the form of the signature, not whose it is.
    pub fn is_head_in(&self, text: &str) -> bool {
        let signature = text
            .strip_prefix(self.body().as_str())
            .and_then(|rest| rest.strip_prefix('\n'))
            .and_then(|rest| rest.strip_prefix(DASH))
            .and_then(|rest| rest.strip_prefix(ORIGIN))
            .and_then(|rest| rest.strip_prefix(self.project.as_str()))
            .and_then(|rest| rest.strip_prefix(' '))
            .and_then(|rest| rest.strip_suffix('\n'));
        // The decoder accepts one text per value, so one signature has only one text.
        signature.is_some_and(|blob| {
            BASE64.decode(blob.as_bytes()).is_ok_and(|bytes| bytes.len() == SIGNATURE_BYTES)
        })
    }

    /// Signs the head.
    pub fn sign(self, key: &SecretKey) -> SignedHead {
        let body = self.body();
        let signature = key.sign(body.as_bytes());
        let key_id = key_id(&self.project, &key.public());
        let mut blob = key_id.to_vec();
        blob.extend_from_slice(&signature);
        let line = format!("{DASH}{ORIGIN}{} {}\n", self.project, BASE64.encode(&blob));
        SignedHead { text: format!("{body}\n{line}"), head: self, key_id, signature }
    }
}

impl SignedHead {
    /// Reads a signed head. Signature lines of witnesses may follow the first.
    pub fn parse(text: &str) -> Result<Self, HeadError> {
        if text.len() > HEAD_BYTES_MAX {
            return Err(HeadError("it is too long"));
        }
        let (body, signatures) =
            text.split_once("\n\n").ok_or(HeadError("there is no signature"))?;
        let head = parse_body(body)?;
        if format!("{body}\n") != head.body() {
            return Err(HeadError("its body is not in the form heads have"));
        }
        let line = signatures.split('\n').next().unwrap_or_default();
        let blob = line
            .strip_prefix(DASH)
            .and_then(|rest| rest.strip_prefix(&format!("{ORIGIN}{} ", head.project)))
            .and_then(|blob| BASE64.decode(blob.as_bytes()).ok())
            .ok_or(HeadError("its signature line is malformed"))?;
        if blob.len() != SIGNATURE_BYTES {
            return Err(HeadError("its signature has the wrong length"));
        }
        let (mut key_id, mut signature) = ([0; 4], [0; 64]);
        key_id.copy_from_slice(&blob[..4]);
        signature.copy_from_slice(&blob[4..]);
        Ok(SignedHead { head, text: text.to_owned(), key_id, signature })
    }

    /// The statement.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the key signed it.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.key_id == key_id(&self.head.project, key)
            && is_signed_by(key, self.head.body().as_bytes(), &self.signature)
    }

    /// The hash by which the next head refers to the head with this text.
    pub fn hash_of(text: &str) -> Hash {
        Hash::of(Domain::Commit, &[text.as_bytes()])
    }
}

fn parse_body(body: &str) -> Result<Head, HeadError> {
    let mut lines = body.split('\n');
    let project = lines
        .next()
        .and_then(|line| line.strip_prefix(ORIGIN))
        .and_then(|id| ProjectId::new(id).ok())
        .ok_or(HeadError("its first line does not name a project"))?;
    let size = lines
        .next()
        .and_then(|line| line.parse().ok())
        .ok_or(HeadError("its second line is not a size"))?;
    let root = lines
        .next()
        .and_then(|line| BASE64.decode(line.as_bytes()).ok())
        .and_then(|bytes| bytes.try_into().ok())
        .map(Hash::from_bytes)
        .ok_or(HeadError("its third line is not a root"))?;
    let prev = match lines.next() {
        None => None,
        Some(line) => Some(
            line.strip_prefix("prev ")
                .and_then(|hex| hex.parse().ok())
                .ok_or(HeadError("its fourth line does not name the commit before"))?,
        ),
    };
    match lines.next() {
        None => Ok(Head { project, size, root, prev }),
        Some(_) => Err(HeadError("it has lines too many")),
    }
}

fn key_id(project: &ProjectId, key: &PublicKey) -> [u8; 4] {
    let name = format!("{ORIGIN}{project}");
    let hash = Hash::plain(&[name.as_bytes(), b"\n\x01", key.as_bytes()]);
    let mut id = [0; 4];
    id.copy_from_slice(&hash.as_bytes()[..4]);
    id
}

/// The runtime's key in the verifier-key format of signed notes.
pub fn verifier_key(project: &ProjectId, key: &PublicKey) -> String {
    let id = data_encoding::HEXLOWER.encode(&key_id(project, key));
    let mut blob = vec![1];
    blob.extend_from_slice(key.as_bytes());
    format!("{ORIGIN}{project}+{id}+{}", BASE64.encode(&blob))
}

/// Reads a key in the verifier-key format. Its name and id must match the key.
pub fn parse_verifier_key(text: &str) -> Option<PublicKey> {
    // The last part may contain a `+`.
    let mut parts = text.splitn(3, '+');
    let (name, _, blob) = (parts.next()?, parts.next()?, parts.next()?);
    let blob = BASE64.decode(blob.as_bytes()).ok()?;
    let (&1, key) = blob.split_first()? else { return None };
    let key = PublicKey::from_bytes(key.try_into().ok()?);
    let project = ProjectId::new(name.strip_prefix(ORIGIN)?).ok()?;
    (verifier_key(&project, &key) == text).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(prev: Option<Hash>) -> Head {
        let root = Hash::plain(&[b"root"]);
        Head { project: ProjectId::new("p1").unwrap(), size: 42, root, prev }
    }

    /// The expected text was made with another implementation of the same formats.
    #[test]
    fn a_signed_head_has_a_known_form() {
        let key = SecretKey::from_seed(&[1; 32]);
        let signed = head(None).sign(&key);
        let expected = "althing/p1\n42\nSBNJTRN+FjG7owHVrKtue7eqdM4RhdRWVl71HXN2d7I=\n\n\
            \u{2014} althing/p1 IjeFd2bzeMw+pQNhBdx+ed4NZjjSTFyFdS2vDPT79PFz2ZFAaUT/1YMbqZleXJBq\
            ib9lEB40T2JdBsw04Tm1ch2Wig0=\n";
        assert_eq!(signed.text(), expected);
        assert_eq!(
            verifier_key(&signed.head.project, &key.public()),
            "althing/p1+22378577+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
        );
    }

    #[test]
    fn every_single_changed_byte_is_noticed() {
        let key = SecretKey::from_seed(&[1; 32]);
        let signed = head(Some(Hash::plain(&[b"before"]))).sign(&key);
        assert_eq!(SignedHead::parse(signed.text()), Ok(signed.clone()));
        assert!(signed.head.is_head_in(signed.text()) && signed.is_signed_by(&key.public()));
        for at in 0..signed.text().len() {
            for flip in [1u8, 32, 128] {
                let mut bytes = signed.text().as_bytes().to_vec();
                bytes[at] ^= flip;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let passes = SignedHead::parse(&text).is_ok_and(|parsed| {
                    parsed.head.is_head_in(&text) && parsed.is_signed_by(&key.public())
                });
                assert!(!passes, "byte {at} of {text}");
            }
        }
    }

    #[test]
    fn witnesses_may_add_their_line() {
        let key = SecretKey::from_seed(&[1; 32]);
        let signed = head(None).sign(&key);
        let cosigned = format!("{}{DASH}witness AAAA\n", signed.text());
        let parsed = SignedHead::parse(&cosigned).unwrap();
        assert!(parsed.is_signed_by(&key.public()));
        assert!(!parsed.head.is_head_in(&cosigned), "but a log stores the runtime's own text");
    }

    #[test]
    fn text_that_is_not_a_head_is_refused() {
        for text in ["", "\n\n", "althing/p\n1\n", "x\n1\nAAAA\n\n— x AAAA\n"] {
            assert!(SignedHead::parse(text).is_err(), "{text:?}");
        }
        let long = "a".repeat(HEAD_BYTES_MAX + 1);
        assert!(SignedHead::parse(&long).is_err());
    }
}
