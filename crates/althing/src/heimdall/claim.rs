//! `heimdall-claim`: who works on what.

use althing_dialects::frugal::claim::{self, Claim, Overlap};
use althing_dialects::frugal::haid::Haid;
use althing_engine::{Client, EngineError};
use althing_kernel::agent::Beat;
use althing_kernel::lease::{Force, Open, Release, Renew, Surfaces, Ttl};
use althing_kernel::query::{Answer, Collision, LeaseCheck, LeaseView, Query};
use althing_kernel::refusal::Details;
use althing_kernel::text::Text;
use althing_kernel::{Command, Principal, RefusalKind, Reply, Rule, Surface};
use std::collections::BTreeSet;

use super::args::{Args, unexpected, unknown};
use super::{Stop, context, context_with, haid, order, order_as};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::haid::{agent_name, own_haid};
use crate::typed::text;

pub(super) const HELP: &str = "\
heimdall-claim: who works on what

  heimdall-claim claim <surface>... --task <ref> [--ttl minutes] [--replace] [--haid H] [--]
  heimdall-claim check <surface>... [--haid H]
  heimdall-claim release [--haid H] [--override --reason TEXT [--passphrase-stdin]]
  heimdall-claim heartbeat [--haid H]
  heimdall-claim list [--json]
  heimdall-claim show [--haid H] [--json]
  heimdall-claim reap

A surface is a path, a glob or path#symbol, from the project's root. Claiming again adds to what is
held; --replace gives up the rest in the same step. Only its holder releases a claim; an override
takes a person (ALTHING_USER) or the coordinator, and is on record with its reason.
Exit codes: 0 done, 1 refused, 2 wrong usage, 3 somebody else holds it.
";

const COLLISION: u8 = 3;

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    let Some(verb) = first.as_deref() else { return Err(unknown(None)) };
    if !matches!(verb, "claim" | "check" | "release" | "heartbeat" | "list" | "show" | "reap") {
        return Err(unknown(first));
    }
    let given = Given::read(&mut args, verb)?;
    match verb {
        "claim" => claim(&given),
        "check" => check(&given),
        "release" => release(&given),
        "heartbeat" => heartbeat(&given),
        "show" => show(&given),
        "list" => {
            let claims = claims(&context()?, None)?;
            if given.has("--json") {
                return Ok(format!("{}\n", json_of(&claims)));
            }
            Ok(claim::list(&claims))
        }
        _ => reap(),
    }
}

/// Records claims that expired. They ended by themselves; this makes a commit if there is one to
/// record.
fn reap() -> Result<String, Stop> {
    let context = context()?;
    let engine = context.engine()?;
    let (now, world) = (engine.now(), engine.world().map_err(Error::from)?);
    let over = world.state.leases().filter(|(_, lease)| lease.expires_at <= now).count();
    if over > 0 {
        order(&context, Command::AgentHeartbeat(Beat::default()))?;
    }
    let left = claims(&context, None)?.len();
    Ok(format!("reaped {over} expired claim(s); {left} active claim(s) remain\n"))
}

#[derive(Default)]
struct Given {
    surfaces: Vec<String>,
    task: Option<String>,
    ttl_minutes: Option<u64>,
    haid: Option<Haid>,
    reason: Option<String>,
    switches: BTreeSet<String>,
}

impl Given {
    fn has(&self, switch: &str) -> bool {
        self.switches.contains(switch)
    }

    /// The requested surfaces.
    fn surfaces(&self) -> Result<Surfaces, Stop> {
        let read = |text: &String| {
            let unusable = |error| Error::misuse(Rule::SurfaceGrammar, format!("{error}"));
            Surface::new(text).map_err(unusable)
        };
        let list = self.surfaces.iter().map(read).collect::<Result<_, Error>>()?;
        Ok(Surfaces::new(list).map_err(Error::unreadable)?)
    }

    fn read(args: &mut Args, verb: &str) -> Result<Self, Stop> {
        let mut given = Given::default();
        let takes_surfaces = matches!(verb, "claim" | "check");
        while let Some(arg) = args.next() {
            match (arg.as_str(), verb) {
                ("--", _) if takes_surfaces => given.surfaces.extend(args.rest()),
                ("--task", "claim") => given.task = Some(value(args, &arg)?),
                ("--ttl", "claim") => given.ttl_minutes = Some(minutes(&value(args, &arg)?)?),
                ("--replace", "claim")
                | ("--override" | "--passphrase-stdin", "release")
                | ("--json", "list" | "show") => _ = given.switches.insert(arg),
                ("--reason", "release") => given.reason = Some(value(args, &arg)?),
                ("--haid", verb) if !matches!(verb, "list" | "reap") => {
                    given.haid = Some(haid::parse(&value(args, &arg)?)?);
                }
                (flag, _) if flag.starts_with("--") || !takes_surfaces => {
                    return Err(unexpected(flag));
                }
                _ => given.surfaces.push(arg),
            }
        }
        if takes_surfaces && given.surfaces.is_empty() {
            return Err(Stop::usage(format!("{verb} needs at least one <surface>")));
        }
        Ok(given)
    }
}

