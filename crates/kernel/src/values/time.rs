//! Time as a value: microseconds since the Unix epoch, and spans of them.
//!
//! The kernel never reads a clock. `now` comes in with every command, and the trail's clock is
//! `max(now, last + 1)`, so entries are strictly ordered whatever the wall clock does.

use serde::Deserialize;
use serde::Serialize;

/// The largest integer that survives every JSON implementation (2^53 − 1).
pub const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;

/// A moment, in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

/// A length of time, in microseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(u64);

impl Timestamp {
    /// The latest moment a trail can hold: year 2255, the end of exact JSON integers.
    pub const MAX: Timestamp = Timestamp(JSON_INTEGER_MAX);

    /// A moment from microseconds, capped at [`Timestamp::MAX`].
    pub fn from_micros(micros: u64) -> Self {
        Timestamp(micros.min(JSON_INTEGER_MAX))
    }

    /// A moment from whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        let micros = secs.saturating_mul(1_000_000);
        Timestamp(if micros < JSON_INTEGER_MAX { micros } else { JSON_INTEGER_MAX })
    }

    /// Microseconds since the Unix epoch.
    pub fn micros(self) -> u64 {
        self.0
    }

    /// This moment plus a span, capped at [`Timestamp::MAX`].
    #[must_use]
    pub fn after(self, span: Span) -> Self {
        Timestamp::from_micros(self.0.saturating_add(span.0))
    }

    /// The time from `earlier` to this moment, or zero if this one is earlier.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The stamp of the next entry: the wall clock, or just past the last stamp if that is later.
    #[must_use]
    pub fn next_stamp(now: Timestamp, last: Timestamp) -> Self {
        now.max(Timestamp::from_micros(last.0.saturating_add(1)))
    }
}

impl Span {
    /// A span of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Span(secs.saturating_mul(1_000_000))
    }

    /// A span of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Span(micros)
    }

    /// Its length in microseconds.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Its length in whole seconds, rounded down.
    pub const fn secs(self) -> u64 {
        self.0 / 1_000_000
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": JSON_INTEGER_MAX })
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        exact_integer(deserializer).map(Timestamp)
    }
}

/// Reads an integer, refusing those above 2^53 − 1, which JSON implementations round.
pub(crate) fn exact_integer<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    if number <= JSON_INTEGER_MAX {
        return Ok(number);
    }
    let message = format!("the integer {number} is above 2^53 - 1, where JSON is not exact");
    Err(serde::de::Error::custom(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows W-CLK-04.
    #[test]
    fn stamps_never_stand_still_nor_go_back() {
        let at = Timestamp::from_micros;
        assert_eq!(Timestamp::next_stamp(at(10), at(5)), at(10));
        assert_eq!(Timestamp::next_stamp(at(5), at(5)), at(6));
        assert_eq!(Timestamp::next_stamp(at(1), at(5)), at(6));
    }

    #[test]
    fn arithmetic_stays_within_json_integers() {
        assert_eq!(Timestamp::MAX.after(Span::from_secs(u64::MAX)), Timestamp::MAX);
        assert_eq!(Timestamp::from_micros(u64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_micros(3).since(Timestamp::from_micros(9)), Span::default());
    }
}
