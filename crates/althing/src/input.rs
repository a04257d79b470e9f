//! Reading what comes from outside, never more than it can be.

use serde::de::DeserializeOwned;
use std::io::Read as _;
use std::path::Path;

use crate::cli::Globals;
use crate::error::Error;

/// The largest file a head, a proof or settings are read from.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads a text file that somebody named.
pub(crate) fn read_file(path: &Path) -> Result<String, Error> {
    let failed =
        |error: std::io::Error| Error::usage(format!("cannot read {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let message = format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display());
        return Err(Error::misuse(althing_kernel::Rule::Limits, message));
    }
    Ok(text)
}

/// Standard input, if it is free to be read: a passphrase may be on it instead.
pub(crate) fn stdin(globals: &Globals, what: &str) -> Result<std::io::StdinLock<'static>, Error> {
    if globals.passphrase_stdin {
        let message = format!("standard input cannot hold both {what} and the passphrase");
        return Err(Error::usage(message).hint("Pass it on the command line or in a file."));
    }
    Ok(std::io::stdin().lock())
}

/// All of standard input as text, up to a limit; what is longer is cut just beyond it.
pub(crate) fn stdin_text(globals: &Globals, what: &str, max: u64) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = stdin(globals, what)?.take(max + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::usage(format!("cannot read standard input: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Error::usage("standard input is not UTF-8 text"))
}

/// Reads a value from a file people write, in TOML if it is called so, otherwise in JSON.
pub(crate) fn read_document<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    parse_document(&read_file(path)?, is_toml, &path.display().to_string())
}

/// Reads a value from TOML or JSON.
pub(crate) fn parse_document<T: DeserializeOwned>(
    text: &str,
    is_toml: bool,
    name: &str,
) -> Result<T, Error> {
    let read = if is_toml {
        toml::from_str(text).map_err(|error| error.to_string())
    } else {
        serde_json::from_str(text).map_err(|error| error.to_string())
    };
    read.map_err(|error| Error::usage(format!("{name} cannot be used: {}", error.trim())))
}
