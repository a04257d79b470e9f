//! Checking and claiming against few and many live leases, without a disk in the way.

use althing_engine::mint::RandomMint;
use althing_kernel::lease::{Open, Surfaces, Ttl};
use althing_kernel::project::Create;
use althing_kernel::query::{LeaseCheck, Query, answer};
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Caller, Command, Principal, ProjectId, PublicKey, State, Surface, Timestamp,
    Transaction,
};
use std::time::{Duration, Instant};

use super::stats::{Times, repeat};
use super::{Row, Setup, failed};
use crate::Error;

const LIVE: [u32; 3] = [10, 1_000, 100_000];

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let mut at_thousand: Option<(f64, f64, f64)> = None;
    for live in LIVE {
        let mut table = Table::with(live)?;
        let time = setup.time / 4;
        let mut path = table.checks(time, |n| format!("src/module{}/new.rs", n % 997))?;
        let mut glob = table.checks(time, |n| format!("src/module{}/new*.r?", n % 997))?;
        let mut claim = table.claims(time)?;
        let half = (path.percentile_us(0.5), glob.percentile_us(0.5), claim.percentile_us(0.5));
        let row = |what: &str, value, limit: Option<f64>| {
            let row = Row::new(format!("{what}, {live} live leases"), value, "µs");
            match limit {
                Some(limit) => row.beside("µs at 1,000", limit),
                None => row,
            }
        };
        rows.push(row("check a path", half.0, at_thousand.map(|known| known.0)));
        rows.push(row("check a glob", half.1, at_thousand.map(|known| known.1)));
        rows.push(row("decide and apply a claim", half.2, at_thousand.map(|known| known.2)));
        if live == 1_000 {
            at_thousand = Some(half);
        }
    }
    Ok(rows)
}

/// A state with many live leases of many holders.
struct Table {
    state: State,
    now: Timestamp,
    mint: RandomMint,
}

fn agent(number: u32) -> Result<Caller, Error> {
    let name = AgentName::new(&format!("agent{number}")).map_err(failed)?;
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    Ok(Caller { principal: Principal::Agent(name), key: PublicKey::from_bytes(key), session: None })
}

fn open(text: &str) -> Result<Command, Error> {
    let surfaces = Surfaces::new(vec![Surface::new(text).map_err(failed)?]).map_err(failed)?;
    let ttl_s = Some(Ttl::new(86_400).map_err(failed)?);
    Ok(Command::LeaseOpen(Open {
        purpose: None,
        replace: false,
        request_id: None,
        reuse: None,
        surfaces,
        task: None,
        ttl_s,
    }))
}

impl Table {
    fn with(live: u32) -> Result<Self, Error> {
        let now = Timestamp::from_micros(1_700_000_000_000_000);
        let mut table =
            Table { state: State::default(), now, mint: RandomMint::new().map_err(failed)? };
        let key = PublicKey::from_bytes([9; 32]);
        let system = Caller { principal: Principal::System, key, session: None };
        let project = ProjectId::new("bench").map_err(failed)?;
        table.run(
            &system,
            &Command::ProjectCreate(Create { name: Text::lossy("bench"), project }),
        )?;
        for n in 0..live {
            // Files in a thousand folders, and now and then a whole folder or a glob.
            let surface = match n % 10 {
                0 => format!("docs/chapter{n}/**"),
                1 => format!("tests/suite{n}/*.rs"),
                _ => format!("src/module{}/file{n}.rs", n % 997),
            };
            table.run(&agent(n % 200)?, &open(&surface)?)?;
        }
        Ok(table)
    }

    fn run(&mut self, caller: &Caller, command: &Command) -> Result<(), Error> {
        let mut turn = Transaction::begin(self.state.clone(), self.now, &mut self.mint);
        let outcome = turn.decide(caller, command).map_err(failed)?;
        outcome.result.map_err(|refusal| failed(refusal.message))?;
        self.state = turn.finish().0;
        Ok(())
    }

    fn checks(&self, time: Duration, surface: impl Fn(u32) -> String) -> Result<Times, Error> {
        let holder = Some(agent(201)?.principal);
        let mut number = 0;
        repeat_batches(time, || {
            number += 1;
            let surface = Surface::new(&surface(number)).map_err(failed)?;
            let surfaces = Surfaces::new(vec![surface]).map_err(failed)?;
            let query =
                Query::LeaseCheck(LeaseCheck { holder: holder.clone(), epoch: None, surfaces });
            std::hint::black_box(answer(&self.state, self.now, &query));
            Ok(())
        })
    }

    fn claims(&mut self, time: Duration) -> Result<Times, Error> {
        let caller = agent(0)?;
        let mut number = 0;
        let (state, now) = (&self.state, self.now);
        let mint = &mut self.mint;
        repeat_batches(time, || {
            number += 1;
            let command = open(&format!("src/module{}/new{number}.rs", number % 997))?;
            let mut turn = Transaction::begin(state.clone(), now, &mut *mint);
            let outcome = turn.decide(&caller, &command).map_err(failed)?;
            std::hint::black_box(&outcome);
            Ok(())
        })
    }
}

/// Times batches of a hundred, because one alone is too short for the clock.
fn repeat_batches(
    time: Duration,
    mut run: impl FnMut() -> Result<(), Error>,
) -> Result<Times, Error> {
    let mut times = Times::default();
    repeat(time, || {
        let start = Instant::now();
        for _ in 0..100 {
            run()?;
        }
        times.add(start.elapsed() / 100);
        Ok::<(), Error>(())
    })?;
    Ok(times)
}
