//! The texts of claims.

use althing_kernel::Timestamp;
use althing_kernel::query::LeaseView;
use serde::Serialize;
use std::fmt::Write as _;

use super::haid::Haid;
use super::planning::{called, utc};

/// A claim, as this dialect shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Who holds it.
    pub haid: String,
    /// The person in that.
    pub human: String,
    /// What is held.
    pub claimed_surfaces: Vec<String>,
    /// What for.
    pub task_ref: String,
    /// Since when.
    pub claimed_at: String,
    /// For how long after the last sign of life, in minutes, begun ones counted.
    pub ttl_minutes: u64,
    /// The last sign of life.
    pub heartbeat: String,
}

impl Claim {
    /// A lease as a claim.
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

/// The person in a HAID; whoever has none stands for themselves.
pub fn human(shown: &str) -> String {
    Haid::new(shown).map_or_else(|_| shown.to_owned(), |haid| haid.human().to_owned())
}

/// Seconds as minutes, begun ones counted.
pub fn minutes(secs: u64) -> u64 {
    secs.div_ceil(60)
}

/// Something in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// What was asked for.
    pub asked: String,
    /// What overlaps it.
    pub held: String,
    /// Who holds that.
    pub holder: String,
    /// The person in that.
    pub human: String,
    /// What for.
    pub task: String,
}

/// What the task of a claim that came through the server begins its door with.
const VIA: &str = "via heimdall-ledger-mcp:";

/// The door of a claim that came through the server.
pub fn via(haid: &str) -> String {
    format!("{VIA}{haid}")
}

/// A claim's task, with the door it came through if that was the server.
pub fn task_ref(task: Option<&str>, purpose: Option<&str>) -> String {
    let name = task.or(purpose).unwrap_or("?");
    match purpose {
        Some(door) if task.is_some() && door.starts_with(VIA) => format!("{name} ({door})"),
        _ => name.to_owned(),
    }
}

/// Claimed.
pub fn claimed(surfaces: &[String], haid: &str, task: &str, ttl_minutes: u64) -> String {
    let count = surfaces.len();
    let mut text =
        format!("claimed {count} surface(s) for {haid} (task {task}, ttl {ttl_minutes}m)\n");
    for surface in surfaces {
        let _ = writeln!(text, "  {surface}");
    }
    text
}

/// Not claimed.
pub fn collision(overlaps: &[Overlap]) -> String {
    let mut text = "COLLISION: cannot claim — surfaces overlap active claims:\n".to_owned();
    for Overlap { asked, held, holder, task, .. } in overlaps {
        let _ = writeln!(text, "  '{asked}' overlaps '{held}' held by {holder} (task {task})");
    }
    text + "resolve via the governance override flow or sequence the work; do NOT force.\n"
}

/// In the way, found by asking.
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

/// The list of claims.
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

/// One claim.
pub fn show(claim: &Claim) -> String {
    let Claim { haid, task_ref, ttl_minutes, heartbeat, claimed_surfaces, .. } = claim;
    let surfaces = claimed_surfaces.join(", ");
    // One line for one claim, whatever the task is called.
    let task_ref = task_ref.split_whitespace().collect::<Vec<&str>>().join(" ");
    format!("  {haid}\t{task_ref}\tttl:{ttl_minutes}m\thb:{heartbeat}\n    surfaces: {surfaces}\n")
}
