//! The texts of claims.

use althing_kernel::Timestamp;
use althing_kernel::query::LeaseView;
use serde::Serialize;
use std::fmt::Write as _;

use super::haid::{Haid, called};
use crate::moment::utc;

/// A claim in the form of this dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The holder.
    pub haid: String,
    /// The person in the holder's HAID.
    pub human: String,
    /// The claimed surfaces.
    pub claimed_surfaces: Vec<String>,
    /// The task.
    pub task_ref: String,
    /// Time of the claim.
    pub claimed_at: String,
    /// Time to live after the last heartbeat, in minutes, rounded up.
    pub ttl_minutes: u64,
    /// Time of the last heartbeat.
    pub heartbeat: String,
}

impl Claim {
    /// Converts a lease.
    pub fn of(lease: &LeaseView) -> Self {
        let haid = called(&lease.holder);
        // A renewal lasts as long as the lease was granted for.
        let ttl_micros = lease.ttl_s.saturating_mul(1_000_000);
        let beat = Timestamp::from_micros(lease.expires_at.micros().saturating_sub(ttl_micros));
        Claim {
            human: human(&haid),
            haid,
            claimed_surfaces: lease.surfaces.iter().map(ToString::to_string).collect(),
            task_ref: task_ref(lease.task.as_deref(), lease.purpose.as_deref()),
            claimed_at: utc(lease.opened_at),
            ttl_minutes: minutes(lease.ttl_s),
            heartbeat: utc(beat),
        }
    }
}

/// The person in a HAID; a name without one stands for itself.
pub fn human(shown: &str) -> String {
    Haid::new(shown).map_or_else(|_| shown.to_owned(), |haid| haid.human().to_owned())
}

/// Seconds as minutes, rounded up.
pub fn minutes(secs: u64) -> u64 {
    secs.div_ceil(60)
}

/// An overlap with another claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The requested surface.
    pub asked: String,
    /// The held surface.
    pub held: String,
    /// Its holder.
    pub holder: String,
    /// The person in the holder's HAID.
    pub human: String,
    /// The holder's task.
    pub task: String,
}

/// Prefix of the origin in the task of a claim that came through the server.
const VIA: &str = "via heimdall-ledger-mcp:";

/// The origin of a claim that came through the server.
pub fn via(haid: &str) -> String {
    format!("{VIA}{haid}")
}

/// A claim's task, with its origin if that was the server.
pub fn task_ref(task: Option<&str>, purpose: Option<&str>) -> String {
    let name = task.or(purpose).unwrap_or("?");
    match purpose {
        Some(door) if task.is_some() && door.starts_with(VIA) => format!("{name} ({door})"),
        _ => name.to_owned(),
    }
}

/// Message: claimed.
pub fn claimed(surfaces: &[String], haid: &str, task: &str, ttl_minutes: u64) -> String {
    let count = surfaces.len();
    let mut text =
        format!("claimed {count} surface(s) for {haid} (task {task}, ttl {ttl_minutes}m)\n");
    for surface in surfaces {
        let _ = writeln!(text, "  {surface}");
    }
    text
}

/// Message: not claimed, because of overlaps.
pub fn collision(overlaps: &[Overlap]) -> String {
    let mut text = "COLLISION: cannot claim — surfaces overlap active claims:\n".to_owned();
    for Overlap { asked, held, holder, task, .. } in overlaps {
        let _ = writeln!(text, "  '{asked}' overlaps '{held}' held by {holder} (task {task})");
    }
    text + "resolve via the governance override flow or sequence the work; do NOT force.\n"
}

/// Message: overlaps found by a query.
pub fn in_the_way(overlaps: &[Overlap]) -> String {
    let mut text =
        "COLLISION: requested surfaces overlap ACTIVE claims by other agents:\n".to_owned();
    for Overlap { asked, held, holder, human, task } in overlaps {
        let _ = writeln!(
            text,
            "  '{asked}' overlaps '{held}' held by {holder} (human {human}, task {task})"
        );
    }
    text
}

/// Message: a list of claims.
pub fn list(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return "(no active claims)\n".to_owned();
    }
    let mut text = format!("ACTIVE CLAIMS ({})\n", claims.len());
    for claim in claims {
        text += &show(claim);
    }
    text
}

/// Message: one claim.
pub fn show(claim: &Claim) -> String {
    let Claim { haid, task_ref, ttl_minutes, heartbeat, claimed_surfaces, .. } = claim;
    let surfaces = claimed_surfaces.join(", ");
    // One line for one claim, whatever the task is called.
    let task_ref = task_ref.split_whitespace().collect::<Vec<&str>>().join(" ");
    format!("  {haid}\t{task_ref}\tttl:{ttl_minutes}m\thb:{heartbeat}\n    surfaces: {surfaces}\n")
}
