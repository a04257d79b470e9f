//! One helper for the many types that read themselves from a JSON string.

use std::fmt;

/// Reads a value from a string without copying the string first.
pub(crate) fn from_str<'de, D, T, E>(
    deserializer: D,
    expected: &'static str,
    parse: fn(&str) -> Result<T, E>,
) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    E: fmt::Display,
{
    struct Visitor<T, E>(&'static str, fn(&str) -> Result<T, E>);

    impl<T, E: fmt::Display> serde::de::Visitor<'_> for Visitor<T, E> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<Error: serde::de::Error>(self, text: &str) -> Result<T, Error> {
            (self.1)(text).map_err(Error::custom)
        }
    }

    deserializer.deserialize_str(Visitor(expected, parse))
}
