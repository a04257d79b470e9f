//! Reading the trail: queries, rows, earlier states, content and subscriptions.

mod content;
pub mod field;
pub mod history;
pub mod row;
mod scope;
pub mod subscription;
pub mod trail_query;
pub mod workspace_info;
