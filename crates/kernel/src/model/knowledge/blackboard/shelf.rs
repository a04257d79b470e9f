//! A map that remembers insertion order. Replacing a value keeps the key's position.

use imbl::OrdMap;

#[derive(Clone, Debug)]
pub(crate) struct Shelf<K: Ord, V> {
    things: OrdMap<K, (u64, V)>,
    order: OrdMap<u64, K>,
}

impl<K: Ord, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Shelf { things: OrdMap::new(), order: OrdMap::new() }
    }
}

impl<K: Clone + Ord, V: Clone> Shelf<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.things.len()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.things.get(key).map(|(_, value)| value)
    }

    /// The key at a position.
    pub(crate) fn at(&self, place: u64) -> Option<&K> {
        self.order.get(&place)
    }

    /// Inserts or replaces a value. Returns its position and the previous value.
    pub(crate) fn put(&mut self, key: K, value: V) -> (u64, Option<V>) {
        let known = self.things.get(&key).map(|(place, _)| *place);
        let place = known.unwrap_or_else(|| self.order.get_max().map_or(0, |(last, _)| last + 1));
        if known.is_none() {
            self.order.insert(place, key.clone());
        }
        (place, self.things.insert(key, (place, value)).map(|(_, before)| before))
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (place, value) = self.things.remove(key)?;
        self.order.remove(&place);
        Some(value)
    }

    /// The items in insertion order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.order.values().filter_map(|key| self.get(key).map(|value| (key, value)))
    }

    pub(crate) fn image(&self) -> Vec<(u64, K, V)> {
        let all = self.order.iter();
        let with = |(place, key): (&u64, &K)| Some((*place, key.clone(), self.get(key)?.clone()));
        all.filter_map(with).collect()
    }

    pub(crate) fn from_image(image: Vec<(u64, K, V)>) -> Self {
        let order = image.iter().map(|(place, key, _)| (*place, key.clone())).collect();
        let things = image.into_iter().map(|(place, key, value)| (key, (place, value))).collect();
        Shelf { things, order }
    }
}
