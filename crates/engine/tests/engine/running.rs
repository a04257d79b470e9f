//! Commands, queries and subscriptions on a running engine.

use crate::support::{Project, agent, claim, lease_of, release};
use althing_engine::{EngineError, verify};
use althing_kernel::query::{Answer, LeaseList, Query};
use althing_kernel::{RefusalKind, Span};
use althing_trail::verify::Options;
use std::collections::BTreeSet;
use std::time::Duration;

fn leases(engine: &althing_engine::Engine) -> usize {
    match engine.ask(&Query::LeaseList(LeaseList::default())).unwrap() {
        Answer::Leases(leases) => leases.len(),
        other => panic!("{other:?}"),
    }
}

fn assert_sound(project: &Project) -> verify::Report {
    let mut log = project.open().reader().unwrap();
    let options = Options { every_signature: true, ..Options::default() };
    match verify::verify(&project.home, &mut *log, options, &mut |_, _| {}).unwrap() {
        verify::Verdict::Sound(report) => report,
        other => panic!("{other:?}"),
    }
}

/// Shows W-TRAIL-03, W-TRAIL-41.
#[test]
fn an_answer_is_durable_when_it_comes() {
    let project = Project::new();
    let engine = project.open();
    let lease = lease_of(agent(&engine, "alice").execute(claim("src")).unwrap());
    // Another process that opens the project now finds it.
    assert_eq!(leases(&project.open()), 1);
    agent(&project.open(), "alice").execute(release(&lease)).unwrap();
    assert_eq!(leases(&engine), 0, "and the first sees what the other did");
    let report = assert_sound(&project);
    assert_eq!(report.trail.caller_signatures, 2);
    assert!(report.witness);
}

#[test]
fn many_callers_share_commits_and_each_gets_its_own_answer() {
    let project = Project::new();
    let engine = project.open();
    let granted: Vec<_> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..32)
            .map(|n| {
                let client = agent(&engine, &format!("agent{n}"));
                scope.spawn(move || {
                    (0..10)
                        .map(|m| lease_of(client.execute(claim(&format!("{n}/{m}"))).unwrap()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let epochs: BTreeSet<_> = granted.iter().map(|lease| lease.epoch).collect();
    assert_eq!(epochs.len(), 320, "every grant has its own epoch");
    assert_eq!(leases(&engine), 320);
    let commits = engine.reader().unwrap().tail(0, usize::MAX).unwrap().len();
    assert!(commits < 320, "{commits} commits for 320 commands");
    drop(engine);
    assert_sound(&project);
}

#[test]
fn engines_of_one_project_never_grant_overlapping_leases() {
    let project = Project::new();
    let wins: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..6)
            .map(|n| {
                let project = &project;
                scope.spawn(move || {
                    let client = agent(&project.open(), &format!("agent{n}"));
                    let won = |m: usize| match client.execute(claim(&format!("f{m}/**"))) {
                        Ok(_) => true,
                        Err(EngineError::Refused(no)) if no.kind == RefusalKind::Collision => false,
                        Err(other) => panic!("{other}"),
                    };
                    (0..20).filter(|m| won(*m)).count()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    });
    assert_eq!(wins, 20, "each surface has exactly one winner");
    let report = assert_sound(&project);
    assert_eq!(report.trail.caller_signatures, 120, "and every loser is on record");
}

/// Shows W-HH-01, W-TRAIL-34.
#[test]
fn a_subscription_misses_nothing_and_resumes() {
    let project = Project::new();
    let engine = project.open();
    let mut live = engine.subscribe(0).unwrap();
    let other = project.open();
    let mut seen = Vec::new();
    let mut drain = |subscription: &mut althing_engine::Subscription| loop {
        let commits = subscription.next(Duration::from_millis(60)).unwrap();
        if commits.is_empty() {
            return subscription.position();
        }
        for commit in commits {
            seen.extend(commit.first..=commit.last);
        }
    };
    for n in 0..5 {
        agent(&engine, "alice").execute(claim(&format!("a/{n}"))).unwrap();
        drain(&mut live);
        agent(&other, "bob").execute(claim(&format!("b/{n}"))).unwrap();
    }
    let position = drain(&mut live);
    agent(&other, "bob").execute(claim("late")).unwrap();
    let mut resumed = project.open().subscribe(position).unwrap();
    let last = drain(&mut resumed);
    assert_eq!(seen, (1..=last).collect::<Vec<_>>());
    assert_eq!(last, engine.world().unwrap().seq());
}

#[test]
fn a_subscription_wakes_at_once_for_this_process() {
    let project = Project::new();
    let engine = project.open();
    let mut live = engine.subscribe(engine.world().unwrap().seq()).unwrap();
    let waiting = std::thread::spawn(move || live.next(Duration::from_secs(20)).unwrap().len());
    std::thread::sleep(Duration::from_millis(20));
    agent(&engine, "alice").execute(claim("a")).unwrap();
    assert_eq!(waiting.join().unwrap(), 1);
}

#[test]
fn due_deadlines_are_recorded_with_the_next_command() {
    let project = Project::new();
    let engine = project.open();
    for n in 0..10_000 {
        let done = Box::new(|answer: althing_engine::queue::Answer| assert!(answer.is_ok()));
        let name = format!("agent{}", n / 900);
        agent(&engine, &name).submit(claim(&format!("f{n}")), done).unwrap();
    }
    agent(&engine, "alice").execute(claim("last")).unwrap();
    assert_eq!(leases(&engine), 10_001);
    project.clock.pass(Span::from_secs(601));
    assert_eq!(leases(&engine), 0, "reads leave lapsed leases out");
    agent(&engine, "bob").execute(claim("f7")).unwrap();
    assert_eq!(leases(&engine), 1);
    let state = &engine.world().unwrap().state;
    assert_eq!(state.leases().count(), 1, "ten thousand expiries are on record");
    drop(engine);
    assert_sound(&project);
}

#[test]
fn readers_do_not_wait_for_a_writer_that_holds_the_store() {
    let project = Project::new();
    let engine = project.open();
    agent(&engine, "alice").execute(claim("a")).unwrap();
    let mut blocker = althing_trail::log::sqlite::SqliteLog::open(project.home.store()).unwrap();
    althing_trail::Log::hold(&mut blocker).unwrap();
    assert_eq!(leases(&engine), 1);
    assert_eq!(leases(&project.open()), 1);
}

#[test]
fn a_command_that_waits_too_long_is_withdrawn_for_certain() {
    let project = Project::new();
    let impatient =
        althing_engine::Options { patience: Duration::from_millis(100), ..project.options() };
    let engine = althing_engine::Engine::open(&project.home, impatient).unwrap();
    let mut blocker = althing_trail::log::sqlite::SqliteLog::open(project.home.store()).unwrap();
    althing_trail::Log::hold(&mut blocker).unwrap();
    let error = agent(&engine, "alice").execute(claim("a")).unwrap_err();
    assert!(matches!(error, EngineError::TimedOut(_)), "{error}");
    althing_trail::Log::release(&mut blocker);
    agent(&engine, "bob").execute(claim("a")).expect("alice's claim was never carried out");
}
