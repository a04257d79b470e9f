//! `read_claims`, `make_claim`, `release_claim`

use althing_dialects::frugal::claim::{self, Claim, Overlap, human, minutes};
use althing_dialects::frugal::haid::Haid;
use althing_engine::{Engine, EngineError};
use althing_kernel::lease::{Open, Release, Surfaces, Ttl};
use althing_kernel::query::{Answer, Collision, LeaseList, LeaseView, Query};
use althing_kernel::refusal::Details;
use althing_kernel::text::Text;
use althing_kernel::{Command, Principal, Refusal, RefusalKind, Surface};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Ledger, named, registered, shown};
use crate::context::ProjectContext;
use crate::error::Error;
use crate::project::Identity;

/// Arguments of `read_claims`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadClaims {
    #[serde(rename = "client_identity")]
    _client: Option<String>,
}

/// Arguments of `make_claim`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeClaim {
    #[schemars(length(min = 1))]
    surfaces: Vec<String>,
    task: String,
    #[schemars(range(min = 1))]
    ttl_minutes: Option<u64>,
    /// Give up your other claims in the same step.
    replace: Option<bool>,
    #[serde(rename = "client_identity")]
    _client: Option<String>,
}

/// Arguments of `release_claim`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseClaim {
    haid: Option<String>,
    #[serde(rename = "client_identity")]
    _client: Option<String>,
}

/// Lists every active claim.
pub fn read(context: &ProjectContext, _: &Identity, _: ReadClaims) -> Result<Value, Error> {
    let mut leases = match context.readable()? {
        Some(engine) => leases(&engine, None)?,
        None => Vec::new(),
    };
    leases.sort_by_key(|lease| lease.epoch);
    let claims: Vec<Claim> = leases.iter().map(Claim::of).collect();
    Ok(json!({ "count": claims.len(), "active_claims": claims }))
}

/// Claims surfaces: all of them or none.
pub fn make(
    ledger: &Ledger,
    context: &ProjectContext,
    who: &Identity,
    args: MakeClaim,
) -> Result<Value, Error> {
    let open = open(ledger, who, &args)?;
    let ttl = open.ttl_s.unwrap_or_default();
    match context.client()?.execute(Command::LeaseOpen(open)) {
        Ok(_) => {}
        Err(EngineError::Refused(refusal)) if refusal.kind == RefusalKind::Collision => {
            return Err(collided(&context.engine()?, *refusal));
        }
        Err(error) => return Err(error.into()),
    }
    let MakeClaim { surfaces, task, .. } = args;
    let result = claim::claimed(&surfaces, &who.shown, &task, minutes(ttl.secs()));
    Ok(json!({
        "result": result.trim_end(),
        "client_haid": who.shown,
        "task_ref": format!("{task} ({})", claim::via(&who.shown)),
        "surfaces": surfaces,
        "task": task,
    }))
}

/// Builds the command for a claim.
fn open(ledger: &Ledger, who: &Identity, args: &MakeClaim) -> Result<Open, Error> {
    let unusable = |error: &dyn std::fmt::Display| Error::usage(format!("make_claim: {error}"));
    let surfaces: Result<Vec<Surface>, _> =
        args.surfaces.iter().map(|surface| Surface::new(surface)).collect();
    let surfaces = Surfaces::new(surfaces.map_err(|error| unusable(&error))?);
    let ttl = match args.ttl_minutes {
        None => ledger.ttl,
        Some(minutes) => Ttl::new(i128::from(minutes) * 60).map_err(|error| unusable(&error))?,
    };
    Ok(Open {
        purpose: Some(Text::lossy(&claim::via(&who.shown))),
        replace: args.replace.unwrap_or_default(),
        request_id: None,
        reuse: None,
        surfaces: surfaces.map_err(|error| unusable(&error))?,
        task: Some(Text::new(&args.task).map_err(|error| unusable(&error))?),
        ttl_s: Some(ttl),
    })
}

/// Releases all claims of the caller.
pub fn release(
    context: &ProjectContext,
    who: &Identity,
    args: ReleaseClaim,
) -> Result<Value, Error> {
    let (whose, shown) = match args.haid {
        None => (who.agent.clone(), who.shown.clone()),
        // A HAID identifies its agent; any other name must be registered.
        Some(text) if Haid::new(&text).is_ok() => (named(&text)?, text),
        Some(text) => (registered(context, "lease.release", "haid", &text)?, text),
    };
    let client = context.client()?;
    let held = leases(&context.engine()?, Some(Principal::Agent(whose)))?;
    for lease in &held {
        client
            .execute(Command::LeaseRelease(Release { epoch: None, lease: lease.lease.clone() }))?;
    }
    let done = if held.is_empty() { "no active claim" } else { "released claim" };
    Ok(json!({ "result": format!("{done} for {shown}") }))
}

fn leases(engine: &Engine, holder: Option<Principal>) -> Result<Vec<LeaseView>, Error> {
    match engine.ask(&Query::LeaseList(LeaseList { holder, surfaces: None }))? {
        Answer::Leases(leases) => Ok(leases),
        other => Err(Error::unexpected(&other)),
    }
}

/// Words a collision as the ledger does.
fn collided(engine: &Engine, refusal: Refusal) -> Error {
    // The refusal does not name the tasks of the holders. If they cannot be read, `?` stands for them.
    let held = leases(engine, None).unwrap_or_default();
    let task = |collision: &Collision| {
        let lease = held.iter().find(|lease| lease.lease == collision.lease);
        lease.and_then(|lease| lease.task.clone()).unwrap_or_else(|| "?".to_owned())
    };
    let collisions = match &refusal.details {
        Details::Collisions(collisions) => collisions.as_slice(),
        _ => &[],
    };
    let overlap = |collision: &Collision| {
        let holder = shown(&collision.holder);
        Overlap {
            asked: collision.wanted.to_string(),
            held: collision.surface.to_string(),
            human: human(&holder),
            holder,
            task: task(collision),
        }
    };
    let overlaps: Vec<Overlap> = collisions.iter().map(overlap).collect();
    let text = claim::collision(&overlaps);
    Error::from(EngineError::from(refusal))
        .with_wording("heimdall-claim claim … exited 3", text.trim_end())
}
