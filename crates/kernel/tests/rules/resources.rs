//! Resource use of workspaces, their budgets, and enforcement.

use crate::run::{Run, blob, payload};
use crate::support::{Around, agent, user};
use althing_kernel::signal::SignalType;
use althing_kernel::workspace::budget::Dimension;
use althing_kernel::workspace::{Status, Trigger};
use althing_kernel::{Event, Kind, Reply, Span, WorkspaceId};
use serde_json::{Value, json};

/// A run in which a blob is as large as the number it is made from.
fn weighed() -> Run {
    let mut run = Run::new();
    run.world.around = Around { bytes: 1, disk_free: None };
    run
}

/// Checks that every entry passes the audit and replays to the same state.
#[track_caller]
pub(crate) fn holds(run: &Run) {
    run.world.is_sound();
}

fn limited(run: &mut Run, budget: &Value) -> WorkspaceId {
    run.in_state(Status::Active, json!({ "agent": "w1", "budget": budget }))
}

pub(crate) fn report(run: &mut Run, id: &WorkspaceId, tokens: u64) -> Status {
    let args = json!({ "workspace": id, "tokens": tokens });
    match run.ok(&Run::lead(), "meter.report", args) {
        Reply::Meter(meter) => meter.status,
        other => panic!("{other:?}"),
    }
}

/// The answer to a query about one meter.
fn meter(run: &Run, id: &WorkspaceId) -> Value {
    let all = run.world.ask("meter.get", &json!({ "workspace": id }).to_string());
    all["workspaces"][0].clone()
}

/// The warnings and ends of a workspace's budget so far: what about, and how much was used.
fn notices_of(run: &Run, id: &WorkspaceId) -> Vec<(&'static str, Dimension, u64)> {
    let of = |event: &Event| match event {
        Event::BudgetWarning(body) if body.workspace_id == *id => {
            Some(("warned", body.budget_dimension, body.consumed.get()))
        }
        Event::BudgetExceeded(body) if body.workspace_id == *id => {
            Some(("over", body.budget_dimension, body.consumed.get()))
        }
        _ => None,
    };
    run.world.entries.iter().filter_map(|entry| of(&entry.draft.event)).collect()
}

/// Uses a lot of one thing in one step, and returns the kind of entry that step leads to.
fn use_a_lot(run: &mut Run, id: &WorkspaceId, dimension: Dimension) -> Kind {
    let (w1, root) = (agent("w1"), run.root.clone());
    match dimension {
        Dimension::TokenLimit => {
            report(run, id, 200);
            Kind::MeterReported
        }
        Dimension::CostLimit => {
            run.ok(&w1, "meter.report", json!({ "cost": 200 }));
            Kind::MeterReported
        }
        Dimension::ContextLimit => {
            run.ok(&w1, "workspace.write", json!({ "path": "a", "content": blob(200) }));
            Kind::WorkspaceWritten
        }
        Dimension::CheckpointLimit => {
            let files = json!([{ "path": "a", "content": blob(90) }]);
            let args = json!({ "type": "artifact", "status": "final", "intent": "i",
                "files_changed": files, "content": blob(50),
                "artifacts": [{ "name": "n", "content": blob(60) }] });
            run.ok(&w1, "checkpoint.create", args);
            Kind::CheckpointCreated
        }
        Dimension::BandwidthLimit => {
            let args = json!({ "to": root, "type": "query", "payload": payload(199) });
            run.ok(&w1, "envelope.send", args);
            Kind::EnvelopeCreated
        }
        Dimension::TrailLimit => {
            let reason = "r".repeat(900);
            run.ok(&w1, "signal.emit", json!({ "type": "started", "reason": reason }));
            Kind::SignalEmitted
        }
        Dimension::ComputeTimeout => {
            run.world.pass(200);
            run.world.tick();
            Kind::BudgetWarning
        }
    }
}

