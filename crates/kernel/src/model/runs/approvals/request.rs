//! Commands that wait at a gate until they are approved.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::integration::Decide;
use crate::model::runs::integration::conflict::Resolve;
use crate::model::runs::integration::salvage::Salvage;
use crate::model::runs::workspace::abort::Abort;
use crate::model::runs::workspace::create::Create;
use crate::values::content::{Blob, Content};

/// A command that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Aborts a workspace.
    Abort(Box<Abort>),
    /// Creates a workspace.
    Create(Box<Create>),
    /// Merges finished work.
    Integrate(Box<Decide>),
    /// Resolves a conflict.
    Resolve(Box<Resolve>),
    /// Salvages work of a failed workspace.
    Salvage(Box<Salvage>),
}

impl Request {
    /// The content it refers to.
    pub(crate) fn blobs(&self) -> Vec<&Blob> {
        match self {
            Request::Abort(_) => Vec::new(),
            Request::Create(create) => {
                let directive = create.directive.iter();
                let directive = directive.flat_map(|d| d.attachments.iter().chain([&d.content]));
                directive.chain(&create.context).filter_map(Content::blob).collect()
            }
            Request::Integrate(decide) => in_files(decide.merged.as_deref()),
            Request::Resolve(resolve) => in_files(resolve.merged.as_deref()),
            Request::Salvage(salvage) => in_files(Some(&salvage.merged)),
        }
    }
}

fn in_files(files: Option<&[crate::model::runs::file::FileArg]>) -> Vec<&Blob> {
    let files = files.into_iter().flatten();
    files.filter_map(|file| file.content.as_ref()?.blob()).collect()
}
