//! The local witness: the newest head this machine has seen, in a file of its own.
//!
//! A trail that is cut short is still a sound trail; only somebody who remembers a later head
//! can tell. This file remembers on behalf of the machine, so an accident or a careless hand is
//! noticed without any set-up. Against somebody who may change the whole folder it does not
//! help; for that, keep a head elsewhere (`althing trail head`).

use althing_trail::SignedHead;

use crate::error::EngineError;
use crate::home::{Home, replace};

/// The head in the witness file, if there is a readable one.
pub fn read(home: &Home) -> Option<SignedHead> {
    let text = std::fs::read_to_string(home.witness()).ok()?;
    SignedHead::parse(&text).ok()
}

/// Remembers a head, unless a later one is remembered already.
pub(crate) fn remember(home: &Home, head: &str) -> Result<(), EngineError> {
    let size = |head: &SignedHead| head.head().size;
    let known = read(home).map_or(0, |known| size(&known));
    match SignedHead::parse(head) {
        Ok(new) if size(&new) > known => replace(&home.witness(), head.as_bytes()),
        _ => Ok(()),
    }
}