/// Shows W-RES-02, W-RES-04, W-RES-05.
#[test]
fn each_limit_ends_a_workspace_by_itself_once_the_step_that_reached_it_is_taken() {
    for dimension in Dimension::ALL {
        let mut run = weighed();
        let unlimited = limited(&mut run, &json!({}));
        use_a_lot(&mut run, &unlimited, *dimension);
        assert_eq!(run.status(&unlimited), Status::Active, "{dimension} is not limited here");
        run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": unlimited }));

        let limit = match dimension {
            Dimension::ComputeTimeout => 150_000_000,
            // Room for its creation, but not for another long entry.
            Dimension::TrailLimit => 11_000,
            _ => 150,
        };
        let id = limited(&mut run, &json!({ dimension.as_str(): limit }));
        let before = run.count();
        let act = use_a_lot(&mut run, &id, *dimension);
        let mut steps = 1;
        while run.status(&id) == Status::Active && *dimension == Dimension::TrailLimit {
            use_a_lot(&mut run, &id, *dimension);
            steps += 1;
            assert!(steps < 20, "its local trail grows without end");
        }
        assert_eq!(run.status(&id), Status::Failed, "{dimension}");
        assert_eq!(run.view(&id).ended, Some(Trigger::BudgetExceeded));
        assert_eq!(run.view(&id).reason.as_deref(), Some(dimension.as_str()), "it says which");
        let notices_of = notices_of(&run, &id);
        let order: Vec<_> = notices_of.iter().map(|(what, about, _)| (*what, *about)).collect();
        assert_eq!(order, [("warned", *dimension), ("over", *dimension)], "and nothing else");
        assert!(notices_of[1].2 >= limit, "{notices_of:?}");

        let kinds = run.kinds_since(before);
        let at = |kind: Kind| kinds.iter().position(|own| *own == kind).unwrap();
        let order = [act, Kind::BudgetWarning, Kind::BudgetExceeded, Kind::WorkspaceStateChanged];
        let places = order.map(at);
        assert!(places.is_sorted(), "{dimension}: {kinds:?}");
        let reported = run.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
            Event::SignalEmitted(reported) if reported.from == id => reported.reason.clone(),
            _ => None,
        });
        let reason = format!("budget_exceeded: {dimension}");
        assert_eq!(reported.unwrap().as_str(), reason, "its parent hears why");
        holds(&run);
    }
}

/// Shows W-RES-04.
#[test]
fn a_warning_comes_at_its_share_of_the_limit_and_once() {
    for (percent, share) in [(None, 80), (Some(50), 50), (Some(0), 0), (Some(100), 100)] {
        let mut run = Run::new();
        let mut args = json!({ "agent": "w1", "budget": { "token_limit": 100 } });
        if let Some(percent) = percent {
            args["warn_at_percent"] = percent.into();
        }
        let id = run.in_state(Status::Active, args);
        for used in 1..=100 {
            let status = report(&mut run, &id, 1);
            let warned =
                notices_of(&run, &id).iter().filter(|(what, ..)| *what == "warned").count();
            assert_eq!(warned, usize::from(used >= share), "at {used} of {share}");
            let over = if used < 100 { Status::Active } else { Status::Failed };
            assert_eq!(status, over, "the reply tells how it is after {used}");
        }
        let warning = run.world.entries.iter().find_map(|entry| match &entry.draft.event {
            Event::BudgetWarning(body) => Some(body.clone()),
            _ => None,
        });
        assert_eq!(u64::from(warning.unwrap().threshold_percent), share);
        holds(&run);
    }
}

/// Shows W-RES-06.
#[test]
fn compute_is_time_at_work_and_wall_time_is_that_and_time_blocked() {
    let mut run = Run::new();
    let id = limited(&mut run, &json!({ "compute_timeout": 100_000_000 }));
    let lead = Run::lead();
    let near = |run: &Run, field: &str, secs: u64| {
        let micros = meter(run, &id)["used"][field].as_u64().unwrap();
        assert_eq!(micros / 1_000_000, secs, "{field} is {micros}");
    };
    run.world.pass(30);
    run.signal("w1", &id, "blocked");
    run.world.pass(1000);
    near(&run, "active_time", 30);
    near(&run, "blocked_time", 1000);
    run.ok(&lead, "workspace.suspend", json!({ "workspace": id }));
    run.world.pass(1000);
    run.ok(&lead, "workspace.resume", json!({ "workspace": id }));
    run.ok(&lead, "workspace.migrate", json!({ "workspace": id, "agent": "w3" }));
    run.world.pass(1000);
    run.signal("w3", &id, "ready");
    near(&run, "active_time", 30);
    near(&run, "blocked_time", 1000);
    run.signal("w3", &id, "started");
    run.world.pass(49);
    run.world.tick();
    assert_eq!(notices_of(&run, &id), [], "79 of 100 seconds");
    run.world.pass(1);
    run.world.tick();
    assert_eq!(notices_of(&run, &id).len(), 1, "80 of 100 seconds");
    run.world.pass(19);
    run.world.tick();
    assert_eq!(run.status(&id), Status::Active);
    run.world.pass(1);
    run.world.tick();
    assert_eq!(run.view(&id).ended, Some(Trigger::BudgetExceeded), "100 seconds at work");
    near(&run, "active_time", 100);
    run.world.pass(1000);
    near(&run, "active_time", 100);
    holds(&run);
}

