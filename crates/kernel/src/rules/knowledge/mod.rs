//! Rules of shared knowledge: records and the blackboard.

pub mod blackboard;
pub mod records;
