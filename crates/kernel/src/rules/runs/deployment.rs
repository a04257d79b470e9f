//! Deployment models, and the check that the mechanisms each requires are in place.
//!
//! A run declares its model when it starts. A model is refused while a required mechanism is
//! missing, so that nobody relies on protection that is not there. The kernel knows the
//! requirements; the caller says which mechanisms are in place.

use crate::protocol::refusal::Refusal;
use crate::registry::rule::Rule;

pub use crate::model::runs::deployment::*;

impl Deployment {
    /// Refuses a model whose requirements are not met, naming every missing mechanism.
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
