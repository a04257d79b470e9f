//! The Merkle tree over the trail, as RFC 6962 defines it.
//!
//! A leaf is the global hash of an entry. Appending needs only the [`Frontier`]: the roots of the
//! full subtrees so far, at most 64 of them. Proofs need subtree roots inside the tree and ask a
//! [`Leaves`] for them.

use serde::{Deserialize, Serialize};

use crate::hash::Hash;

/// The hash of a leaf.
pub fn leaf(entry: &Hash) -> Hash {
    Hash::plain(&[&[0], entry.as_bytes()])
}

/// The hash of an inner node.
pub fn node(left: &Hash, right: &Hash) -> Hash {
    Hash::plain(&[&[1], left.as_bytes(), right.as_bytes()])
}

/// The root of the empty tree.
pub fn empty() -> Hash {
    Hash::plain(&[])
}

/// The state needed to append: one root per set bit of the size, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frontier {
    size: u64,
    roots: Vec<Hash>,
}

impl Frontier {
    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Adds the leaf of an entry.
    pub fn push(&mut self, entry: &Hash) {
        let mut carry = leaf(entry);
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.roots.pop() {
                carry = node(&left, &carry);
            }
        }
        self.roots.push(carry);
        self.size += 1;
    }

    /// The root of the tree.
    pub fn root(&self) -> Hash {
        let mut smallest_first = self.roots.iter().rev();
        let Some(last) = smallest_first.next() else { return empty() };
        smallest_first.fold(*last, |right, left| node(left, &right))
    }

    /// Whether a frontier that was read from storage is consistent.
    pub fn is_sound(&self) -> bool {
        self.roots.len() == self.size.count_ones() as usize
    }
}

/// A source of subtree roots.
pub trait Leaves {
    /// Error of the source.
    type Error;

    /// The root of the subtree over the leaves `[start, start + size)`, counted from 0. `size`
    /// is a power of two and `start` a multiple of it.
    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, Self::Error>;
}

/// The root over any range of leaves that begins where RFC 6962 may split a tree.
fn range_root<L: Leaves>(leaves: &mut L, start: u64, end: u64) -> Result<Hash, L::Error> {
    let size = end - start;
    if size.is_power_of_two() {
        return leaves.subtree(start, size);
    }
    let split = start + largest_power_below(size);
    let left = leaves.subtree(start, split - start)?;
    let right = range_root(leaves, split, end)?;
    Ok(node(&left, &right))
}

fn largest_power_below(size: u64) -> u64 {
    debug_assert!(size > 1);
    1 << (size - 1).ilog2()
}

/// The audit path of the leaf at `index` (from 0) in the tree of `size` leaves.
pub fn inclusion<L: Leaves>(leaves: &mut L, index: u64, size: u64) -> Result<Vec<Hash>, L::Error> {
    let mut path = Vec::new();
    let (mut start, mut end) = (0, size);
    while end - start > 1 {
        let split = start + largest_power_below(end - start);
        if index < split {
            path.push(range_root(leaves, split, end)?);
            end = split;
        } else {
            path.push(range_root(leaves, start, split)?);
            start = split;
        }
    }
    path.reverse();
    Ok(path)
}

/// The root that an inclusion proof leads to, if the proof has the right shape.
pub fn root_by_inclusion(entry: &Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut index, mut last) = (index, size - 1);
    let mut root = leaf(entry);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if index & 1 == 1 || index == last {
            root = node(sibling, &root);
            while index & 1 == 0 && index != 0 {
                index >>= 1;
                last >>= 1;
            }
        } else {
            root = node(&root, sibling);
        }
        index >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(root)
}

/// The proof that the tree of `size` leaves continues the one of `from` leaves.
pub fn consistency<L: Leaves>(leaves: &mut L, from: u64, size: u64) -> Result<Vec<Hash>, L::Error> {
    let mut path = Vec::new();
    if from == 0 || from >= size {
        return Ok(path);
    }
    let (mut start, mut end) = (0, size);
    // Walk down to the subtree that ends where the old tree ended.
    while from != end {
        let split = start + largest_power_below(end - start);
        if from <= split {
            path.push(range_root(leaves, split, end)?);
            end = split;
        } else {
            path.push(range_root(leaves, start, split)?);
            start = split;
        }
    }
    // The verifier already knows the old root itself.
    if start != 0 {
        path.push(range_root(leaves, start, end)?);
    }
    path.reverse();
    Ok(path)
}

