//! Auditing: whether the rules lead to the entries on record.
//!
//! `apply` trusts that an entry was decided by this kernel and checks only what it needs. Whoever
//! verifies a trail cannot trust that: entries that were never decided may be sealed properly. So
//! the audit decides again. The caller's entry says what was asked for; the same command is decided
//! by the same code on the state before, and every entry of it must be the one on record. Entries
//! that nobody asked for must follow from a deadline that had come. No rule is stated twice.

use crate::machine::state::State;
use crate::machine::transaction::on_record::Placeholders;
use crate::machine::transaction::{Base, Transaction};
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

/// A decision that was made again and gave the same entries.
#[derive(Debug)]
pub struct Audited {
    /// How many entries the decision made.
    pub entries: usize,
    /// The caller of the command, or `None` if the entries follow from a deadline.
    pub by: Option<Principal>,
}

/// A breach, and which of the audited entries it is about.
pub type Found = (usize, Breach);

/// How many entries the auditor keeps to go back with. Then it copies the state and drops them: an
/// entry may have a megabyte.
const BASE_ENTRIES_MAX: usize = 128;

/// An audit of a trail, decision by decision.
#[derive(Debug, Default)]
pub struct Auditor {
    state: State,
    /// Leads back to the state if a decision is not the one on record.
    base: Base,
}

impl Auditor {
    /// Begins after entries that led to this state.
    pub fn new(state: State) -> Self {
        Auditor { base: Base::new(state.clone()), state }
    }

    /// The state after the entries so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Applies an entry without auditing it.
    pub fn apply(&mut self, entry: &Stamped) -> Result<(), ApplyError> {
        self.state.apply(entry)?;
        self.take([entry.clone()]);
        Ok(())
    }

    /// Audits the first of some recorded entries and those that belong to the same decision. `asked`
    /// is the first request that any of the entries carries. If there is a breach, the state stays
    /// as it is.
    pub fn audit(
        &mut self,
        entries: &[Stamped],
        asked: Option<Asked<'_>>,
    ) -> Result<Audited, Found> {
        let Some(first) = entries.first() else { return Err((0, Breach::Unasked)) };
        let may_be_due = first.draft.actor == Actor::Protocol && self.state.is_due(first.at);
        match asked {
            None if may_be_due => self.fell_due(entries),
            None => Err((0, Breach::Unasked)),
            Some(asked) if !may_be_due => self.decided(entries, asked),
            // Recovery records what is due within its own decision.
            Some(asked) if asked.command.precedes_deadlines() => {
                let decided = self.decided(entries, asked);
                decided.or_else(|found| self.fell_due(entries).map_err(|_| found))
            }
            Some(asked) => self.fell_due(entries).or_else(|_| self.decided(entries, asked)),
        }
    }

    /// Whether the next deadline leads to the first entries.
    fn fell_due(&mut self, entries: &[Stamped]) -> Result<Audited, Found> {
        let count = self.again(entries, |tx| {
            tx.tick(1).map_err(|error| (0, error.into()))?;
            compare(tx.entries(), entries, None)
        })?;
        Ok(Audited { entries: count, by: None })
    }

    /// Whether what was asked for leads to the first entries.
    fn decided(&mut self, entries: &[Stamped], asked: Asked<'_>) -> Result<Audited, Found> {
        let (Some(first), Some(own)) = (entries.first(), entries.get(asked.entry)) else {
            return Err((0, Breach::Unasked));
        };
        if self.state.is_due(first.at) && !asked.command.precedes_deadlines() {
            return Err((0, Breach::Overdue));
        }
        let by = principal(own, asked.command);
        let batch = entries.get(..=asked.entry).unwrap_or_default();
        let key = asked.key.copied().or_else(|| key_of(&self.state, &by, batch));
        let Some(key) = key else { return Err((asked.entry, Breach::Caller(by))) };
        let caller = Caller { principal: by, key, session: asked.session.cloned() };
        let door = own.door;
        let count = self.again(entries, |tx| {
            tx.come_through(door);
            let outcome = tx.decide(&caller, asked.command).map_err(|error| (0, error.into()))?;
            compare(tx.entries(), entries, outcome.result.err())?;
            let is_own = outcome.own == Some(asked.entry);
            if is_own { Ok(()) } else { Err((asked.entry, Breach::Misplaced)) }
        })?;
        Ok(Audited { entries: count, by: Some(caller.principal) })
    }

    /// Makes a decision again. Returns how many entries it has, or goes back to the state before it.
    /// Going back cannot fail: it applies entries that were applied before.
    fn again(
        &mut self,
        entries: &[Stamped],
        decide: impl FnOnce(&mut Transaction<'_>) -> Result<(), Found>,
    ) -> Result<usize, Found> {
        let Some(first) = entries.first() else { return Err((0, Breach::Unasked)) };
        let (state, base) = (std::mem::take(&mut self.state), std::mem::take(&mut self.base));
        let mut placeholders = Placeholders::default();
        let tx = Transaction::begin_with(base, state, first.at, &mut placeholders);
        let mut tx = tx.against(entries);
        let decided = decide(&mut tx);
        let (state, made, base) = tx.into_parts();
        self.base = base;
        match decided {
            Ok(()) => {
                self.state = state;
                let count = made.len();
                self.take(made);
                Ok(count)
            }
            Err(found) => {
                self.state = self.base.restored().map_err(|error| (0, error.into()))?;
                Err(found)
            }
        }
    }

    /// Notes entries that the state has taken.
    fn take(&mut self, entries: impl IntoIterator<Item = Stamped>) {
        self.base.add(entries);
        if self.base.entries() >= BASE_ENTRIES_MAX {
            self.base = Base::new(self.state.clone());
        }
    }
}

/// Compares the entries of a decision that was made again with those on record.
fn compare(
    made: &[Stamped],
    entries: &[Stamped],
    mut refusal: Option<Refusal>,
) -> Result<(), Found> {
    for (place, own) in made.iter().enumerate() {
        let expected = own.draft.event.kind();
        match entries.get(place) {
            Some(recorded) if recorded == own => {}
            Some(recorded) => {
                let refused = refusal.take_if(|_| recorded.draft.event.kind() != expected);
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
    if made.is_empty() { Err((0, Breach::Unasked)) } else { Ok(()) }
}

/// The caller of the request that an entry carries. This is the entry's actor, with two exceptions:
/// a command that only the runtime issues, and an entry of the protocol that names the caller in its
/// body (a registration, or a check of a signature).
fn principal(entry: &Stamped, command: &Command) -> Principal {
    if command.is_runtimes_own() {
        return Principal::System;
    }
    if let Actor::Principal(principal) = &entry.draft.actor {
        return principal.clone();
    }
    match &entry.draft.event {
        Event::AuthenticationFailed(body) => body.entity.clone(),
        Event::AuthenticationSucceeded(body) => body.entity.clone(),
        Event::AgentRegistered(body) => Principal::Agent(body.agent.clone()),
        // Any other entry of the protocol is the runtime's.
        _ => Principal::System,
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
        // Any other entry says nothing of a key.
        _ => None,
    });
    arrived.or_else(|| match by {
        Principal::Agent(name) => state.agents.get(name).map(|agent| agent.key),
        Principal::User(id) => state.users.get(id).map(|user| user.key),
        Principal::System => state.project.as_ref().map(|project| project.runtime_key),
    })
}
