//! `append_decision`

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SERVER, stamp_of};
use crate::desk::{Call, Identity};
use crate::fault::Fault;

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
pub fn append(call: &Call<'_>, who: &Identity, args: AppendDecision) -> Result<Value, Fault> {
    let AppendDecision { title, body, .. } = args;
    let said = json!({ "title": title, "body": body, "via": SERVER });
    let decision = call.desk.execute(who, "decision.append", &said)?;
    Ok(json!({ "appended": true, "timestamp": stamp_of(&decision["at"]), "title": title }))
}
