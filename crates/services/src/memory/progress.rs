//! `transition` of an assignment to `progress`: not a state, but a progress report and a heartbeat.

use althing_dialects::memory::entity;
use althing_kernel::Command;
use althing_kernel::records::assign::Progress;
use althing_kernel::records::view::MemoryReply;
use althing_kernel::records::{Kind, Status};
use althing_kernel::text::Text;

use super::Verbs;
use super::answers::{Moved, SideEffect};
use super::args::Transition;
use super::write::request_label;
use crate::error::Error;

/// The word that stands for a progress report in place of a state.
pub(super) const PROGRESS: &str = "progress";

impl Verbs<'_> {
    pub(super) fn progress(&self, args: &Transition) -> Result<Moved, Error> {
        let unfit = [
            ("planStatus", args.plan_status.is_some()),
            ("merged_into", args.merged_into.is_some()),
            ("to_agent", args.to_agent.is_some()),
            ("forced", args.forced),
        ];
        if let Some((name, _)) = unfit.iter().find(|(_, given)| *given) {
            return Err(Error::usage(format!("'{name}' cannot be combined with {PROGRESS}")));
        }
        let id = entity::id(Kind::Assignment, &args.id).map_err(Error::usage)?;
        let progress = Progress {
            artifacts: args.artifacts.clone(),
            expected_version: args.expected_version,
            id,
            request_id: args.request_id.as_deref().map(request_label).transpose()?,
            text: args.reason.as_deref().map(Text::new).transpose().map_err(Error::unreadable)?,
        };
        let heard = match self.execute(Command::MemoryProgress(Box::new(progress)))? {
            MemoryReply::Moved(heard) => heard,
            other => return Err(Error::unexpected(&other)),
        };
        let record = heard.record.as_ref();
        let [from, to] = [heard.from, heard.to].map(|state| state.map(Status::as_str));
        let changed = args.reason.is_some() || !args.artifacts.is_empty();
        Ok(Moved {
            version: record.map(|record| record.version),
            artifacts: Some(record.map_or(0, |record| record.fields.artifacts.len())),
            side_effects: vec![SideEffect::new("heartbeat", Kind::Assignment, id)],
            ..Moved::new(id, from, to, changed)
        })
    }
}
