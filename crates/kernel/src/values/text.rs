//! Free text with a limit: purposes, reasons, labels.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

/// Text of at most `MAX` bytes, without control characters other than line breaks and tabs.
///
/// The limit is checked when the text is constructed, so later code does not check again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize>(Arc<str>);

/// The reason why a text was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Longer than its limit.
    #[error("text of {len} bytes is over the limit of {max}")]
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// Contains a control character, which a terminal or a log would act on.
    #[error("text holds the control character U+{0:04X}")]
    Control(u32),
}

impl<const MAX: usize> Text<MAX> {
    /// Validates a text.
    pub fn new(text: &str) -> Result<Self, TextError> {
        if text.len() > MAX {
            return Err(TextError::TooLong { len: text.len(), max: MAX });
        }
        match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            Some(control) => Err(TextError::Control(u32::from(control))),
            None => Ok(Text(text.into())),
        }
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is empty or only whitespace.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// Builds a text from any string: control characters become spaces, and the rest is cut to the
    /// limit.
    pub fn lossy(text: &str) -> Self {
        let mut kept = String::with_capacity(text.len().min(MAX));
        for c in text.chars() {
            let c = if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c };
            if kept.len() + c.len_utf8() > MAX {
                break;
            }
            kept.push(c);
        }
        Text(kept.into())
    }
}

impl<const MAX: usize> Default for Text<MAX> {
    fn default() -> Self {
        Text("".into())
    }
}

impl<const MAX: usize> std::fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::values::de::from_str(deserializer, "a text", Text::new)
    }
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Text{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "maxLength": MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_control_characters_are_refused_by_name() {
        assert!(Text::<5>::new("abcde").is_ok());
        assert_eq!(Text::<5>::new("abcdef"), Err(TextError::TooLong { len: 6, max: 5 }));
        assert_eq!(Text::<5>::new("a\u{1b}"), Err(TextError::Control(0x1b)));
        assert!(Text::<5>::new("a\n\tb").is_ok());
    }

    #[test]
    fn lossy_cuts_at_a_character_boundary() {
        assert_eq!(Text::<5>::lossy("aéé\u{7}x").as_str(), "aéé");
        assert_eq!(Text::<5>::lossy("a\u{7}b").as_str(), "a b");
    }
}
