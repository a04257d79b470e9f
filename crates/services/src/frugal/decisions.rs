//! `append_decision`

use althing_dialects::moment::utc;
use althing_kernel::blackboard::view::BlackboardReply;
use althing_kernel::blackboard::{Label, decision};
use althing_kernel::text::Text;
use althing_kernel::{Command, Reply};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::SERVER;
use crate::context::ProjectContext;
use crate::error::Error;
use crate::project::Identity;

/// Arguments of `append_decision`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendDecision {
    title: String,
    body: String,
    #[serde(rename = "client_identity")]
    _client: Option<String>,
}

/// Records a decision.
pub fn append(
    context: &ProjectContext,
    _: &Identity,
    args: AppendDecision,
) -> Result<Value, Error> {
    let AppendDecision { title, body, .. } = args;
    let append = decision::Append {
        body: Text::new(&body).map_err(Error::unreadable)?,
        title: Text::new(&title).map_err(Error::unreadable)?,
        via: Some(Label::new(SERVER).map_err(Error::unreadable)?),
    };
    match context.execute(Command::DecisionAppend(append))? {
        Reply::Blackboard(BlackboardReply::Decision(made)) => {
            Ok(json!({ "appended": true, "timestamp": utc(made.at), "title": title }))
        }
        other => Err(Error::unexpected(&other)),
    }
}
