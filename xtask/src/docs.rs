//! `cargo xtask docs`: writes the documents that the tests compare with the code.
//!
//! A document has one maker, and that is the test which fails when the document is out of date; so
//! this runs those tests with the wish to have their documents written.

use std::process::Command;

use crate::Error;

/// Runs the tests whose names end in `current`, with leave to write.
pub(crate) fn run() -> Result<(), Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--quiet", "--locked", "--workspace", "current"])
        .env("ALTHING_BLESS", "1")
        .status()?;
    if status.success() { Ok(()) } else { Err("a document could not be written".into()) }
}
