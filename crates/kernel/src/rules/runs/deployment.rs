//! Deployment models: what stands between those who take part, and what each model needs.
//!
//! Whoever begins a run declares one. It is refused while a mechanism it needs is not in place,
//! so that nobody believes to be protected by something that is not there. The kernel knows what
//! is needed; what is in place comes in from outside.

use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;

pub use crate::model::runs::deployment::*;

impl Deployment {
    /// Refuses a model that lacks something, and names everything it lacks.
    pub fn check(self, is_in_place: &dyn Fn(Mechanism) -> bool) -> Result<(), Refusal> {
        let lacks = self.needs().iter().filter(|mechanism| !is_in_place(**mechanism));
        let lacks: Vec<&str> = lacks.map(|mechanism| mechanism.as_str()).collect();
        if lacks.is_empty() {
            return Ok(());
        }
        let message = format!("the deployment model {self} lacks {}", lacks.join(", "));
        let complete = |model: &&Deployment| model.needs().iter().all(|need| is_in_place(*need));
        let allowed = Deployment::ALL.iter().filter(complete).map(ToString::to_string);
        Err(Refusal::denied(Rule::DeploymentComplete, message).allowing(allowed))
    }
}
