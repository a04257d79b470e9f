//! Types of `request`: state, arguments of commands and bodies of events.

use serde::Deserialize;
use serde::Serialize;

use crate::model::runs::integration::Decide;
use crate::model::runs::integration::conflict::Resolve;
use crate::model::runs::integration::salvage::Salvage;
use crate::model::runs::workspace::abort::Abort;
use crate::model::runs::workspace::create::Create;
use crate::values::content::{Blob, Content};

/// An order that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To end a workspace.
    Abort(Box<Abort>),
    /// To make one.
    Create(Box<Create>),
    /// To merge what one finished.
    Integrate(Box<Decide>),
    /// To settle a conflict.
    Resolve(Box<Resolve>),
    /// To merge what can be saved of one that failed.
    Salvage(Box<Salvage>),
}

impl Request {
    /// The content it cites.
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
