//! The program's own log: off unless asked for, on standard error, in lines of text or JSON.
//!
//! Standard output stays what a command answers. The trail records what happened to the project;
//! this log tells an operator what the program did on the way, how long each step took, and what
//! failed without stopping a command, such as a snapshot that could not be written.

mod filter;
mod lines;

use crate::error::Error;
use filter::Filter;
use lines::{Format, Lines};

/// Names the filter, such as `debug` or `althing_engine=debug,warn`.
const FILTER: &str = "ALTHING_LOG";
/// Names the form of the lines: `text` or `json`.
const FORMAT: &str = "ALTHING_LOG_FORMAT";

/// Starts the log if it was asked for: `-v` wins over the environment.
pub(crate) fn start(verbose: u8) -> Result<(), Error> {
    let filter = match (verbose, variable(FILTER)?) {
        (0, None) => return Ok(()),
        (0, Some(text)) => {
            let wrong = |why| Error::usage(format!("{FILTER}: {why}"));
            Filter::parse(&text).map_err(wrong)?
        }
        (verbose, _) => Filter::verbose(verbose),
    };
    let format = format(variable(FORMAT)?.as_deref())?;
    let set = tracing::subscriber::set_global_default(Lines::new(filter, format));
    set.map_err(|error| Error::unavailable(format!("the log cannot be started: {error}")))
}

fn variable(name: &str) -> Result<Option<String>, Error> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => Err(Error::usage(format!("{name}: {error}"))),
    }
}

fn format(variable: Option<&str>) -> Result<Format, Error> {
    match variable {
        None | Some("text") => Ok(Format::Text),
        Some("json") => Ok(Format::Json),
        Some(other) => Err(Error::usage(format!("{FORMAT}: {other:?} is neither text nor json"))),
    }
}
