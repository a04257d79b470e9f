//! Invariants that hold after any sequence of commands.

use crate::support::{World, agent, system, user};
use althing_kernel::{Caller, Command, LeaseId, State, Timestamp};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Claim { who: usize, surface: usize, ttl: u64 },
    Renew { who: usize, lease: prop::sample::Index, epoch_off: u64 },
    Release { who: usize, lease: prop::sample::Index },
    Force { who: usize, lease: prop::sample::Index },
    Close { who: usize },
    Pass { secs: u64 },
    ClockBack { secs: u64 },
}

const SURFACES: &[&str] = &[
    "src",
    "src/a.rs",
    "src/*.rs",
    "src/**",
    "**/a.rs",
    "docs",
    "docs/{a,b}.md",
    "docs/a.md",
    "src/a.rs#f",
    "src/a.rs#g",
    "Cargo.toml",
    "*",
    ".",
];

fn callers() -> [Caller; 5] {
    [agent("alice"), agent("bob"), agent("carol"), user("ada"), system()]
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..5usize;
    let lease = any::<prop::sample::Index>;
    prop_oneof![
        6 => (who.clone(), 0..SURFACES.len(), 1..40u64)
            .prop_map(|(who, surface, ttl)| Step::Claim { who, surface, ttl }),
        2 => (who.clone(), lease(), 0..3u64)
            .prop_map(|(who, lease, epoch_off)| Step::Renew { who, lease, epoch_off }),
        2 => (who.clone(), lease()).prop_map(|(who, lease)| Step::Release { who, lease }),
        1 => (who.clone(), lease()).prop_map(|(who, lease)| Step::Force { who, lease }),
        1 => who.prop_map(|who| Step::Close { who }),
        3 => (0..30u64).prop_map(|secs| Step::Pass { secs }),
        1 => (0..30u64).prop_map(|secs| Step::ClockBack { secs }),
    ]
}

fn take(world: &mut World, known: &mut Vec<(LeaseId, u64)>, step: &Step) {
    let callers = callers();
    let pick = |index: &prop::sample::Index| {
        (!known.is_empty()).then(|| known[index.index(known.len())].clone())
    };
    match step {
        Step::Claim { who, surface, ttl } => {
            if let Ok(lease) = world.claim(&callers[*who], &[SURFACES[*surface]], *ttl) {
                known.push((lease.lease, lease.epoch));
            }
        }
        Step::Renew { who, lease, epoch_off } => {
            if let Some((lease, epoch)) = pick(lease) {
                let args = format!(r#"{{"lease":"{lease}","epoch":{}}}"#, epoch + epoch_off);
                let renewed = world.run(&callers[*who], "lease.renew", &args);
                assert!(*epoch_off == 0 || renewed.is_err(), "a wrong epoch renews nothing");
            }
        }
        Step::Release { who, lease } => {
            if let Some((lease, _)) = pick(lease) {
                let args = format!(r#"{{"lease":"{lease}"}}"#);
                let _ = world.run(&callers[*who], "lease.release", &args);
            }
        }
        Step::Force { who, lease } => {
            if let Some((lease, _)) = pick(lease) {
                let args = format!(r#"{{"lease":"{lease}","reason":"r"}}"#);
                let forced = world.run(&callers[*who], "lease.force", &args);
                assert!(*who >= 3 || forced.is_err(), "agents force nothing");
            }
        }
        Step::Close { who } => {
            let close = Command::read("session.close", "{}").unwrap().unwrap();
            let _ = world.run_command(&callers[*who], &close);
        }
        Step::Pass { secs } => world.pass(*secs),
        Step::ClockBack { secs } => {
            let back = world.now.micros().saturating_sub(secs * 1_000_000);
            world.now = Timestamp::from_micros(back);
        }
    }
}

fn no_two_holders_overlap(state: &State) {
    let live: Vec<_> =
        state.leases().map(|(_, l)| l).filter(|l| l.is_live(state.clock())).collect();
    for (n, a) in live.iter().enumerate() {
        for b in &live[n + 1..] {
            let overlap = a.surfaces.as_slice().iter().find_map(|own| {
                b.surfaces.as_slice().iter().find_map(|other| own.common_path(other))
            });
            assert!(a.holder == b.holder || overlap.is_none(), "{a:?} and {b:?} at {overlap:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Shows W-CLK-02, W-CLK-04, W-CONC-04, W-REC-01, W-TRAIL-08, W-TRAIL-10.
    #[test]
    fn invariants_hold_after_every_step(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::new();
        let mut known = Vec::new();
        let mut epoch = 0;
        for step in &steps {
            let seen = world.entries.len();
            take(&mut world, &mut known, step);
            no_two_holders_overlap(&world.state);
            prop_assert!(world.state.epoch() >= epoch, "epochs only grow");
            epoch = world.state.epoch();
            for pair in world.entries[seen.saturating_sub(1)..].windows(2) {
                prop_assert!(pair[0].at < pair[1].at && pair[0].id < pair[1].id);
            }
        }
        let epochs: Vec<u64> = known.iter().map(|(_, epoch)| *epoch).collect();
        prop_assert!(epochs.windows(2).all(|pair| pair[0] < pair[1]), "no epoch is given twice");

        world.is_sound();
    }

    #[test]
    fn an_entry_out_of_place_is_refused_not_swallowed(
        steps in prop::collection::vec(step(), 1..40),
        drop in any::<prop::sample::Index>(),
    ) {
        let mut world = World::new();
        let mut known = Vec::new();
        for step in &steps {
            take(&mut world, &mut known, step);
        }
        // Applying any entry twice must fail: the clock alone forbids it.
        let again = &world.entries[drop.index(world.entries.len())];
        let mut state = world.state.clone();
        prop_assert!(state.apply(again).is_err());
    }
}
