//! A sorted map that is cheap to copy and small when it holds little.
//!
//! The index has one map per directory level, and most hold one or two children. A persistent
//! B-tree spends several hundred bytes on those; a plain sorted list does not.

use imbl::OrdMap;
use std::borrow::Borrow;

/// How many pairs are kept in a list before a tree takes over.
const FEW_MAX: usize = 12;

#[derive(Clone)]
pub(crate) enum SmallMap<K, V> {
    Few(Vec<(K, V)>),
    Many(OrdMap<K, V>),
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        SmallMap::Few(Vec::new())
    }
}

impl<K: Ord + Clone + std::fmt::Debug, V: Clone + std::fmt::Debug> std::fmt::Debug
    for SmallMap<K, V>
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Clone, V: Clone> SmallMap<K, V> {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            SmallMap::Few(pairs) => pairs.is_empty(),
            SmallMap::Many(tree) => tree.is_empty(),
        }
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match self {
            SmallMap::Few(pairs) => {
                let at = pairs.binary_search_by(|(own, _)| own.borrow().cmp(key)).ok()?;
                Some(&pairs[at].1)
            }
            SmallMap::Many(tree) => tree.get(key),
        }
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.grow_if_full(&key);
        match self {
            SmallMap::Few(pairs) => match pairs.binary_search_by(|(own, _)| own.cmp(&key)) {
                Ok(at) => pairs[at].1 = value,
                Err(at) => pairs.insert(at, (key, value)),
            },
            SmallMap::Many(tree) => {
                tree.insert(key, value);
            }
        }
    }

    /// The value of a key, made with `make` if it is not there.
    pub(crate) fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        self.grow_if_full(key);
        match self {
            SmallMap::Few(pairs) => {
                let at = match pairs.binary_search_by(|(own, _)| own.cmp(key)) {
                    Ok(at) => at,
                    Err(at) => {
                        pairs.insert(at, (key.clone(), make()));
                        at
                    }
                };
                &mut pairs[at].1
            }
            SmallMap::Many(tree) => tree.entry(key.clone()).or_insert_with(make),
        }
    }

    /// Turns a full list into a tree if this key would not fit any more.
    fn grow_if_full(&mut self, key: &K) {
        if let SmallMap::Few(pairs) = self
            && pairs.len() == FEW_MAX
            && pairs.binary_search_by(|(own, _)| own.cmp(key)).is_err()
        {
            *self = SmallMap::Many(std::mem::take(pairs).into_iter().collect());
        }
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match self {
            SmallMap::Few(pairs) => {
                let at = pairs.binary_search_by(|(own, _)| own.borrow().cmp(key)).ok()?;
                Some(&mut pairs[at].1)
            }
            SmallMap::Many(tree) => tree.get_mut(key),
        }
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        match self {
            SmallMap::Few(pairs) => {
                if let Ok(at) = pairs.binary_search_by(|(own, _)| own.borrow().cmp(key)) {
                    pairs.remove(at);
                }
            }
            SmallMap::Many(tree) => {
                tree.remove(key);
            }
        }
    }

    /// The pairs in key order, from the first key that is not below `from`.
    pub(crate) fn from<'a, Q: Ord + ?Sized>(
        &'a self,
        from: &Q,
    ) -> Box<dyn Iterator<Item = (&'a K, &'a V)> + 'a>
    where
        K: Borrow<Q>,
    {
        match self {
            SmallMap::Few(pairs) => {
                let at = pairs.partition_point(|(own, _)| own.borrow() < from);
                Box::new(pairs[at..].iter().map(|(key, value)| (key, value)))
            }
            SmallMap::Many(tree) => {
                use std::ops::Bound::{Included, Unbounded};
                Box::new(tree.range::<_, Q>((Included(from), Unbounded)))
            }
        }
    }

    /// All pairs in key order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (&K, &V)> + '_> {
        match self {
            SmallMap::Few(pairs) => Box::new(pairs.iter().map(|(key, value)| (key, value))),
            SmallMap::Many(tree) => Box::new(tree.iter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_the_same_with_few_and_many() {
        let mut map = SmallMap::default();
        for n in (0..40u32).rev() {
            map.insert(n, n * 2);
            let keys: Vec<u32> = map.iter().map(|(key, _)| *key).collect();
            assert_eq!(keys, (n..40).collect::<Vec<_>>());
        }
        assert_eq!(map.from(&37).map(|(key, _)| *key).collect::<Vec<_>>(), [37, 38, 39]);
        *map.get_mut(&5).unwrap() = 1;
        assert_eq!(map.get(&5), Some(&1));
        for n in 0..40 {
            map.remove(&n);
            assert_eq!(map.get(&n), None);
        }
        assert!(map.is_empty());
    }
}
