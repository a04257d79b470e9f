//! Deciding: from a command to the rule that decides it, and from a deadline to what is due.

use crate::dispatch::commands;
use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Outcome, Transaction};
use crate::protocol::command::{Command, CommandRoom, LeaseCommand};
use crate::protocol::event::{Draft, Event};
use crate::protocol::refusal::Refusal;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::admin::adoption;
use crate::rules::identity::{agent, authentication, user};
use crate::rules::knowledge::{attempt, records as remembered};
use crate::rules::leasing::{lease, session};
use crate::rules::permissions;
use crate::rules::runs::approvals::{escalation, gate};
use crate::rules::runs::workspace::{change, enforce, liveness};
use crate::rules::runs::{approvals, envelope};
use crate::values::principal::{Actor, Caller, Principal};
use crate::values::stream::Stream;

impl Transaction<'_> {
    /// Records what has fallen due, at most about `limit` things. Returns whether more is due.
    pub fn tick(&mut self, limit: usize) -> Result<bool, ApplyError> {
        let stop_at = self.made.len().saturating_add(limit);
        loop {
            self.set_time();
            let next = self.state.deadlines.get_min();
            let Some((_, deadline)) = next.filter(|(at, _)| *at <= self.now) else {
                return Ok(false);
            };
            if self.made.len() >= stop_at {
                return Ok(true);
            }
            self.cause = None;
            let deadline = deadline.clone();
            let (first, before) = (self.made.len(), self.before());
            match deadline {
                Deadline::Lease(id) => lease::on_deadline(self, &id)?,
                Deadline::Session(id) => {
                    session::on_deadline(self, &id)?;
                    attempt::open::abandon(self, first)?;
                }
                Deadline::Workspace(id) => change::on_deadline(self, &id)?,
                Deadline::Compute(id) => enforce::on_deadline(self, &id)?,
                Deadline::Liveness(id) => liveness::on_deadline(self, &id)?,
                Deadline::Envelope(id) => envelope::deliver::on_deadline(self, &id)?,
                Deadline::Gate(id) => gate::on_deadline(self, &id)?,
                Deadline::Escalation(id) => escalation::on_deadline(self, &id)?,
                Deadline::Memory(id) => remembered::archive::on_deadline(self, id)?,
            }
            self.settle(before.as_ref(), first)?;
            approvals::sweep(self)?;
        }
    }

    /// Decides a command of an authenticated caller.
    ///
    /// A refusal is an outcome like any other and leaves an entry. An error is a defect of the
    /// kernel and leaves nothing.
    pub fn decide(&mut self, caller: &Caller, command: &Command) -> Result<Outcome, ApplyError> {
        let (first, state) = (self.made.len(), self.before());
        self.set_time();
        self.cause = None;
        let arrived = self.arrive(caller, command);
        // The arrival of the caller stays on record even if the command is refused.
        let before = self.made.len();
        let result = match arrived.and_then(|()| commands::carry_out(self, caller, command)) {
            Ok(reply) => {
                attempt::open::abandon(self, before)?;
                Ok(reply)
            }
            Err(error) => {
                self.released = false;
                self.go_back_to(before)?;
                self.cause = None;
                Err(self.record_refusal(caller, command, error)?)
            }
        };
        let settled = self.settle(state.as_ref(), first)?;
        // Last, since what ran out of its budget may have left something to ask nobody about.
        approvals::sweep(self)?;
        let result = if settled { result.map(|reply| self.renewed(reply)) } else { result };
        let (entries, own) = (first..self.made.len(), self.own_entry(caller, first, before));
        self.door = None;
        Ok(Outcome { result, entries, own })
    }

    /// The entry of a command that carries the caller's request.
    fn own_entry(&self, caller: &Caller, first: usize, arrived: usize) -> Option<usize> {
        let actor = Actor::from(caller.principal.clone());
        let made = self.made.get(arrived..).unwrap_or_default();
        let own = made.iter().position(|entry| entry.draft.actor == actor);
        let last = self.made.len().checked_sub(1).filter(|last| *last >= first);
        own.map(|place| arrived + place).or(last)
    }

    /// Warns and ends workspaces that the entries from `first` on had use up their budget. What is
    /// created with a budget was not there before, so it is asked about too.
    fn settle(&mut self, before: Option<&State>, first: usize) -> Result<bool, ApplyError> {
        match before {
            None if self.state.limited == 0 => Ok(false),
            None => enforce::settle(self, &State::default(), first),
            Some(before) => enforce::settle(self, before, first),
        }
    }

    /// Establishes who the caller is and, for an agent, the session it speaks in.
    fn arrive(&mut self, caller: &Caller, command: &Command) -> Result<(), DecisionError> {
        self.admit(caller, command)?;
        match command.room() {
            CommandRoom::Lease(command) => match command {
                // It opens a session once something is claimed.
                LeaseCommand::LeaseUse(_) => Ok(()),
                LeaseCommand::LeaseOpen(_)
                | LeaseCommand::LeaseRenew(_)
                | LeaseCommand::LeaseRelease(_)
                | LeaseCommand::LeaseForce(_) => session::ensure(self, caller).map(|_| ()),
            },
            // These need no session, or open one themselves.
            CommandRoom::Session(_)
            | CommandRoom::User(_)
            | CommandRoom::Agent(_)
            | CommandRoom::Blackboard(_)
            | CommandRoom::Memory(_)
            | CommandRoom::Work(_)
            | CommandRoom::Workspace(_)
            | CommandRoom::Message(_)
            | CommandRoom::Plan(_)
            | CommandRoom::Approval(_)
            | CommandRoom::Refusal(_)
            | CommandRoom::Right(_)
            | CommandRoom::Runtime(_) => Ok(()),
        }
    }

    /// Whether the caller is who it claims to be, as far as the trail knows.
    fn admit(&mut self, caller: &Caller, command: &Command) -> Result<(), DecisionError> {
        match &caller.principal {
            Principal::System => self.admit_runtime(caller, command),
            Principal::User(_) | Principal::Agent(_) if command.is_runtimes_own() => {
                Err(Refusal::denied(Rule::SystemOnly, "the runtime alone issues this").into())
            }
            Principal::User(id) => {
                if let Command::UserCreate(create) = command
                    && user::is_first_sign_up(&self.state, caller, create)
                {
                    return Ok(());
                }
                user::admit(self, id, caller.key)?;
                authentication::record(self, caller)?;
                Ok(permissions::check(&self.state, id, command)?)
            }
            Principal::Agent(name) => {
                self.project()?;
                agent::admit(self, name, caller.key)?;
                authentication::record(self, caller)
            }
        }
    }

    /// Whether the runtime holds the project's key. Creating a project and taking one over set it.
    fn admit_runtime(&self, caller: &Caller, command: &Command) -> Result<(), DecisionError> {
        let sets_key = matches!(command, Command::ProjectCreate(_) | Command::RuntimeRekey(_));
        if sets_key || self.project()?.runtime_key == caller.key {
            return Ok(());
        }
        Err(DecisionError::NotAuthentic {
            entity: Principal::System,
            reason: "it does not hold the runtime's key",
        })
    }

    /// Stamps a draft, applies it and keeps it. On a trail of earlier rules an entry that adopts
    /// today's comes first.
    pub(crate) fn emit(&mut self, draft: Draft) -> Result<(), ApplyError> {
        if let Some(adopted) = adoption::due(&self.state) {
            let event = Event::RulesAdopted(adopted);
            let stream =
                Stream::project(&self.state.project.as_ref().ok_or(ApplyError::NoProject)?.id);
            let (actor, correlation, causation) = (Actor::Protocol, None, None);
            self.push(Draft { actor, workspace: None, stream, correlation, causation, event })?;
        }
        self.push(draft)
    }
}
