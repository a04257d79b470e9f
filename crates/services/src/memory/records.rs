//! Decisions of the frugal dialect, which this dialect shows read-only.

use althing_dialects::frugal::planning::called;
use althing_dialects::memory::filter::Filter;
use althing_dialects::memory::item::{brief, is_called};
use althing_dialects::memory::moment::utc;
use althing_kernel::blackboard::view::DecisionView;
use althing_kernel::records::Status;
use althing_kernel::{Principal, State, Timestamp};
use serde_json::{Value, json};

use super::Verbs;
use super::args::CallerArguments;
use super::session::Present;
use super::trail::entry_at;
use crate::error::Error;

/// The source of such a decision.
pub(super) const FRUGAL: &str = "frugal";
/// The prefix of its id.
const LOG: &str = "log#";

/// A decision of the frugal dialect.
pub(super) struct Decision {
    pub(super) number: u64,
    pub(super) at: Timestamp,
    pub(super) text: String,
    by: Principal,
}

/// Whether an id names such a decision.
pub(super) fn is_of_decisions(id: &str) -> bool {
    id.strip_prefix(LOG).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The decisions of the frugal dialect, newest first.
pub(super) fn newest_decisions(state: &State) -> impl Iterator<Item = Decision> {
    state.commons().decisions().rev().map(Decision::of)
}

/// The decisions of the frugal dialect, oldest first.
pub(super) fn decisions(present: &Present) -> Vec<Decision> {
    let mut all: Vec<Decision> = newest_decisions(&present.state).collect();
    all.reverse();
    all
}

/// A decision of the frugal dialect by its id.
pub(super) fn decision(state: &State, id: &str) -> Option<Decision> {
    let number = id.strip_prefix(LOG)?.parse().ok()?;
    state.commons().decision(number).map(Decision::of)
}

impl Decision {
    fn of(own: DecisionView) -> Self {
        let text = format!("{}\n\n{}", own.title, own.body);
        Decision { number: own.number, at: own.at, text, by: own.by }
    }

    pub(super) fn fits(&self, filter: &Filter) -> bool {
        filter.status.is_none_or(|status| status == Status::Approved)
            && filter.has_tags(&[])
            && filter.author.as_deref().is_none_or(|name| is_called(&self.by, name))
            && filter.source.as_deref().is_none_or(|source| source == FRUGAL)
            && filter.plan.is_none()
            && filter.auto_generated != Some(true)
    }

    pub(super) fn id(&self) -> String {
        format!("{LOG}{}", self.number)
    }

    /// A short description of the decision.
    pub(super) fn short(&self) -> Value {
        json!({
            "section": "decisions",
            "id": self.id(),
            "short_label": self.id(),
            "status": "approved",
            "text": brief(&self.text, 400),
            "updated_at": utc(self.at),
            "source": FRUGAL,
        })
    }

    pub(super) fn item(&self, present: &Present) -> Result<Value, Error> {
        let kinds = [althing_kernel::Kind::DecisionAppended, althing_kernel::Kind::DisputeRaised];
        let entry = entry_at(&present.engine, self.at, &kinds, None)?;
        let kind = if matches!(self.by, Principal::User(_)) { "human" } else { "agent" };
        let by = called(&self.by);
        Ok(json!({
            "id": self.id(),
            "short_label": self.id(),
            "kind": "decision",
            "status": "approved",
            "outcome": "approved",
            "text": self.text,
            "tags": [],
            "author": by,
            "created_at": utc(self.at),
            "updated_at": utc(self.at),
            "source": FRUGAL,
            "read_only": true,
            "provenance": { "kind": kind, "author": by, "source": FRUGAL, "entry": entry },
        }))
    }
}

impl Verbs<'_> {
    /// Refuses arguments that name another caller or another project.
    pub(super) fn check_caller(&self, given: &CallerArguments) -> Result<(), Error> {
        let own = self.principal();
        for name in [&given.agent, &given.agent_id].into_iter().flatten() {
            if !is_called(&own, name) {
                let message = format!(
                    "you are {}; the channel decides who acts, not an argument",
                    self.shown()
                );
                return Err(Error::refused(althing_kernel::Rule::WhoAreYou, message));
            }
        }
        let Some(project) = &given.project else { return Ok(()) };
        let present = self.present()?;
        let known = present.state.project();
        let root = &self.context.setup().root;
        let same = known.is_some_and(|known| {
            known.id.as_str() == project || known.name.as_str() == project.as_str()
        });
        if same || project == "." || root == std::path::Path::new(project) {
            return Ok(());
        }
        Err(Error::usage(
            "this server works on another project; leave 'project' out, or start it there",
        ))
    }
}