/// Shows W-RES-03, W-CP-10, W-CP-11.
#[test]
fn what_an_agent_says_is_compared_with_the_meter_and_changes_nothing() {
    let mut run = Run::new();
    let id = limited(&mut run, &json!({ "token_limit": 1000 }));
    let checkpoint = |run: &mut Run, tokens: u64, wall_time: u64, cost: u64| {
        let usage = json!({ "tokens_consumed": tokens, "wall_time": wall_time, "cost": cost });
        let args = json!({ "workspace": id, "type": "artifact", "status": "provisional",
            "intent": "i", "files_changed": [{ "path": "a", "content": blob(1) }],
            "parent": run.view(&id).head, "resource_usage": usage });
        let before = run.count();
        run.ok(&agent("w1"), "checkpoint.create", args);
        let differs = run.world.entries[before..].iter().filter_map(|entry| {
            let Event::ResourceDiscrepancy(body) = &entry.draft.event else { return None };
            let field = serde_json::to_value(body.field).unwrap().as_str().unwrap().to_owned();
            Some((field, body.agent_value.get(), body.runtime_value.get()))
        });
        differs.collect::<Vec<_>>()
    };
    run.ok(&agent("w1"), "meter.report", json!({ "tokens": 100, "cost": 50 }));
    run.world.pass(60);
    assert_eq!(checkpoint(&mut run, 110, 63_000_000, 45), [], "within a tenth");
    run.ok(&agent("w1"), "meter.report", json!({ "tokens": 100, "cost": 50 }));
    run.world.pass(60);
    assert_eq!(checkpoint(&mut run, 100, 60_000_000, 50), [], "since the one before, not in all");
    let far = checkpoint(&mut run, 5000, 0, 0);
    assert_eq!(far, [("tokens_consumed".to_owned(), 5000, 0)], "nothing was used since");
    assert_eq!(run.status(&id), Status::Active, "it stops nothing");
    assert_eq!(meter(&run, &id)["used"]["tokens"], 200, "the meter counts by itself");
    assert_eq!(run.world.state.workspaces().filter(|(_, w)| w.head.is_some()).count(), 1);
    holds(&run);
}

/// Shows W-RES-03.
#[test]
fn a_report_is_of_whoever_works_there_or_commands() {
    let mut run = Run::new();
    let id = run.active();
    for who in [agent("w1"), Run::lead(), user("ada")] {
        run.ok(&who, "meter.report", json!({ "workspace": id, "tokens": 5, "cost": 1 }));
    }
    assert_eq!(meter(&run, &id)["used"]["tokens"], 15);
    let args = json!({ "workspace": id, "tokens": 5 });
    run.refused(&agent("w2"), "meter.report", args.clone(), "W-RES-03");
    run.refused(&agent("w1"), "meter.report", json!({}), "A-USE-01");
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
    run.refused(&agent("w1"), "meter.report", args, "W-WS-25");
    assert_eq!(meter(&run, &id)["used"]["tokens"], 15, "an ended meter stands still");
    holds(&run);
}

