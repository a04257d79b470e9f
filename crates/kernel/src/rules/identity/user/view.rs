//! Users, as shown to callers.

use crate::machine::state::State;
use crate::model::identity::user::User;
use crate::model::runs::workspace::Party;
use crate::values::id::WorkspaceId;
use crate::values::name::UserId;

pub use crate::model::identity::user::view::*;

impl UserWork {
    pub(crate) fn of(state: &State, id: &UserId, user: &User) -> Self {
        let live = |id: &&WorkspaceId| {
            state.workspaces.get(*id).is_some_and(|known| !known.status.is_terminal())
        };
        let party = Party::User(id.clone());
        UserWork {
            user: UserView::of(id, user),
            owns: state.owned_by(id).filter(live).cloned().collect(),
            owned: state.owned_by(id).count(),
            causes: state.originated_by(&party).filter(live).cloned().collect(),
            caused: state.originated_by(&party).count(),
        }
    }
}
