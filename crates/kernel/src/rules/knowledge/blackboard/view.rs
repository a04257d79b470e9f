//! The blackboard, as shown to callers, and queries about it.

use crate::protocol::reply::Reply;

pub use crate::model::knowledge::blackboard::view::*;

impl From<CommonsReply> for Reply {
    fn from(reply: CommonsReply) -> Self {
        Reply::Commons(reply)
    }
}
