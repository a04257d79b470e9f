//! Types of shared knowledge: records and the blackboard.

pub(crate) mod attempt;
pub(crate) mod blackboard;
pub(crate) mod records;
