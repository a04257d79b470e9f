//! `althing release` and `althing renew`: what one does with leases one holds.

use althing_engine::{Client, Engine};
use althing_kernel::lease::{Force, Release as ReleaseArgs, Renew as RenewArgs};
use althing_kernel::query::{self, LeaseList, LeaseView};
use althing_kernel::text::Text;
use althing_kernel::{Command, LeaseId, Principal, Rule};

use super::leases::{lease_of, list, show_lease, text};
use crate::app::{App, Project};
use crate::cli::{Release, Renew};
use crate::error::Error;
use crate::naming::Naming;
use crate::settings::ttl_option;
use crate::surfaces;

pub(crate) fn release(app: &App, args: &Release) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    let command = if args.force { "lease.force" } else { "lease.release" };
    let choice = Choice { names: &args.leases, all: args.all, literal: args.literal, command };
    let Some((client, mut chosen)) = choice.make(app, &project, &engine, args.force)? else {
        return nothing(app);
    };
    if args.all {
        chosen.retain(|lease| args.epoch.is_none_or(|epoch| lease.epoch == epoch));
    }
    let reason: Text<1000> = text(args.reason.as_deref())?.unwrap_or_else(|| Text::lossy(""));
    let ended = |lease: &LeaseView| {
        let (holder, surfaces) = (&lease.holder, list(&lease.surfaces));
        app.out.line(if args.force {
            format!("{} ended the lease of {holder} on {surfaces}", client.principal())
        } else {
            format!("{holder} released {surfaces}")
        })
    };
    each(app, &client, &chosen, &ended, |lease| {
        if args.force {
            Command::LeaseForce(Force { lease, reason: reason.clone() })
        } else {
            Command::LeaseRelease(ReleaseArgs { epoch: args.epoch, lease })
        }
    })
}

pub(crate) fn renew(app: &App, args: &Renew) -> Result<(), Error> {
    let project = app.project()?;
    let ttl_s = args.ttl.as_deref().map(ttl_option).transpose()?;
    let engine = project.engine()?;
    let command = "lease.renew";
    let choice = Choice { names: &args.leases, all: args.all, literal: args.literal, command };
    let Some((client, chosen)) = choice.make(app, &project, &engine, false)? else {
        return nothing(app);
    };
    let now = engine.now();
    each(app, &client, &chosen, &|lease| show_lease(app, "holds", lease, now), |lease| {
        Command::LeaseRenew(RenewArgs { epoch: args.epoch, lease, ttl_s })
    })
}

fn nothing(app: &App) -> Result<(), Error> {
    if app.out.json {
        return app.out.value(&Vec::<LeaseView>::new());
    }
    app.out.note("nothing to do: no live lease");
    Ok(())
}

/// Issues a command for each of several leases and shows what became of them. If one fails, what
/// was done before stays done and was shown.
fn each(
    app: &App,
    client: &Client,
    leases: &[LeaseView],
    show: &dyn Fn(&LeaseView) -> Result<(), Error>,
    command: impl Fn(LeaseId) -> Command,
) -> Result<(), Error> {
    if leases.is_empty() {
        return nothing(app);
    }
    let mut done = Vec::new();
    for lease in leases {
        match client.execute(command(lease.lease.clone())) {
            Ok(reply) => {
                let lease = lease_of(reply)?;
                if !app.out.json {
                    show(&lease)?;
                }
                done.push(lease);
            }
            Err(error) => {
                let failure = Error::from(error);
                let mut details = failure.details().clone();
                details["done_before"] = serde_json::json!(done);
                return Err(failure.with(details));
            }
        }
    }
    if app.out.json { app.out.value(&done) } else { Ok(()) }
}

/// The prefix of lease ids.
const LEASE_PREFIX: &str = "lease_";

/// Which leases are meant.
struct Choice<'a> {
    names: &'a [String],
    all: bool,
    literal: bool,
    /// The command that is to be issued for each.
    command: &'static str,
}

