//! Reading what comes from outside, never more than it can be.

use std::io::Read as _;
use std::path::Path;

use crate::failure::Failure;

/// The largest file a head, a proof or settings are read from.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads a text file that somebody named.
pub(crate) fn read_file(path: &Path) -> Result<String, Failure> {
    let failed =
        |error: std::io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let message = format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display());
        return Err(Failure::misuse(althing_kernel::Rule::Limits, message));
    }
    Ok(text)
}
