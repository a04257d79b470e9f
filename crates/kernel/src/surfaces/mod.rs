//! Surfaces: what a lease is about.
//!
//! A surface is written as a path, a glob, or `path#symbol`, relative to the project root.
//!
//! - Without wildcards it covers the file of that name, or everything below that directory.
//! - With wildcards it covers exactly the paths it matches. `*` and `?` stay inside a segment,
//!   `**` stands alone and matches any number of segments, also none; `{a,b}` are alternatives;
//!   `[a-z]` and `[!a-z]` are classes. A class of one character is just that character, which
//!   is how a name with special characters is written: `app/[[]id]/page.tsx`.
//! - `path#symbol` covers that symbol of the file and whatever is nested in it.
//!
//! Two surfaces overlap when there is any path that both cover. That question is answered
//! exactly, for two surfaces ([`Surface::common_path`]) and for one against all live ones
//! ([`index::SurfaceIndex`]).

pub(crate) mod glob;
pub(crate) mod index;
pub(crate) mod parse;
pub(crate) mod pattern;
pub(crate) mod small_map;
#[cfg(test)]
pub(crate) mod tests;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::surfaces::parse::Parsed;
use crate::surfaces::pattern::Pattern;

pub use crate::surfaces::parse::ALTERNATIVES_MAX;
pub use crate::surfaces::parse::SEGMENT_BYTES_MAX;
pub use crate::surfaces::parse::SEGMENTS_MAX;
pub use crate::surfaces::parse::SURFACE_BYTES_MAX;
pub use crate::surfaces::parse::SYMBOL_BYTES_MAX;
pub use crate::surfaces::parse::SurfaceError;

/// A checked surface in its normal form. Two surfaces are equal if they are written the same.
#[derive(Clone)]
pub struct Surface(Arc<Parsed>);

impl Surface {
    /// Parses a surface.
    pub fn new(text: &str) -> Result<Self, SurfaceError> {
        parse::parse(text).map(|parsed| Surface(Arc::new(parsed)))
    }

    /// Escapes the special characters of a path, so that it matches only itself.
    pub fn escape(path: &str) -> String {
        parse::escape(path)
    }

    /// The normal form as text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether it has wildcards or braces, and so can match other names than its own text.
    pub fn is_glob(&self) -> bool {
        // Braces make several patterns, or one that covers nothing below it.
        let other = |p: &Pattern| p.is_wild() || (!p.below && p.symbol.is_none());
        self.patterns().len() > 1 || self.patterns().iter().any(other)
    }

    /// Whether it is one plain path: no glob and no symbol.
    pub fn is_path(&self) -> bool {
        !self.is_glob() && self.patterns().iter().all(|pattern| pattern.symbol.is_none())
    }

    /// Whether it is a part of the file of a plain path, and not all of it.
    pub(crate) fn is_part_of(&self, path: &Surface) -> bool {
        let is_part = |own: &Pattern| own.scope().is_some();
        self.patterns().iter().all(is_part) && path.covers(self)
    }

    /// The total length of its patterns with wildcards, in bytes: a measure of the cost of overlap
    /// checks.
    pub(crate) fn wild_bytes(&self) -> usize {
        self.patterns().iter().filter(|pattern| pattern.is_wild()).map(Pattern::bytes).sum()
    }

    /// Whether some path is covered by both surfaces.
    pub fn meets(&self, other: &Surface) -> bool {
        self.patterns().iter().any(|a| other.patterns().iter().any(|b| a.meets(b)))
    }

    /// Whether the other surface certainly lies within this one. Two globs that are written
    /// differently are not compared, even if one matches all that the other does.
    pub fn covers(&self, other: &Surface) -> bool {
        let covered = |b: &Pattern| self.patterns().iter().any(|a| a.covers(b));
        other.patterns().iter().all(covered)
    }

    /// Whether it covers the file of a plain path, whatever would lie below if that were a folder.
    pub fn covers_file(&self, file: &Surface) -> bool {
        let covered = |b: &Pattern| self.patterns().iter().any(|a| a.covers_file(b));
        file.patterns().iter().all(covered)
    }

    /// A path that both surfaces cover, if there is one.
    pub fn common_path(&self, other: &Surface) -> Option<String> {
        let with = |a: &Pattern| other.patterns().iter().find_map(|b| a.common_path(b));
        self.patterns().iter().find_map(with)
    }

    /// The patterns it expands to.
    fn patterns(&self) -> &[Pattern] {
        &self.0.patterns
    }
}

impl PartialEq for Surface {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Surface {}

impl PartialOrd for Surface {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Surface {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl std::fmt::Debug for Surface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Surface({:?})", self.as_str())
    }
}

impl Serialize for Surface {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::fmt::Display for Surface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Surface {
    type Err = SurfaceError;

    fn from_str(text: &str) -> Result<Self, SurfaceError> {
        Surface::new(text)
    }
}

impl<'de> Deserialize<'de> for Surface {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::values::de::from_str(deserializer, "a surface", Surface::new)
    }
}

impl JsonSchema for Surface {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Surface".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": SURFACE_BYTES_MAX,
            "description": "A path, a glob (`*`, `**`, `?`, `{a,b}`, `[a-z]`) or `path#symbol`, \
                            relative to the project root"
        })
    }
}
