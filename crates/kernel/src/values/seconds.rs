//! Bounded numbers of whole seconds, for timeouts and the like.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::time::Span;

/// A number of seconds from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secs<const MIN: u64, const MAX: u64>(u64);

/// The error for a number of seconds that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time of {min} to {max} seconds is needed here, not {found}")]
pub struct SecsError {
    min: u64,
    max: u64,
    found: i128,
}

impl<const MIN: u64, const MAX: u64> Secs<MIN, MAX> {
    /// Validates a number of seconds.
    pub fn new(secs: i128) -> Result<Self, SecsError> {
        match u64::try_from(secs) {
            Ok(fits) if (MIN..=MAX).contains(&fits) => Ok(Secs(fits)),
            _ => Err(SecsError { min: MIN, max: MAX, found: secs }),
        }
    }

    /// A constant number of seconds, checked against the bounds at compile time.
    pub(crate) const fn known<const SECS: u64>() -> Self {
        const { assert!(MIN <= SECS && SECS <= MAX) };
        Secs(SECS)
    }

    /// Converts to a span.
    pub fn span(self) -> Span {
        Span::from_secs(self.0)
    }

    /// The number of seconds.
    pub fn secs(self) -> u64 {
        self.0
    }
}

// Signed both ways, so that a negative number in JSON gives an error about bounds rather than about
// its type, and binary formats that distinguish the two read what they wrote.
impl<const MIN: u64, const MAX: u64> Serialize for Secs<MIN, MAX> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.cast_signed())
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Secs<MIN, MAX> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secs = i64::deserialize(deserializer)?;
        Secs::new(secs.into()).map_err(serde::de::Error::custom)
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Secs<MIN, MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Secs{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}