impl Choice<'_> {
    /// The caller and the leases. Nobody gets a key for holding nothing.
    fn make(
        &self,
        app: &App,
        project: &Project,
        engine: &Engine,
        force: bool,
    ) -> Result<Option<(Client, Vec<LeaseView>)>, Error> {
        let asker = project.asker()?;
        if self.all && !force && is_unknown_agent(engine, asker.as_ref())? {
            return Ok(None);
        }
        let client = project.client(app, engine)?;
        let world = engine.world()?;
        let live = query::leases(&world.state, engine.moment(&world.state), &LeaseList::default());
        if self.all {
            let own = live.into_iter().filter(|lease| lease.holder == *client.principal());
            return Ok(Some((client.clone(), own.collect())));
        }
        let mut found: Vec<LeaseView> = Vec::new();
        for name in self.names {
            let whose = (!force).then(|| client.principal());
            let named = self.named(project, &live, name, whose);
            let named = named.map_err(|error| error.recorded(&client, self.command))?;
            for one in named {
                if !found.iter().any(|lease| lease.lease == one.lease) {
                    found.push(one.clone());
                }
            }
        }
        Ok(Some((client, found)))
    }

    /// The leases somebody means: one by its id or a unique part of it, or all that hold exactly
    /// this surface. Naming somebody else's lease by its id is for the kernel to refuse.
    fn named<'l>(
        &self,
        project: &Project,
        live: &'l [LeaseView],
        name: &str,
        whose: Option<&Principal>,
    ) -> Result<Vec<&'l LeaseView>, Error> {
        if name.is_empty() {
            return Err(Error::usage("the name of a lease is empty"));
        }
        if let Some(exact) = live.iter().find(|lease| lease.lease.as_str() == name) {
            return Ok(vec![exact]);
        }
        let own = |lease: &&LeaseView| whose.is_none_or(|whose| lease.holder == *whose);
        let wanted = surfaces::read(&project.place, &[name.to_owned()], self.literal);
        let held = |lease: &&LeaseView| {
            wanted.as_ref().is_ok_and(|w| w.as_slice().iter().all(|w| lease.surfaces.contains(w)))
        };
        let exact: Vec<_> = live.iter().filter(own).filter(held).collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        // Every id begins alike; that much alone names none.
        let is_part = !LEASE_PREFIX.starts_with(name);
        if is_part && let Some(id) = Naming::of(live.iter().map(|lease| &lease.lease)).find(name)? {
            return Ok(live.iter().filter(|lease| lease.lease.as_str() == id).collect());
        }
        let wanted = wanted?;
        let [wanted] = wanted.as_slice() else { return Ok(Vec::new()) };
        Err(not_held(live, wanted, name, whose))
    }
}

/// Whether an agent has neither been seen nor has a key here.
fn is_unknown_agent(engine: &Engine, asker: Option<&Principal>) -> Result<bool, Error> {
    let Some(Principal::Agent(name)) = asker else { return Ok(false) };
    Ok(engine.world()?.state.agent(name).is_none())
}

/// The failure for a surface without such a lease: it names the holder, or the lease it is part of.
fn not_held(
    live: &[LeaseView],
    wanted: &althing_kernel::Surface,
    name: &str,
    whose: Option<&Principal>,
) -> Error {
    let meets = |lease: &&LeaseView| lease.surfaces.iter().any(|own| own.meets(wanted));
    let met = live.iter().filter(meets).min_by_key(|lease| Some(&lease.holder) != whose);
    let Some(lease) = met else {
        let message = format!("nobody holds {name:?} now");
        return Error::not_found(message)
            .hint("It may have expired. `althing claims` lists the live leases.");
    };
    let (holder, surfaces, id) = (&lease.holder, list(&lease.surfaces), &lease.lease);
    let is_own = whose.is_none_or(|whose| whose == holder);
    let message = if is_own {
        format!("no lease is on exactly {name:?}; {holder} holds {surfaces} ({id})")
    } else {
        format!("you hold no lease on {name:?}; {holder} holds {surfaces} ({id})")
    };
    let failure = Error::not_found(message);
    if is_own {
        failure.hint("Name the lease by its id, or by a surface just as it was claimed.")
    } else {
        failure.with_rule(Rule::HolderOnly)
    }
}