/// The value of a flag. One without is wrong usage here.
fn value(args: &mut Args, flag: &str) -> Result<String, Stop> {
    args.value(flag).map_err(|stop| Stop { code: 2, ..stop })
}

fn minutes(text: &str) -> Result<u64, Stop> {
    let number = text.parse::<u64>().ok().filter(|minutes| *minutes > 0);
    number.ok_or_else(|| Stop::error(2, "--ttl must be a positive number of minutes"))
}

/// The caller, and the name shown for it.
struct Who {
    principal: Principal,
    shown: String,
    haid: Option<Haid>,
}

impl Who {
    /// Whose claims are meant. A HAID stands for itself and for whom it started.
    fn of(context: &CommandContext<'_>, given: Option<&Haid>) -> Result<Self, Stop> {
        let principal = match (given, context.project.asker()?) {
            (Some(haid), _) => Principal::Agent(agent_name(haid)?),
            (None, Some(asker)) => asker,
            (None, None) => Principal::Agent(agent_name(&own_haid(context.project.root())?)?),
        };
        let (shown, haid) = named(&principal.to_string());
        Ok(Who { principal, shown, haid })
    }

    /// The client of a command, if whoever sits here may issue it: as their own HAID, as one started
    /// from it, or as the name that is set.
    fn client(&self, context: &CommandContext<'_>) -> Result<Client, Stop> {
        let own = own_haid(context.project.root())?;
        let set = context.project.asker()?;
        match (&self.haid, &set) {
            (_, Some(set)) if *set == self.principal => Ok(context.client()?),
            // ALTHING_AGENT and ALTHING_USER fix the caller's identity.
            (_, Some(set)) => {
                let (set, _) = named(&set.to_string());
                let message = format!("you are {set}, and not {}", self.shown);
                Err(Error::refused(Rule::WhoAreYou, message).into())
            }
            (Some(haid), None) if haid.root() == own.as_str() => Ok(context.client_of(haid)?),
            (_, None) => {
                let message = format!(
                    "you are {own}, and not {}; ALTHING_AGENT says who you are to be",
                    self.shown
                );
                Err(Error::refused(Rule::WhoAreYou, message).into())
            }
        }
    }
}

/// The client of a HAID, under the same rule.
pub(super) fn client_of(context: &CommandContext<'_>, haid: &Haid) -> Result<Client, Stop> {
    Who::of(context, Some(haid))?.client(context)
}

/// The name of a holder as it is shown here: its HAID, if it has one.
fn named(principal: &str) -> (String, Option<Haid>) {
    let haid = principal.strip_prefix("agent:").and_then(Haid::of_agent);
    let bare = principal.strip_prefix("agent:").unwrap_or(principal);
    (haid.as_ref().map_or_else(|| bare.to_owned(), Haid::to_string), haid)
}

fn claim(given: &Given) -> Result<String, Stop> {
    let task = given.task.as_deref().filter(|task| !task.is_empty());
    let task = task.ok_or_else(|| Stop::usage("claim needs --task <ref>"))?;
    let surfaces = given.surfaces()?;
    let context = context()?;
    let ttl_s = match given.ttl_minutes {
        Some(minutes) => minutes.saturating_mul(60),
        None => context.project.settings.lease_ttl.value.secs(),
    };
    let who = Who::of(&context, given.haid.as_ref())?;
    let open = Open {
        purpose: None,
        replace: given.has("--replace"),
        request_id: None,
        reuse: None,
        surfaces,
        task: Some(Text::new(task).map_err(Error::unreadable)?),
        ttl_s: Some(Ttl::new(ttl_s.into()).map_err(Error::unreadable)?),
    };
    let client = who.client(&context)?;
    match order_as(&context, &client, Command::LeaseOpen(open)) {
        Ok(Reply::Lease(lease)) => {
            let held: Vec<String> = lease.surfaces.iter().map(ToString::to_string).collect();
            Ok(claim::claimed(&held, &who.shown, task, claim::minutes(ttl_s)))
        }
        Ok(other) => Err(Error::unexpected(&other).into()),
        Err(EngineError::Refused(refusal)) if refusal.kind == RefusalKind::Collision => {
            let collisions = match &refusal.details {
                Details::Collisions(collisions) => collisions.as_slice(),
                _ => &[],
            };
            let err = claim::collision(&overlaps(&context, collisions)?);
            Err(Stop { err, code: COLLISION, ..Stop::default() })
        }
        Err(error) => Err(refused(&who, error.into())),
    }
}

