//! Auditing: whether the rules lead to the entries on record.
//!
//! `apply` trusts that an entry was decided by this kernel and checks only what it needs. Whoever
//! verifies a trail cannot trust that: entries that were never decided may be sealed properly. So
//! the audit decides again. The caller's entry says what was asked for; the same command is decided
//! by the same code on the state before, and every entry of it must be the one on record. Entries
//! that nobody asked for must follow from a deadline that had come. No rule is stated twice.

use crate::machine::state::State;
use crate::machine::transaction::Transaction;
use crate::machine::transaction::on_record::Placeholders;
use crate::protocol::command::Command;
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::kind::Kind;
use crate::registry::rule::Rule;
use crate::values::id::WorkspaceId;
use crate::values::key::PublicKey;
use crate::values::principal::{Actor, Caller, Principal};

/// How recorded entries differ from what the rules lead to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// Neither a command nor a deadline leads to it.
    #[error("nobody asked for it, and no deadline leads to it")]
    Unasked,
    /// The caller is not known at this place.
    #[error("{0} is not known here")]
    Caller(Principal),
    /// The rules refuse what was asked for.
    #[error("the rules refuse what was asked for ({}): {message}", rule.id())]
    Refused {
        /// The rule.
        rule: Rule,
        /// Why.
        message: String,
    },
    /// The rules lead to another entry.
    #[error("the rules lead to another entry here, a `{expected}`")]
    Differs {
        /// The kind of entry they lead to.
        expected: Kind,
    },
    /// An entry that the rules lead to is missing.
    #[error("a `{expected}` has to follow it and does not")]
    Missing {
        /// The kind of the missing entry.
        expected: Kind,
    },
    /// A deadline had come before, and what follows from it is not on record.
    #[error("a deadline had come before it that is not on record")]
    Overdue,
    /// The request does not stand on the caller's entry.
    #[error("the request stands on another entry than the caller's")]
    Misplaced,
    /// The state does not take an entry that the rules lead to.
    #[error("{0}")]
    Apply(#[from] ApplyError),
}

/// A request on record.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Which of the audited entries carries it.
    pub entry: usize,
    /// The command.
    pub command: &'a Command,
    /// The session it was issued in, if it named one.
    pub session: Option<&'a WorkspaceId>,
    /// The key it was signed with, if it was.
    pub key: Option<&'a PublicKey>,
}

/// Entries that the rules lead to.
#[derive(Debug)]
pub struct Audited {
    /// The state after them.
    pub state: State,
    /// How many of the entries they are.
    pub entries: usize,
    /// Who asked for them; nobody if they fell due.
    pub by: Option<Principal>,
}

/// A breach, and which of the audited entries it is about.
pub type Found = (usize, Breach);

/// Audits the first of some recorded entries and those that belong to the same decision. `asked` is
/// the first request that any of the entries carries.
pub fn audit(
    state: &State,
    entries: &[Stamped],
    asked: Option<Asked<'_>>,
) -> Result<Audited, Found> {
    let Some(first) = entries.first() else { return Err((0, Breach::Unasked)) };
    let may_be_due = first.draft.actor == Actor::Protocol && state.is_due(first.at);
    match asked {
        None if may_be_due => fell_due(state, entries),
        None => Err((0, Breach::Unasked)),
        Some(asked) if !may_be_due => decided(state, entries, asked),
        // Recovery records what is due within its own decision.
        Some(asked) if asked.command.precedes_deadlines() => decided(state, entries, asked)
            .or_else(|found| fell_due(state, entries).map_err(|_| found)),
        Some(asked) => fell_due(state, entries).or_else(|_| decided(state, entries, asked)),
    }
}

/// Whether the next deadline leads to the first entries.
fn fell_due(state: &State, entries: &[Stamped]) -> Result<Audited, Found> {
    let Some(first) = entries.first() else { return Err((0, Breach::Unasked)) };
    let mut placeholders = Placeholders::default();
    let mut tx = Transaction::begin(state.clone(), first.at, &mut placeholders).against(entries);
    tx.tick(1).map_err(|error| (0, error.into()))?;
    compared(tx, entries, None)
}

