//! Rules of shared knowledge: records and the blackboard.

pub mod attempt;
pub mod blackboard;
pub mod records;