/// Shows W-RES-07.
#[test]
fn limits_are_raised_one_by_one_and_never_lowered() {
    let mut run = Run::new();
    let lead = Run::lead();
    let raise = |id: &WorkspaceId, limits: Value| json!({ "workspace": id, "limits": limits });
    for status in Status::ALL {
        let args = json!({ "agent": "w1", "budget": { "token_limit": 10, "cost_limit": 10 } });
        let id = run.in_state(*status, args);
        let more = raise(&id, json!({ "cost_limit": 20, "token_limit": 20 }));
        if !matches!(status, Status::Idle | Status::Active | Status::Blocked) {
            run.refused(&lead, "workspace.modify_budget", more, "W-RES-07");
            let _ = run.do_(&lead, "workspace.abort", json!({ "workspace": id }));
            continue;
        }
        run.refused(&agent("w1"), "workspace.modify_budget", more.clone(), "W-ROLE-04");
        let before = run.count();
        run.ok(&lead, "workspace.modify_budget", more.clone());
        assert_eq!(run.kinds_since(before), [Kind::BudgetModified; 2], "one entry each");
        for no in [
            json!({ "token_limit": 20 }),
            json!({ "token_limit": 19 }),
            json!({ "trail_limit": 1_000_000 }),
            json!({ "cost_limit": 30, "token_limit": 1 }),
        ] {
            run.refused(&lead, "workspace.modify_budget", raise(&id, no), "W-RES-07");
        }
        let limits: Vec<u64> = run.view(&id).budget.values().map(|limit| limit.get()).collect();
        assert_eq!(limits, [20, 20], "a refusal raises nothing of what it was asked for");
    }
    // What is in use by now counts, though an idle workspace is not ended for it.
    let idle = run.create(&lead, json!({ "agent": "w1", "budget": { "token_limit": 10 } }));
    assert_eq!(report(&mut run, &idle, 50), Status::Idle);
    let args = raise(&idle, json!({ "token_limit": 49 }));
    run.refused(&lead, "workspace.modify_budget", args, "W-RES-07");
    run.ok(&lead, "workspace.modify_budget", raise(&idle, json!({ "token_limit": 60 })));
    run.signal("w1", &idle, "ready");
    assert_eq!(notices_of(&run, &idle), [("warned", Dimension::TokenLimit, 50)], "50 of 60");
    run.ok(&lead, "workspace.modify_budget", raise(&idle, json!({ "token_limit": 100 })));
    report(&mut run, &idle, 50);
    let (warned, over) = (("warned", Dimension::TokenLimit), ("over", Dimension::TokenLimit));
    let order: Vec<_> =
        notices_of(&run, &idle).iter().map(|(what, about, _)| (*what, *about)).collect();
    assert_eq!(order, [warned, warned, over], "the new limit is warned of anew");
    holds(&run);
}

/// Shows W-RES-05.
#[test]
fn what_was_used_up_before_work_began_ends_it_when_it_begins() {
    let mut run = Run::new();
    let args = json!({ "agent": "w1", "budget": { "token_limit": 10 } });
    let id = run.create(&Run::lead(), args);
    assert_eq!(report(&mut run, &id, 10), Status::Idle, "no step leads from here");
    run.signal("w1", &id, "ready");
    assert_eq!(run.view(&id).ended, Some(Trigger::BudgetExceeded));
    holds(&run);
}

/// A command that is refused and a limit that its record reaches are one commit, with nothing of
/// the command in it.
/// Shows W-RES-05.
#[test]
fn a_refusal_that_uses_a_limit_up_leaves_nothing_of_what_was_refused() {
    let mut run = Run::new();
    let id = limited(&mut run, &json!({ "trail_limit": 12_000 }));
    let wrong = json!({ "workspace": id, "type": "observation", "status": "final", "intent": "i" });
    let mut refused = 0;
    while run.status(&id) == Status::Active {
        run.do_(&agent("w1"), "checkpoint.create", wrong.clone()).unwrap_err();
        refused += 1;
        assert!(refused < 40);
    }
    assert_eq!(run.view(&id).ended, Some(Trigger::BudgetExceeded));
    assert_eq!(run.view(&id).head, None);
    let made = run.world.kinds().iter().filter(|kind| **kind == Kind::CheckpointRejected).count();
    assert_eq!(made, refused);
    holds(&run);
}

