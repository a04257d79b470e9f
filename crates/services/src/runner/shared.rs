//! What all parts of a run share: the project, the repository, the worktrees, the settings.

use althing_kernel::{AgentName, WorkspaceId};
use althing_workshop::attempt_tree::AttemptTrees;
use althing_workshop::git::author::Author;
use althing_workshop::repository::Repository;
use std::path::PathBuf;
use std::sync::Arc;

use super::settings::Workshop;
use crate::context::{Caller, ProjectContext};
use crate::error::Error;
use crate::project::Project;

/// The agent that leads runs.
pub const LEAD: &str = "runner";

/// What all parts of a run share.
#[derive(Clone)]
pub struct Shared {
    pub(crate) project: Arc<Project>,
    pub(crate) settings: Arc<Workshop>,
    pub(crate) lead: AgentName,
    pub(crate) trees: AttemptTrees,
}

impl Shared {
    /// Opens the repository and the folder for worktrees.
    pub fn open(project: &Arc<Project>, settings: Workshop) -> Result<Self, Error> {
        let lead = AgentName::new(LEAD).map_err(Error::unreadable)?;
        let root = &project.setup().root;
        let repository = Repository::open(root, &Author::agent(LEAD))
            .map_err(|error| Error::unavailable(error.to_string()).hint(error.hint()))?;
        let trees = AttemptTrees::new(&repository, &settings.worktrees)
            .map_err(|error| Error::unavailable(error.to_string()).hint(error.hint()))?;
        Ok(Shared { project: project.clone(), settings: Arc::new(settings), lead, trees })
    }

    /// The repository.
    pub fn repository(&self) -> &Repository {
        self.trees.repository()
    }

    /// The worktrees.
    pub fn trees(&self) -> &AttemptTrees {
        &self.trees
    }

    /// A context of the agent that leads the run.
    pub(crate) fn lead(&self) -> ProjectContext {
        self.agent(&self.lead)
    }

    /// A context of an agent.
    pub(crate) fn agent(&self, name: &AgentName) -> ProjectContext {
        ProjectContext::new(self.project.clone(), Caller::agent(name.clone()))
    }

    /// The folder for what a run keeps beside the trail: logs, locks, briefs.
    pub fn folder(&self) -> PathBuf {
        self.project.setup().home.root().join("workshop")
    }

    /// The folder of an attempt.
    pub fn attempt_folder(&self, id: &WorkspaceId) -> PathBuf {
        self.folder().join(id.as_str())
    }
}
