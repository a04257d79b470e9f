//! Registries that the rest of the kernel refers to: rules, kinds of entries, lifecycles.

pub(crate) mod apply_error;
pub mod kind;
pub mod lifecycle;
pub(crate) mod record_id;
pub mod rule;
pub(crate) mod schema;
