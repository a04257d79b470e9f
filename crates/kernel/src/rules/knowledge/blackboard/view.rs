//! What is shared, as doors show it, and the questions about it.

use crate::protocol::reply::Reply;

pub use crate::model::knowledge::blackboard::view::*;

impl From<CommonsReply> for Reply {
    fn from(reply: CommonsReply) -> Self {
        Reply::Commons(reply)
    }
}
