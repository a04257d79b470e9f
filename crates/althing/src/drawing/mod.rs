//! Drawings of trees and graphs, in characters and for other programs to draw.

pub(crate) mod export;
pub(crate) mod lanes;
pub(crate) mod tree;
