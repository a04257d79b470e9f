//! The blackboard, as shown to callers, and queries about it.

use crate::protocol::reply::Reply;

pub use crate::model::knowledge::blackboard::view::*;

impl From<BlackboardReply> for Reply {
    fn from(reply: BlackboardReply) -> Self {
        Reply::Blackboard(reply)
    }
}
