//! Recording of refusals that were decided outside the kernel.

use crate::machine::transaction::DecisionError;
use crate::protocol::refusal::{Record, RecordRefusal, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::rule::Rule;

/// Returns the refusal to be recorded, so that it is recorded like any other.
pub(crate) fn decide_record(asked: &RecordRefusal) -> Result<Reply, DecisionError> {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let mut parts = asked.command.as_str().split('.');
    let named = parts.all(|part| !part.is_empty() && part.bytes().all(is_part));
    if !named {
        let message = "name the refused command as the list of commands does, such as lease.open";
        return Err(Refusal::denied(Rule::Usage, message).into());
    }
    if asked.message.is_blank() {
        let message = "say in the message why the command was refused";
        return Err(Refusal::denied(Rule::SaySomething, message).into());
    }
    let message = asked.message.as_str().to_owned();
    let refusal = Refusal::plain(asked.kind.into(), asked.rule, message);
    Err(refusal.recorded(Record::Named(asked.command.clone())).into())
}
