//! Closed sets that everything else names: rules, kinds of entries, the shape of a lifecycle.

pub(crate) mod apply_error;
pub mod kind;
pub mod lifecycle;
pub mod rule;
pub(crate) mod schema;
