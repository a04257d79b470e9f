//! Code shared by both command lines of the frugal dialect: `althing symbol …` and
//! `heimdall-resolve …`.

mod briefs;
mod shared;
pub(crate) mod waves;

pub(crate) use briefs::{Order, build, counted, log_line};
