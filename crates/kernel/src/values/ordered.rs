//! Serialization of persistent maps and sets: `#[serde(with = "crate::ordered::map")]`.
//!
//! The `Deserialize` of the map crate allocates for as many pairs as the input claims to have
//! before it reads one, so a few corrupt bytes in a snapshot could exhaust memory and kill the
//! process. That feature is off; these functions read pair by pair and trust no length.

/// Serialization of maps.
pub(crate) mod map {
    use imbl::OrdMap;
    use serde::ser::SerializeMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub(crate) fn serialize<K, V, S>(map: &OrdMap<K, V>, serializer: S) -> Result<S::Ok, S::Error>
    where
        K: Ord + Serialize,
        V: Serialize,
        S: Serializer,
    {
        let mut pairs = serializer.serialize_map(Some(map.len()))?;
        for (key, value) in map {
            pairs.serialize_entry(key, value)?;
        }
        pairs.end()
    }

    pub(crate) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<OrdMap<K, V>, D::Error>
    where
        K: Ord + Clone + Deserialize<'de>,
        V: Clone + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(BTreeMap::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Serialization of sets.
pub(crate) mod set {
    use imbl::OrdSet;
    use serde::ser::SerializeSeq;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeSet;

    pub(crate) fn serialize<T, S>(set: &OrdSet<T>, serializer: S) -> Result<S::Ok, S::Error>
    where
        T: Ord + Serialize,
        S: Serializer,
    {
        let mut items = serializer.serialize_seq(Some(set.len()))?;
        for item in set {
            items.serialize_element(item)?;
        }
        items.end()
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<OrdSet<T>, D::Error>
    where
        T: Ord + Clone + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(BTreeSet::deserialize(deserializer)?.into_iter().collect())
    }
}
