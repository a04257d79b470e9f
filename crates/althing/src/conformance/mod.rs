//! What WACP asks for, which tests show it, and what is said openly about the rest.
//!
//! Three files in `docs` are built in: the requirements and the reasons, both written by hand, and
//! the list of tests, which `tests/conformance.rs` makes from the tests themselves.

pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod tables;

#[cfg(test)]
mod tests;

use tables::Tables;

const REQUIREMENTS: &str = include_str!("../../../../docs/requirements.txt");
const REASONS: &str = include_str!("../../../../docs/conformance-reasons.txt");
const TESTS: &str = include_str!("../../../../docs/conformance.json");

/// The tables this program was built with. That they can be read is shown by a test.
pub(crate) fn tables() -> Result<Tables, String> {
    let tests = serde_json::from_str(TESTS).map_err(|error| error.to_string())?;
    Tables::read(REQUIREMENTS, REASONS, &tests)
}