/// Shows W-RES-08, W-DEL-03, W-TREE-10.
#[test]
fn workspaces_below_draw_on_the_one_above() {
    let mut run = Run::new();
    let (lead, w1) = (Run::lead(), agent("w1"));
    let top = json!({ "agent": "w1", "delegate": true, "budget": { "token_limit": 100 } });
    let top = run.in_state(Status::Active, top);
    report(&mut run, &top, 10);
    let below = |budget: Value| {
        json!({ "agent": "w2", "role": "worker", "parent": top, "directive": payload(1),
            "budget": budget })
    };
    let left = |run: &Run| meter(run, &top)["limits"][0]["left"].as_u64().unwrap();
    assert_eq!(left(&run), 90);
    for who in [&w1, &lead] {
        for budget in [json!({}), json!({ "cost_limit": 5 }), json!({ "token_limit": 91 })] {
            run.refused(who, "workspace.create", below(budget), "W-RES-08");
        }
    }
    let first = run.create(&w1, below(json!({ "token_limit": 50, "cost_limit": 5 })));
    assert_eq!(left(&run), 40, "its limit is set aside");
    run.refused(&w1, "workspace.create", below(json!({ "token_limit": 41 })), "W-RES-08");
    let second = run.create(&w1, below(json!({ "token_limit": 40 })));
    let more = |limit: u64| json!({ "workspace": second, "limits": { "token_limit": limit } });
    run.refused(&w1, "workspace.modify_budget", more(41), "W-RES-08");
    for id in [&first, &second] {
        run.signal("w2", id, "ready");
    }
    report(&mut run, &first, 5);
    run.ok(&lead, "workspace.abort", json!({ "workspace": first }));
    assert_eq!(left(&run), 45, "what it did not use is there again");
    run.ok(&w1, "workspace.modify_budget", more(60));
    assert_eq!(left(&run), 25);

    // One below runs out, and takes more with its last step than there is left above.
    report(&mut run, &second, 100);
    assert_eq!(run.status(&second), Status::Failed);
    assert_eq!(run.status(&top), Status::Active, "the one above goes on");
    assert_eq!(left(&run), 0, "though nothing is left");
    assert_eq!(meter(&run, &top)["subtree"]["tokens"], 115, "it answers for all below it");
    assert_eq!(meter(&run, &top)["used"]["tokens"], 10);
    run.refused(&w1, "workspace.create", below(json!({ "token_limit": 1 })), "W-RES-08");
    report(&mut run, &top, 1);
    assert_eq!(run.view(&top).ended, Some(Trigger::BudgetExceeded), "until it needs some itself");
    holds(&run);
}

/// When each warning of silence came, in minutes.
fn warnings(run: &Run, since: u64) -> Vec<u64> {
    let at = run.world.entries.iter().filter(|entry| {
        matches!(&entry.draft.event, Event::LivenessWarning(body)
            if body.interval == Span::from_secs(300))
    });
    let later = at.filter(|entry| entry.at.micros() >= since);
    later.map(|entry| (entry.at.micros() - since) / 60_000_000).collect()
}

/// Shows W-RES-09, W-RES-10.
#[test]
fn silence_is_told_of_each_interval_and_ends_nothing() {
    let mut run = Run::new();
    let args = json!({ "agent": "w1", "timeout_s": 1800, "liveness_interval_s": 300,
        "budget": { "token_limit": 100 } });
    let id = run.in_state(Status::Active, args.clone());
    let since = run.world.now.micros();
    for minute in 1..=29 {
        run.world.pass(60);
        run.world.tick();
        assert_eq!(run.status(&id), Status::Active, "after {minute} minutes");
    }
    assert_eq!(warnings(&run, since), [5, 10, 15, 20, 25]);
    let before = run.count();
    let Reply::Mail(mail) = run.ok(&Run::lead(), "inbox.take", json!({})) else { panic!() };
    assert_eq!(mail.quiet.len(), 1, "the coordinator is told");
    assert_eq!((&mail.quiet[0].workspace, mail.quiet[0].silent_intervals), (&id, 5));
    assert_eq!(run.kinds_since(before), [Kind::InboxTaken]);
    run.world.pass(60);
    run.world.tick();
    assert_eq!(run.view(&id).ended, Some(Trigger::Timeout), "its time ends it, and nothing else");
    assert_eq!(warnings(&run, since).len(), 5);

    // In one jump, with nobody looking in between, it is the same.
    let id = run.in_state(Status::Active, args);
    let since = run.world.now.micros();
    run.world.pass(3600);
    run.world.tick();
    assert_eq!(run.view(&id).ended, Some(Trigger::Timeout));
    assert_eq!(warnings(&run, since).len(), 5, "none is missed");
    holds(&run);
}

