//! Lists with a limit.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// A list of at most `MAX`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Few<T, const MAX: usize>(Vec<T>);

impl<T, const MAX: usize> Few<T, MAX> {
    /// Takes a list, or returns an error if it is too long.
    pub fn new(list: Vec<T>) -> Result<Self, String> {
        match list.len() {
            count if count <= MAX => Ok(Few(list)),
            count => Err(format!("at most {MAX} are taken here, not {count}")),
        }
    }

    /// The list.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<T, const MAX: usize> std::ops::Deref for Few<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Few::new(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl<T: JsonSchema, const MAX: usize> JsonSchema for Few<T, MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Few{MAX}Of{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let item = generator.subschema_for::<T>();
        schemars::json_schema!({ "type": "array", "items": item, "maxItems": MAX })
    }
}

impl<T, const MAX: usize> Few<T, MAX> {
    /// Whether it has no items; for serde, which passes a reference to the list itself.
    pub(crate) fn has_none(&self) -> bool {
        self.0.is_empty()
    }
}
