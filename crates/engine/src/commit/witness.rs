//! The local witness: the newest head this machine has seen, in a file beside the store.
//!
//! A trail that is cut short is still a valid trail; only somebody who remembers a later head can
//! tell. This file remembers it for the machine, so that accidents are noticed without any set-up:
//! nothing is appended to a trail that does not contain the head remembered here. It does not help
//! against somebody who can change the whole folder; for that, keep a head elsewhere (`althing
//! trail head`).

use althing_trail::{LogReader, SignedHead};

use crate::commit::core::Core;
use crate::error::EngineError;
use crate::store::home::{Home, replace_synced};

/// Content of the witness file.
#[derive(Debug)]
pub enum Witness {
    /// No file.
    None,
    /// The newest head seen here.
    Head(SignedHead),
    /// A file that holds no head.
    Unreadable,
}

impl Witness {
    /// The head, if there is one.
    pub fn head(self) -> Option<SignedHead> {
        match self {
            Witness::Head(head) => Some(head),
            Witness::None | Witness::Unreadable => None,
        }
    }
}

/// Reads the witness.
pub fn read(home: &Home) -> Witness {
    match std::fs::read_to_string(home.witness()) {
        Ok(text) => SignedHead::parse(&text).map_or(Witness::Unreadable, Witness::Head),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Witness::None,
        Err(error) => {
            tracing::warn!(%error, "the witness file cannot be read");
            Witness::Unreadable
        }
    }
}

/// Fails if a log does not contain the head this machine remembers.
pub(crate) fn check<L: LogReader + ?Sized>(home: &Home, log: &mut L) -> Result<(), EngineError> {
    let Witness::Head(kept) = read(home) else { return Ok(()) };
    let found = log.head_of(kept.head().size)?.map(|(_, head)| head);
    if found.as_deref() == Some(kept.text()) {
        return Ok(());
    }
    Err(EngineError::CutOff {
        found: log.position()?,
        kept: kept.head().size,
        witness: home.witness(),
    })
}

/// Fails if a head is remembered, so that a lost trail is not silently begun anew.
pub(crate) fn refuse_if_any(home: &Home) -> Result<(), EngineError> {
    match read(home).head() {
        None => Ok(()),
        Some(head) => {
            Err(EngineError::CutOff { found: 0, kept: head.head().size, witness: home.witness() })
        }
    }
}

/// Remembers a head, unless a later one is remembered already, or one that this trail does not
/// contain: that one is evidence, and stays.
pub(crate) fn remember(home: &Home, core: &mut Core, head: &str) -> Result<(), EngineError> {
    let size = |head: &SignedHead| head.head().size;
    let known = match read(home) {
        Witness::None => None,
        Witness::Head(known) => Some(known),
        Witness::Unreadable => {
            tracing::warn!("the witness file holds no head; it is left as it is");
            return Ok(());
        }
    };
    let Ok(new) = SignedHead::parse(head) else { return Ok(()) };
    let grows = match &known {
        None => true,
        Some(known) => size(&new) > size(known) && core.has_head(known)?,
    };
    // The trail may have been replaced by another since this head was signed, or its file by that
    // of another project.
    if grows && core.has_head(&new)? && core.in_place().is_ok() {
        replace_synced(&home.witness(), head.as_bytes())
    } else {
        Ok(())
    }
}
