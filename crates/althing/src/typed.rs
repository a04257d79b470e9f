//! Values that somebody typed, checked by the kernel's types.

use althing_kernel::blackboard::{Handle, Label};
use althing_kernel::text::Text;

use crate::error::Error;

/// A name that somebody typed.
pub(crate) fn label(text: &str) -> Result<Label, Error> {
    Label::new(text).map_err(Error::unreadable)
}

/// An id of a capsule that somebody typed.
pub(crate) fn handle(text: &str) -> Result<Handle, Error> {
    Handle::new(text).map_err(Error::unreadable)
}

/// A text that somebody typed.
pub(crate) fn text<const MAX: usize>(text: &str) -> Result<Text<MAX>, Error> {
    Text::new(text).map_err(Error::unreadable)
}
