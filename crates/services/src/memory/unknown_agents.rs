//! Names of agents and people that are not registered. Work may wait for an agent that has yet to
//! connect, so they are accepted with a warning.

use althing_dialects::memory::item::kernel_name;
use althing_engine::screen::repeated;
use althing_kernel::blackboard::Label;
use althing_kernel::records::Fields;
use althing_kernel::{AgentName, State, UserId};

use super::Verbs;
use crate::error::Error;

impl Verbs<'_> {
    /// Warnings about unknown names in the fields of a record.
    pub(super) fn unknown_agents(&self, fields: &Fields) -> Result<Vec<String>, Error> {
        let own = [
            ("to", fields.to.as_ref().map(Label::as_str)),
            ("assignee", fields.assignee.as_ref().map(Label::as_str)),
            ("agent", fields.agent.as_ref().map(AgentName::as_str)),
        ];
        let of_steps = fields.steps.iter().map(|step| ("assignee", step.assignee.as_ref()));
        let of_steps = of_steps.map(|(field, who)| (field, who.map(Label::as_str)));
        let named = own.into_iter().chain(of_steps);
        let named: Vec<(&str, &str)> =
            named.filter_map(|(field, who)| Some((field, who?))).collect();
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let state = self.present()?.state;
        let unknown = named.into_iter().filter(|(_, who)| !is_known(&state, who));
        let warnings = unknown.map(|(field, who)| {
            let who = repeated(who);
            format!("'{field}': no agent or person called {who} is known yet; check the name")
        });
        Ok(warnings.collect())
    }
}

fn is_known(state: &State, who: &str) -> bool {
    let person = who.strip_prefix("user:").unwrap_or(who);
    let agent = AgentName::new(&kernel_name(who)).is_ok_and(|name| state.agent(&name).is_some());
    agent || UserId::new(person).is_ok_and(|id| state.user(&id).is_some())
}
