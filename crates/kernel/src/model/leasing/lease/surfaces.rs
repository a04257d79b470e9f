//! The set of surfaces of a lease, granted as a whole.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::sync::Arc;

use crate::surfaces::Surface;

/// The most surfaces one lease may have.
pub const SURFACES_MAX: usize = 256;

/// The most bytes the globs of one lease may expand to. Checking whether two leases overlap costs
/// at most the product of theirs.
pub(crate) const WILD_BYTES_MAX: usize = 4096;

/// Splits a list of surfaces at commas, except within the braces of a glob.
pub fn split_scope(scope: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_i32, 0);
    for (at, c) in scope.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&scope[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&scope[from..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// A set of surfaces: at least one, at most [`SURFACES_MAX`], without duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Surfaces(Arc<[Surface]>);

/// The error for a list that is not a valid set of surfaces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SurfacesError {
    /// The list is empty or too long.
    #[error("a lease has 1 to {SURFACES_MAX} surfaces, not {0}")]
    Count(usize),
    /// The globs are too large to check overlaps quickly.
    #[error(
        "the globs of one lease expand to at most {WILD_BYTES_MAX} bytes, not {0}; claim folders"
    )]
    Wild(usize),
}

impl Surfaces {
    /// Validates a list and drops duplicates.
    pub fn new(mut list: Vec<Surface>) -> Result<Self, SurfacesError> {
        if list.is_empty() || list.len() > SURFACES_MAX {
            return Err(SurfacesError::Count(list.len()));
        }
        let wild = list.iter().map(Surface::wild_bytes).sum();
        if wild > WILD_BYTES_MAX {
            return Err(SurfacesError::Wild(wild));
        }
        if list.len() > 1 {
            let mut seen = std::collections::BTreeSet::new();
            list.retain(|surface| seen.insert(surface.clone()));
        }
        Ok(Surfaces(list.into()))
    }

    /// The surfaces.
    pub fn as_slice(&self) -> &[Surface] {
        &self.0
    }

    /// Whether each surface is covered by one of the others.
    pub fn is_within(&self, others: &Surfaces) -> bool {
        self.0.iter().all(|own| others.0.iter().any(|other| other.covers(own)))
    }
}

impl<'de> Deserialize<'de> for Surfaces {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Surfaces::new(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Surfaces {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Surfaces".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let item = generator.subschema_for::<Surface>();
        schemars::json_schema!({
            "type": "array", "items": item, "minItems": 1, "maxItems": SURFACES_MAX
        })
    }
}