/// A revoked HAID is told so in the words of this dialect.
fn refused(who: &Who, failure: Error) -> Stop {
    if failure.rule() == Rule::AgentRevoked {
        // It may be the one it was started by that is revoked.
        let root = who.haid.as_ref().filter(|haid| haid.role().is_some()).map(Haid::root);
        if let Some(root) = root.filter(|_| failure.message().contains("was started by")) {
            return Stop::error(1, format!("HAID is revoked: {root}, which {} is of", who.shown));
        }
        return Stop::error(1, format!("HAID is revoked: {}", who.shown));
    }
    failure.into()
}

/// The collisions of a refusal, with the tasks they belong to.
fn overlaps(context: &CommandContext<'_>, collisions: &[Collision]) -> Result<Vec<Overlap>, Stop> {
    let leases = context.leases(None)?;
    let of = |collision: &Collision| {
        let (holder, haid) = named(&collision.holder.to_string());
        let lease = leases.iter().find(|lease| lease.lease == collision.lease);
        let task = lease.and_then(|lease| lease.task.clone()).unwrap_or_else(|| "?".to_owned());
        let human = haid.map_or_else(|| holder.clone(), |haid| haid.human().to_owned());
        let (asked, held) = (collision.wanted.to_string(), collision.surface.to_string());
        Overlap { asked, held, holder, human, task }
    };
    Ok(collisions.iter().map(of).collect())
}

fn check(given: &Given) -> Result<String, Stop> {
    let context = context()?;
    let who = Who::of(&context, given.haid.as_ref())?;
    let (holder, surfaces) = (Some(who.principal), given.surfaces()?);
    let asked = Query::LeaseCheck(LeaseCheck { holder, epoch: None, surfaces });
    let found = match context.request.look_up(&asked)? {
        Some(Answer::Check(found)) => found.collisions,
        Some(other) => return Err(Error::unexpected(&other).into()),
        None => Vec::new(),
    };
    let overlaps = overlaps(&context, &found)?;
    if overlaps.is_empty() {
        return Ok("clear: no requested surface overlaps an active claim of another agent\n".into());
    }
    let err = claim::in_the_way(&overlaps);
    Err(Stop { err, code: COLLISION, ..Stop::default() })
}

/// The live leases, or those of one holder.
fn leases(context: &CommandContext<'_>, of: Option<&Who>) -> Result<Vec<LeaseView>, Stop> {
    Ok(context.leases(of.map(|who| who.principal.clone()))?)
}

fn release(given: &Given) -> Result<String, Stop> {
    let context = context_with(given.has("--passphrase-stdin"))?;
    let who = Who::of(&context, given.haid.as_ref())?;
    let held = leases(&context, Some(&who))?;
    if held.is_empty() {
        return Ok(format!("no active claim for {}\n", who.shown));
    }
    if given.has("--override") {
        let reason = given.reason.as_deref().filter(|reason| !reason.is_empty());
        let reason = reason.ok_or_else(|| Stop::usage("--override needs --reason TEXT"))?;
        let client = context.client()?;
        for lease in &held {
            let force = Force { lease: lease.lease.clone(), reason: text(reason)? };
            order_as(&context, &client, Command::LeaseForce(force)).map_err(Error::from)?;
        }
        return Ok(format!("released claim for {}\n", who.shown));
    }
    let client = who.client(&context).map_err(|stop| Stop {
        err: stop.err
            + "only its holder releases a claim; a person may: --override --reason TEXT\n",
        ..stop
    })?;
    for lease in &held {
        let release = Release { epoch: None, lease: lease.lease.clone() };
        order_as(&context, &client, Command::LeaseRelease(release)).map_err(Error::from)?;
    }
    Ok(format!("released claim for {}\n", who.shown))
}

fn heartbeat(given: &Given) -> Result<String, Stop> {
    let context = context()?;
    let who = Who::of(&context, given.haid.as_ref())?;
    let held = leases(&context, Some(&who))?;
    if held.is_empty() {
        let message = format!("no active claim for {}", who.shown);
        return Err(Stop::refused(2, Error::not_found(message)));
    }
    let client = who.client(&context)?;
    for lease in &held {
        let renew = Renew { epoch: None, lease: lease.lease.clone(), ttl_s: None };
        let renewed = order_as(&context, &client, Command::LeaseRenew(renew));
        renewed.map_err(|error| refused(&who, error.into()))?;
    }
    Ok(format!("heartbeat bumped for {}\n", who.shown))
}

fn claims(context: &CommandContext<'_>, of: Option<&Who>) -> Result<Vec<Claim>, Stop> {
    Ok(leases(context, of)?.iter().map(Claim::of).collect())
}

fn show(given: &Given) -> Result<String, Stop> {
    let context = context()?;
    let who = Who::of(&context, given.haid.as_ref())?;
    let claims = claims(&context, Some(&who))?;
    if given.has("--json") {
        return Ok(format!("{}\n", json_of(&claims)));
    }
    if claims.is_empty() {
        return Ok(format!("no active claim for {}\n", who.shown));
    }
    Ok(claims.iter().map(claim::show).collect())
}

fn json_of(claims: &[Claim]) -> String {
    serde_json::to_string_pretty(claims).unwrap_or_default()
}