/// Whether a consistency proof leads from the old root to the new one.
pub fn is_consistent(from: u64, old: &Hash, size: u64, new: &Hash, path: &[Hash]) -> bool {
    if from == size {
        return old == new && path.is_empty();
    }
    if from == 0 {
        return path.is_empty();
    }
    if from > size {
        return false;
    }
    let (mut index, mut last) = (from - 1, size - 1);
    while index & 1 == 1 {
        index >>= 1;
        last >>= 1;
    }
    let mut path = path.iter();
    // A full old tree is itself the first step.
    let start = if from.is_power_of_two() { Some(old) } else { path.next() };
    let Some(start) = start else { return false };
    let (mut old_root, mut new_root) = (*start, *start);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if index & 1 == 1 || index == last {
            old_root = node(sibling, &old_root);
            new_root = node(sibling, &new_root);
            while index & 1 == 0 && index != 0 {
                index >>= 1;
                last >>= 1;
            }
        } else {
            new_root = node(&new_root, sibling);
        }
        index >>= 1;
        last >>= 1;
    }
    last == 0 && old_root == *old && new_root == *new
}

/// Entry hashes in memory, as a source of subtree roots.
impl Leaves for &[Hash] {
    type Error = std::convert::Infallible;

    fn subtree(&mut self, start: u64, size: u64) -> Result<Hash, Self::Error> {
        let mut frontier = Frontier::default();
        let skip = usize::try_from(start).unwrap_or(usize::MAX);
        let take = usize::try_from(size).unwrap_or(usize::MAX);
        for entry in self.iter().skip(skip).take(take) {
            frontier.push(entry);
        }
        Ok(frontier.root())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: u64) -> Vec<Hash> {
        (0..count).map(|n| Hash::plain(&[&n.to_be_bytes()])).collect()
    }

    /// RFC 6962, section 2.1, word for word.
    fn reference_root(entries: &[Hash]) -> Hash {
        match entries {
            [] => empty(),
            [one] => leaf(one),
            many => {
                let mut split = 1;
                while split * 2 < many.len() {
                    split *= 2;
                }
                node(&reference_root(&many[..split]), &reference_root(&many[split..]))
            }
        }
    }

    #[test]
    fn known_values() {
        let empty_root = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(empty().to_string(), empty_root);
        let zero = Hash::from_bytes([0; 32]);
        let leaf_of_zero = "7f9c9e31ac8256ca2f258583df262dbc7d6f68f2a03043d5c99a4ae5a7396ce9";
        assert_eq!(leaf(&zero).to_string(), leaf_of_zero);
    }

    #[test]
    fn the_frontier_has_the_root_of_the_tree() {
        let mut frontier = Frontier::default();
        for (count, entry) in entries(200).iter().enumerate() {
            assert_eq!(frontier.root(), reference_root(&entries(count as u64)), "{count}");
            assert!(frontier.is_sound());
            frontier.push(entry);
        }
    }

    #[test]
    fn every_inclusion_proof_of_small_trees_holds_and_no_other() {
        for size in 1..=40 {
            let all = entries(size);
            let root = reference_root(&all);
            for index in 0..size {
                let path = inclusion(&mut all.as_slice(), index, size).unwrap();
                let entry = &all[usize::try_from(index).unwrap()];
                assert_eq!(root_by_inclusion(entry, index, size, &path), Some(root));
                let wrong = Hash::plain(&[b"wrong"]);
                assert_ne!(root_by_inclusion(&wrong, index, size, &path), Some(root));
                assert_ne!(root_by_inclusion(entry, index + 1, size, &path), Some(root));
                if !path.is_empty() {
                    assert_ne!(root_by_inclusion(entry, index, size, &path[1..]), Some(root));
                }
                let longer: Vec<Hash> = path.iter().copied().chain([wrong]).collect();
                assert_ne!(root_by_inclusion(entry, index, size, &longer), Some(root));
            }
            assert_eq!(root_by_inclusion(&all[0], size, size, &[]), None);
        }
    }

    #[test]
    fn every_consistency_proof_of_small_trees_holds_and_no_other() {
        for size in 1..=40u64 {
            let all = entries(size);
            let new = reference_root(&all);
            for from in 0..=size {
                let old = reference_root(&all[..usize::try_from(from).unwrap()]);
                let path = consistency(&mut all.as_slice(), from, size).unwrap();
                assert!(is_consistent(from, &old, size, &new, &path), "{from} {size}");
                if from > 0 {
                    let other = Hash::plain(&[b"other"]);
                    assert!(!is_consistent(from, &other, size, &new, &path));
                    assert!(!is_consistent(from, &old, size, &other, &path));
                }
                let longer: Vec<Hash> = path.iter().copied().chain([old]).collect();
                assert!(!is_consistent(from, &old, size, &new, &longer), "{from} {size}");
            }
            assert!(!is_consistent(size + 1, &new, size, &new, &[]));
        }
    }
}
