//! Names that nobody here answers to. Work may wait for somebody who is yet to come, so they are
//! taken; whoever misspelt one is told.

use althing_dialects::memory::item::kernel_name;
use althing_dialects::memory::secrets::repeated;
use althing_kernel::{AgentName, State, UserId};
use serde_json::{Map, Value};

use super::Verbs;
use crate::fault::Fault;

/// The fields that name somebody.
const NAMING: [&str; 3] = ["to", "assignee", "agent"];

impl Verbs<'_> {
    /// What is to be said of the names in what was written down.
    pub(super) fn strangers(&self, data: &Map<String, Value>) -> Result<Vec<Value>, Fault> {
        let steps = data.get("steps").and_then(Value::as_array).into_iter().flatten();
        let of_steps = steps.filter_map(|step| Some(("assignee", step["assignee"].as_str()?)));
        let own = NAMING.iter().filter_map(|name| Some((*name, data.get(*name)?.as_str()?)));
        let named: Vec<(&str, &str)> = own.chain(of_steps).collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let state = self.present()?.state;
        let unknown = named.into_iter().filter(|(_, who)| !is_known(&state, who));
        let told = unknown.map(|(field, who)| {
            let who = repeated(who);
            format!("'{field}': nobody called {who} has been here yet; check the name").into()
        });
        Ok(told.collect())
    }
}

fn is_known(state: &State, who: &str) -> bool {
    let person = who.strip_prefix("user:").unwrap_or(who);
    let agent = AgentName::new(&kernel_name(who)).is_ok_and(|name| state.agent(&name).is_some());
    agent || UserId::new(person).is_ok_and(|id| state.user(&id).is_some())
}