/// Shows W-RES-09, W-SIG-13.
#[test]
fn whatever_happens_in_a_workspace_breaks_its_silence() {
    let mut run = Run::new();
    let args = json!({ "agent": "w1", "liveness_interval_s": 300 });
    let id = run.in_state(Status::Active, args);
    let quiet = |run: &mut Run| {
        let root = run.root.clone();
        let inbox = run.world.ask("inbox.list", &json!({ "workspace": root }).to_string());
        inbox["quiet"].as_array().map_or(0, Vec::len)
    };
    let since = run.world.now.micros();
    run.world.pass(299);
    report(&mut run, &id, 1);
    run.world.pass(299);
    run.world.tick();
    assert_eq!(warnings(&run, since), [0; 0], "something happened in between");
    run.world.pass(2);
    run.world.tick();
    assert_eq!((warnings(&run, since).len(), quiet(&mut run)), (1, 1));
    run.signal("w1", &id, "blocked");
    assert_eq!(quiet(&mut run), 0);
    run.world.pass(3000);
    run.world.tick();
    assert_eq!(warnings(&run, since).len(), 1, "only work is watched");
    run.signal("w1", &id, "started");
    // A night without a command: one warning stands for all that were missed.
    run.world.pass(300 * 100);
    run.world.tick();
    assert_eq!(warnings(&run, since).len(), 2);
    assert_eq!(meter(&run, &id)["silent_intervals"], 100);
    run.world.pass(300);
    run.world.tick();
    assert_eq!(meter(&run, &id)["silent_intervals"], 101);
    let signals = run.world.entries.iter().filter(|entry| {
        matches!(&entry.draft.event, Event::SignalEmitted(reported)
            if reported.from == id && reported.signal == SignalType::Escalation)
    });
    assert_eq!(signals.count(), 0, "no signal tells of it");
    holds(&run);
}

/// Shows W-RES-11.
#[test]
fn the_root_has_no_limits() {
    let mut run = Run::new();
    let root = run.root.clone();
    let view = run.view(&root);
    assert_eq!((view.deadline, view.budget.len(), view.liveness_interval_s), (None, 0, None));
    assert_eq!(view.authority.iter().map(ToString::to_string).collect::<Vec<_>>(), ["."]);
    let limits = json!({ "workspace": root, "limits": { "token_limit": 5 } });
    run.refused(&Run::lead(), "workspace.modify_budget", limits, "W-RES-07");
    let start = althing_kernel::Command::read("run.start", r#"{"budget":{"token_limit":5}}"#);
    assert!(start.unwrap().is_err(), "a run cannot be begun with one");
    report(&mut run, &root, 1_000_000_000);
    run.world.pass(365 * 24 * 60 * 60);
    run.world.tick();
    assert_eq!(run.status(&root), Status::Active);
    holds(&run);
}

/// Shows W-SIG-13.
#[test]
fn an_agent_that_stops_for_its_budget_says_how_it_stands() {
    let mut run = Run::new();
    let id = limited(&mut run, &json!({ "token_limit": 100 }));
    let notice = json!({ "consumed": 85, "dimension": "token_limit", "limit": 100 });
    let emit = |kind: &str| json!({ "workspace": id, "type": kind, "reason": "r", "budget_warning": notice });
    run.refused(&agent("w1"), "signal.emit", emit("failed"), "W-SIG-13");
    run.ok(&agent("w1"), "signal.emit", emit("blocked"));
    assert_eq!(run.status(&id), Status::Blocked);
    let Reply::Mail(mail) = run.ok(&Run::lead(), "inbox.take", json!({})) else { panic!() };
    let heard = mail.signals.last().unwrap();
    assert_eq!(serde_json::to_value(&heard.budget_warning).unwrap(), notice);
    holds(&run);
}

/// Shows W-RES-10.
#[test]
fn time_budget_and_silence_run_side_by_side() {
    let mut run = Run::new();
    let args = json!({ "agent": "w1", "timeout_s": 100, "liveness_interval_s": 30,
        "budget": { "compute_timeout": 80_000_000, "token_limit": 10 } });
    let id = run.in_state(Status::Active, args.clone());
    let since = run.count();
    run.world.pass(200);
    run.world.tick();
    let kinds = run.kinds_since(since);
    let times: Vec<Kind> = kinds
        .into_iter()
        .filter(|kind| !matches!(kind, Kind::SignalEmitted | Kind::SignalDelivered))
        .collect();
    // Silence at 30, the warning about 80 % of 80 seconds at 64, which breaks the silence, and
    // the end at 80: the timeout at 100 finds nobody any more.
    let expected = [
        Kind::LivenessWarning,
        Kind::LivenessWarning,
        Kind::BudgetWarning,
        Kind::BudgetExceeded,
        Kind::WorkspaceStateChanged,
    ];
    assert_eq!(times, expected);
    assert_eq!(run.view(&id).ended, Some(Trigger::BudgetExceeded));

    let id = run.in_state(Status::Active, args);
    run.world.pass(60);
    run.signal("w1", &id, "blocked");
    run.world.pass(41);
    run.world.tick();
    assert_eq!(run.view(&id).ended, Some(Trigger::Timeout), "blocked time counts for the timeout");
    holds(&run);
}
