//! Every lifecycle table, for documents and tests.

use crate::model::knowledge::records::table::LIFECYCLES;
use crate::registry::lifecycle::Lifecycle;

/// Every lifecycle of the kernel.
pub const ALL: &[Lifecycle] = &[
    crate::model::runs::workspace::edges::LIFECYCLE,
    crate::model::runs::task::LIFECYCLE,
    crate::model::leasing::lease::LIFECYCLE,
    crate::model::leasing::session::LIFECYCLE,
    crate::model::identity::user::standing::LIFECYCLE,
    LIFECYCLES[0],
    LIFECYCLES[1],
    LIFECYCLES[2],
    LIFECYCLES[3],
    LIFECYCLES[4],
    LIFECYCLES[5],
    LIFECYCLES[6],
    LIFECYCLES[7],
    LIFECYCLES[8],
    LIFECYCLES[9],
    LIFECYCLES[10],
    LIFECYCLES[11],
    LIFECYCLES[12],
];
