//! Drawings of trees, graphs, figures and messages, in characters and for other programs to draw.

pub(crate) mod bars;
pub(crate) mod export;
pub(crate) mod lanes;
pub(crate) mod messages;
pub(crate) mod spans;
pub(crate) mod tree;