/// Whether what was asked for leads to the first entries.
fn decided(state: &State, entries: &[Stamped], asked: Asked<'_>) -> Result<Audited, Found> {
    let (Some(first), Some(own)) = (entries.first(), entries.get(asked.entry)) else {
        return Err((0, Breach::Unasked));
    };
    if state.is_due(first.at) && !asked.command.precedes_deadlines() {
        return Err((0, Breach::Overdue));
    }
    let by = principal(own, asked.command);
    let batch = entries.get(..=asked.entry).unwrap_or_default();
    let key = asked.key.copied().or_else(|| key_of(state, &by, batch));
    let Some(key) = key else { return Err((asked.entry, Breach::Caller(by))) };
    let caller = Caller { principal: by.clone(), key, session: asked.session.cloned() };
    let mut placeholders = Placeholders::default();
    let mut tx = Transaction::begin(state.clone(), first.at, &mut placeholders).against(entries);
    let outcome = tx.decide(&caller, asked.command).map_err(|error| (0, error.into()))?;
    let mut audited = compared(tx, entries, outcome.result.err())?;
    if outcome.own != Some(asked.entry) {
        return Err((asked.entry, Breach::Misplaced));
    }
    audited.by = Some(by);
    Ok(audited)
}

/// Compares what was decided again with what is on record.
fn compared(
    tx: Transaction<'_>,
    entries: &[Stamped],
    refusal: Option<Refusal>,
) -> Result<Audited, Found> {
    let (state, made) = tx.finish();
    for (place, own) in made.iter().enumerate() {
        let expected = own.draft.event.kind();
        match entries.get(place) {
            Some(recorded) if recorded == own => {}
            Some(recorded) => {
                let refused = refusal.filter(|_| recorded.draft.event.kind() != expected);
                let differs = || Breach::Differs { expected };
                let breach = refused.map_or_else(differs, |refusal| Breach::Refused {
                    rule: refusal.rule,
                    message: refusal.message,
                });
                return Err((place, breach));
            }
            None => return Err((place.saturating_sub(1), Breach::Missing { expected })),
        }
    }
    match made.len() {
        0 => Err((0, Breach::Unasked)),
        entries => Ok(Audited { state, entries, by: None }),
    }
}

/// Who issued the request that an entry carries. The runtime records some things in the name of
/// others; a caller who was not authentic is named in the entry about that.
fn principal(entry: &Stamped, command: &Command) -> Principal {
    if command.is_runtimes_own() {
        return Principal::System;
    }
    match (&entry.draft.actor, &entry.draft.event) {
        (Actor::Principal(principal), _) => principal.clone(),
        (Actor::Protocol, Event::AuthenticationFailed(body)) => body.entity.clone(),
        (Actor::Protocol, Event::AuthenticationSucceeded(body)) => body.entity.clone(),
        (Actor::Protocol, Event::AgentRegistered(body)) => Principal::Agent(body.agent.clone()),
        (Actor::Protocol, _) => Principal::System,
    }
}

/// The key that a caller who does not sign came with: the one its arrival says, or else the one its
/// name is bound to.
fn key_of(state: &State, by: &Principal, batch: &[Stamped]) -> Option<PublicKey> {
    let arrived = batch.iter().find_map(|entry| match &entry.draft.event {
        Event::AgentRegistered(body) => Some(body.key),
        Event::UserCreated(body) if *by == Principal::User(body.user_id.clone()) => Some(body.key),
        Event::AuthenticationFailed(body) => body.source.as_str().parse().ok(),
        Event::ProjectCreated(body) => Some(body.runtime_key),
        Event::RuntimeRekeyed(body) => Some(body.new_key),
        _ => None,
    });
    arrived.or_else(|| match by {
        Principal::Agent(name) => state.agents.get(name).map(|agent| agent.key),
        Principal::User(id) => state.users.get(id).map(|user| user.key),
        Principal::System => state.project.as_ref().map(|project| project.runtime_key),
    })
}
