//! The record itself.

pub use crate::model::knowledge::records::record::*;
