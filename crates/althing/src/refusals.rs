//! Refusals that were decided before the kernel was asked, such as an unknown name. They are
//! recorded like those of the kernel.

use althing_engine::{Credential, Engine, Signing};

use crate::app::{App, Project};
use crate::error::Error;
use crate::haid::{agent_name, own_haid};
use crate::settings::Asker;

/// The operation that a refusal is recorded under.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    name: &'static str,
    /// Whether a caller without a name is the HAID of this person.
    has_own_name: bool,
}

impl Operation {
    /// An operation of callers who say who they are.
    pub(crate) fn named(name: &'static str) -> Self {
        Operation { name, has_own_name: false }
    }

    /// An operation that callers without a name issue as the HAID of this person.
    pub(crate) fn of_anybody(name: &'static str) -> Self {
        Operation { name, has_own_name: true }
    }

    /// The same error. A refusal that is not on record yet is recorded in the caller's name, unless
    /// there is no caller or a person who has not authenticated. If recording fails, returns that
    /// error instead.
    pub(crate) fn on_record(self, app: &App, error: Error) -> Error {
        let Ok(project) = app.project() else { return error };
        // Where there is no project, there is nothing to record it in.
        let Ok(engine) = project.engine() else { return error };
        let client = match self.credential(app, &project, &engine) {
            Ok(Some(credential)) => engine.client(credential, Signing::Each),
            Ok(None) => return error,
            Err(other) => return other,
        };
        let session = project.session(&engine).ok().flatten();
        error.recorded(&client.in_session(session).warning(&app.warnings), self.name)
    }

    /// The credential of the caller, if no passphrase has to be asked for.
    fn credential(
        self,
        app: &App,
        project: &Project,
        engine: &Engine,
    ) -> Result<Option<Credential>, Error> {
        if let Some(credential) = app.authenticated.get() {
            return Ok(Some(credential.clone()));
        }
        match project.settings.asker()? {
            Some(Asker::Agent(name)) => Ok(Some(engine.agent(&name)?)),
            None if self.has_own_name => {
                Ok(Some(engine.agent(&agent_name(&own_haid(project.root())?)?)?))
            }
            Some(Asker::User(_)) | None => Ok(None),
        }
    }
}
