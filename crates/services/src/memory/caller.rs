//! Checks of the arguments that name the caller or the project.

use althing_dialects::memory::item::is_called;

use super::Verbs;
use super::reading::CallerArguments;
use crate::error::Error;

impl Verbs<'_> {
    /// Refuses arguments that name another caller or another project.
    pub(super) fn check_caller(&self, given: &CallerArguments) -> Result<(), Error> {
        let own = self.principal();
        for name in [&given.agent, &given.agent_id].into_iter().flatten() {
            if !is_called(&own, name) {
                let message = format!(
                    "you are {}; the channel decides who acts, not an argument",
                    self.shown()
                );
                return Err(Error::refused(althing_kernel::Rule::WhoAreYou, message));
            }
        }
        let Some(project) = &given.project else { return Ok(()) };
        let present = self.present()?;
        let known = present.state.project();
        let root = &self.context.setup().root;
        let same = known.is_some_and(|known| {
            known.id.as_str() == project || known.name.as_str() == project.as_str()
        });
        if same || project == "." || root == std::path::Path::new(project) {
            return Ok(());
        }
        Err(Error::usage(
            "this server works on another project; leave 'project' out, or start it there",
        ))
    }
}
