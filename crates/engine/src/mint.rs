//! Fresh ids and nonces from the system's random source.

use althing_kernel::{IdKind, Mint, Timestamp};
use std::sync::Arc;

/// Letters and digits without the ones people confuse; sorted, so that encoded numbers sort too.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Random bytes to fetch at a time.
const POOL_BYTES: usize = 1024;

/// Error: the system returned no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("the system's random source fails: {0}")]
pub struct RandomError(getrandom::Error);

/// Random bytes, straight from the system.
pub fn random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(RandomError)?;
    Ok(bytes)
}

/// Mints ids of 128 bits: 56 bits of time, then 72 random bits. Entry ids have no prefix and sort
/// by their time; other ids have a readable prefix.
pub struct RandomMint {
    pool: [u8; POOL_BYTES],
    used: usize,
}

impl RandomMint {
    /// Makes a mint. Fails if the system has no random numbers.
    pub fn new() -> Result<Self, RandomError> {
        Ok(RandomMint { pool: random()?, used: 0 })
    }

    fn take(&mut self) -> [u8; 9] {
        let mut bytes = [0; 9];
        if self.used + bytes.len() > POOL_BYTES {
            // A source that worked when the process began does not fail later; if it did, the hash
            // chain of the old pool still never repeats.
            self.pool = random().unwrap_or_else(|_| stretch(&self.pool));
            self.used = 0;
        }
        bytes.copy_from_slice(&self.pool[self.used..self.used + 9]);
        self.used += 9;
        bytes
    }
}

fn stretch(pool: &[u8; POOL_BYTES]) -> [u8; POOL_BYTES] {
    use sha2::Digest as _;
    let mut next = [0; POOL_BYTES];
    for (n, chunk) in next.chunks_mut(32).enumerate() {
        let digest =
            sha2::Sha256::new().chain_update(pool).chain_update([u8::try_from(n).unwrap_or(0)]);
        chunk.copy_from_slice(&digest.finalize());
    }
    next
}

impl Mint for RandomMint {
    fn mint(&mut self, kind: IdKind, at: Timestamp) -> Arc<str> {
        let mut number = [0; 16];
        number[..7].copy_from_slice(&at.micros().to_be_bytes()[1..]);
        number[7..].copy_from_slice(&self.take());
        let id = encode(u128::from_be_bytes(number));
        let text = std::str::from_utf8(&id).unwrap_or_default();
        let prefix = match kind {
            IdKind::Entry => return text.into(),
            IdKind::Lease => "lease",
            IdKind::Workspace => "ws",
            IdKind::Envelope => "env",
            IdKind::Right => "right",
            IdKind::Signal => "sig",
            IdKind::Checkpoint => "cp",
            IdKind::Artifact => "art",
            IdKind::Graph => "graph",
            IdKind::Task => "task",
            IdKind::Conflict => "conflict",
            IdKind::Gate => "gate",
        };
        format!("{prefix}_{text}").into()
    }
}

/// A number in 26 letters and digits, most significant first.
fn encode(mut number: u128) -> [u8; 26] {
    let mut text = [0; 26];
    for letter in text.iter_mut().rev() {
        *letter = ALPHABET[usize::try_from(number & 31).unwrap_or_default()];
        number >>= 5;
    }
    text
}

/// A fresh id for a project.
pub fn project_id() -> Result<althing_kernel::ProjectId, RandomError> {
    let text = encode(u128::from_be_bytes(random()?));
    let text: Arc<str> = std::str::from_utf8(&text).unwrap_or_default().into();
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Shows W-ID-03.
    #[test]
    fn entry_ids_sort_by_their_time_and_never_repeat() {
        let mut mint = RandomMint::new().unwrap();
        let mut last: Arc<str> = "".into();
        let mut seen = BTreeSet::new();
        for micros in 1_700_000_000_000_000..1_700_000_000_002_000 {
            let id = mint.mint(IdKind::Entry, Timestamp::from_micros(micros));
            assert!(id > last, "{id} after {last}");
            last.clone_from(&id);
            assert!(seen.insert(id));
        }
    }

    /// Shows W-ID-03.
    #[test]
    fn ids_of_one_moment_differ() {
        let mut mint = RandomMint::new().unwrap();
        let ids: BTreeSet<_> =
            (0..10_000).map(|_| mint.mint(IdKind::Lease, Timestamp::from_micros(7))).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.starts_with("lease_") && id.len() == 32));
    }

    #[test]
    fn a_stretched_pool_is_another_one() {
        let pool = [7; POOL_BYTES];
        let next = stretch(&pool);
        assert_ne!(pool, next);
        assert_ne!(next[..32], next[32..64]);
    }
}
