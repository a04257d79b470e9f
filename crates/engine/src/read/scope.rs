//! The part of the trail that a viewer may read.

use althing_kernel::access::{NoteDenied, Viewer, readable, reads, reads_everything};
use althing_kernel::text::Text;
use althing_kernel::{Command, Principal, Refusal, Rule, WorkspaceId};
use std::sync::Arc;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::read::row::{Scope, Source};
use crate::read::trail_query::TrailQuery;
use crate::screen;

impl Engine {
    /// Narrows a query to what the viewer may read. Asking for a workspace that the viewer may not
    /// read returns `None`, and is recorded.
    pub fn narrowed(
        &self,
        query: TrailQuery,
        viewer: Viewer<'_>,
    ) -> Result<Option<TrailQuery>, EngineError> {
        let state = &self.world()?.state;
        self.check_viewer(state, viewer)?;
        if let Some(who) = viewer.filter(|_| !reads_everything(state, viewer))
            && query.workspace.as_ref().is_some_and(|target| !reads(state, viewer, target))
        {
            self.note_denied(who, &query.digest(), query.workspace.clone())?;
            return Ok(None);
        }
        let source = Source::Project(self.clone());
        let owners = query.owner.is_some();
        let places = query.needs_workspace_info().then(|| source.places(owners)).transpose()?;
        Ok(Some(TrailQuery { within: self.scope(viewer)?, places: places.map(Arc::new), ..query }))
    }

    /// The part of the trail that a viewer may read.
    pub fn scope(&self, viewer: Viewer<'_>) -> Result<Scope, EngineError> {
        let state = &self.world()?.state;
        let limited = !reads_everything(state, viewer);
        Ok(Scope(limited.then(|| readable(state, viewer))))
    }

    /// Fails if a viewer may not read everything, and records the refusal.
    pub fn check_reads_everything(&self, viewer: Viewer<'_>) -> Result<(), EngineError> {
        let state = &self.world()?.state;
        self.check_viewer(state, viewer)?;
        let Some(who) = viewer.filter(|_| !reads_everything(state, viewer)) else {
            return Ok(());
        };
        self.note_denied(who, "", None)?;
        let message = format!("{who} reads the trail of their own workspaces, not all of it");
        Err(Refusal::denied(Rule::TrailScope, message).into())
    }

    fn note_denied(
        &self,
        who: &Principal,
        digest: &str,
        scope: Option<WorkspaceId>,
    ) -> Result<(), EngineError> {
        // A name that looks like a secret must not reach the trail either.
        if screen::is_leaking_name(who) {
            return Ok(());
        }
        let filter_digest = Text::lossy(digest);
        let note = NoteDenied { filter_digest, requester: who.clone(), scope };
        self.execute_own(Command::TrailDenied(note)).map(|_| ())
    }
}
