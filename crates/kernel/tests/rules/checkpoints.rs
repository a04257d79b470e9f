//! Checkpoints and integration: how work is recorded, and what becomes of it.

use crate::run::{Run, blob};
use crate::support::agent;
use althing_kernel::checkpoint::RejectReason;
use althing_kernel::integration::IntegrationReply;
use althing_kernel::workspace::{Status, Trigger};
use althing_kernel::{CheckpointId, Event, Kind, Refusal, Reply, WorkspaceId};
use serde_json::{Value, json};

fn checkpoint(
    run: &mut Run,
    who: &str,
    id: &WorkspaceId,
    more: impl Into<Value>,
) -> Result<Reply, Refusal> {
    let more: Value = more.into();
    let mut args = json!({ "workspace": id, "type": "artifact", "status": "final", "intent": "i" });
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    run.do_(&agent(who), "checkpoint.create", args)
}

fn made(reply: Reply) -> CheckpointId {
    match reply {
        Reply::Checkpoint(checkpoint) => checkpoint.checkpoint,
        other => panic!("{other:?}"),
    }
}

fn file(path: &str, content: u8) -> Value {
    json!({ "path": path, "content": blob(content) })
}

fn decide(
    run: &mut Run,
    id: &WorkspaceId,
    more: impl Into<Value>,
) -> Result<IntegrationReply, Refusal> {
    let more: Value = more.into();
    let mut args = json!({ "workspace": id, "decision": "accept" });
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    run.do_(&Run::lead(), "integration.decide", args).map(|reply| match reply {
        Reply::Integration(reply) => reply,
        other => panic!("{other:?}"),
    })
}

/// A worker that finished, with these files in its final checkpoint.
fn finished(run: &mut Run, who: &str, files: &[Value]) -> WorkspaceId {
    let id = run.in_state(Status::Active, json!({ "agent": who }));
    checkpoint(run, who, &id, json!({ "files_changed": files })).unwrap();
    run.signal(who, &id, "complete");
    id
}

fn merged(run: &Run, id: &WorkspaceId) -> Vec<(String, Value)> {
    let files = run.world.ask("workspace.files", &json!({ "workspace": id }).to_string());
    let list = files["merged"].as_array().unwrap().iter();
    list.map(|file| (file["path"].as_str().unwrap().to_owned(), file["content"].clone())).collect()
}

/// Shows W-CP-01, W-CP-02, W-CP-03, W-CP-06, W-CP-07, W-ID-08.
#[test]
fn checkpoints_form_one_line_and_tell_the_parent() {
    let mut run = Run::new();
    let id = run.active();
    let before = run.count();
    let all = json!({ "status": "provisional", "confidence": "low", "content": blob(1),
        "files_changed": [file("a", 2), { "path": "gone" }],
        "artifacts": [{ "name": "log", "content": blob(3) }, { "name": "log", "content": blob(3) }],
        "resource_usage": { "tokens_consumed": 5, "wall_time": 6, "cost": 7 } });
    let first = made(checkpoint(&mut run, "w1", &id, all).unwrap());
    let kinds = run.kinds_since(before);
    // Its figures for tokens and cost are not the meter's.
    let expected = [
        Kind::CheckpointCreated,
        Kind::ResourceDiscrepancy,
        Kind::ResourceDiscrepancy,
        Kind::SignalEmitted,
        Kind::SignalDelivered,
    ];
    assert_eq!(kinds, expected, "recorded, then told");
    let Event::SignalEmitted(shown) = &run.world.entries[before + 3].draft.event else { panic!() };
    assert_eq!(shown.about.as_ref().unwrap().as_str(), first.as_str());
    assert_eq!(shown.to, Some(run.root.clone()));
    let view = run.world.ask("checkpoint.get", &json!({ "checkpoint": first }).to_string());
    assert_eq!(view["parent"], Value::Null, "the first has none before it");
    let artifacts = view["artifacts"].as_array().unwrap();
    assert_ne!(artifacts[0]["artifact_id"], artifacts[1]["artifact_id"], "each can be named");
    // Whatever does not build on the newest one is refused.
    for parent in [Value::Null, json!("nothing")] {
        let refusal = checkpoint(&mut run, "w1", &id, json!({ "parent": parent })).unwrap_err();
        assert_eq!(refusal.rule.id(), "W-CP-07");
        assert!(format!("{:?}", refusal.details).contains(first.as_str()));
    }
    let second = made(checkpoint(&mut run, "w1", &id, json!({ "parent": first })).unwrap());
    assert!(first.as_str() < second.as_str(), "ids grow within a workspace");
    let refusal = checkpoint(&mut run, "w1", &id, json!({ "parent": first })).unwrap_err();
    assert_eq!(refusal.rule.id(), "W-CP-07", "no branches");
    // Never across workspaces.
    let other = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let refusal = checkpoint(&mut run, "w2", &other, json!({ "parent": second })).unwrap_err();
    assert_eq!(refusal.rule.id(), "W-CP-07");
}

/// Shows W-CP-09, W-CP-05, W-CP-08, W-VIS-04, W-TAX-05.
#[test]
fn a_refused_checkpoint_says_which_of_five_reasons() {
    let mut run = Run::new();
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "authority": ["src"] }));
    let observer = run.in_state(Status::Active, json!({ "agent": "watcher", "role": "observer" }));
    let blocked = run.in_state(Status::Blocked, json!({ "agent": "w2" }));
    let cases = [
        ("w1", &id, json!({ "type": "observation" }), RejectReason::PermissionDenied),
        (
            "w1",
            &id,
            json!({ "files_changed": [file("docs/a", 1)] }),
            RejectReason::PermissionDenied,
        ),
        ("watcher", &observer, json!({}), RejectReason::PermissionDenied),
        ("w1", &id, json!({ "type": "poem" }), RejectReason::InvalidType),
        ("w1", &id, json!({ "intent": " " }), RejectReason::InvalidStructure),
        ("w1", &id, json!({ "content": { "text": "x" } }), RejectReason::InvalidStructure),
        (
            "w1",
            &id,
            json!({ "files_changed": [file("src/a", 1), file("src/a", 2)] }),
            RejectReason::InvalidStructure,
        ),
        ("w1", &id, json!({ "parent": "none" }), RejectReason::InvalidParent),
        ("w2", &blocked, json!({}), RejectReason::WorkspaceNotActive),
    ];
    for (who, id, more, reason) in cases {
        checkpoint(&mut run, who, id, more.clone()).unwrap_err();
        let Event::CheckpointRejected(rejected) = run.world.last_event() else { panic!("{more}") };
        assert_eq!(rejected.reason, reason, "{more}");
    }
    checkpoint(&mut run, "watcher", &observer, json!({ "type": "observation" })).unwrap();
    let root = run.root.clone();
    for kind in ["artifact", "observation"] {
        let refusal = checkpoint(&mut run, "lead", &root, json!({ "type": kind })).unwrap_err();
        assert_eq!(refusal.rule.id(), "W-CP-05", "the coordinator creates none");
    }
}

/// Shows W-CP-03, W-CP-04, W-INT-23.
#[test]
fn the_newest_final_one_is_merged_and_doubt_stops_nothing() {
    let mut run = Run::new();
    let id = run.active();
    let mut last: Option<CheckpointId> = None;
    for (number, status) in ["final", "final", "provisional"].into_iter().enumerate() {
        let content = u8::try_from(number).unwrap();
        let more = json!({ "status": status, "confidence": "low", "parent": last,
            "files_changed": [file("a", content)] });
        last = Some(made(checkpoint(&mut run, "w1", &id, more).unwrap()));
    }
    run.signal("w1", &id, "complete");
    decide(&mut run, &id, json!({})).unwrap();
    let root = run.root.clone();
    assert_eq!(merged(&run, &root), [("a".to_owned(), blob(1)["blob"].clone())]);
    let started = run.world.entries.iter().find_map(|entry| match &entry.draft.event {
        Event::IntegrationStarted(body) => Some(body.mode),
        _ => None,
    });
    assert_eq!(started, Some(althing_kernel::integration::Mode::Normal));
}

/// Shows W-INT-01, W-INT-02, W-INT-06, W-WS-22.
#[test]
fn nothing_merges_by_itself_and_the_coordinator_has_three_choices() {
    let mut run = Run::new();
    let root = run.root.clone();
    let id = finished(&mut run, "w1", &[file("a", 1)]);
    run.world.pass(100_000);
    run.world.tick();
    assert_eq!(run.status(&id), Status::Integrating, "it waits for a decision");
    assert!(merged(&run, &root).is_empty());
    let before = run.count();
    decide(&mut run, &id, json!({ "strategy": "direct" })).unwrap();
    let expected = [
        Kind::IntegrationStarted,
        Kind::SignalEmitted,
        Kind::IntegrationCompleted,
        Kind::WorkspaceStateChanged,
    ];
    assert_eq!(run.kinds_since(before), expected);
    let Event::SignalEmitted(signal) = &run.world.entries[before + 1].draft.event else { panic!() };
    assert_eq!((signal.signal.as_str(), signal.from.clone()), ("integrate", root.clone()));
    assert_eq!(run.status(&id), Status::Closed);
    for (decision, trigger) in
        [("revise", Trigger::RevisionRequired), ("reject", Trigger::Rejected)]
    {
        let id = finished(&mut run, "w2", &[file("b", 1)]);
        decide(&mut run, &id, json!({ "decision": decision, "reason": "r" })).unwrap();
        assert_eq!(run.view(&id).ended, Some(trigger));
        decide(&mut run, &id, json!({})).unwrap_err();
        assert_eq!(run.status(&id), Status::Failed, "never reopened");
    }
    assert_eq!(merged(&run, &root).len(), 1);
    let id = finished(&mut run, "w1", &[]);
    let args = json!({ "workspace": id, "decision": "accept" });
    run.refused(&agent("w1"), "integration.decide", args, "W-INT-01");
}

/// Shows W-INT-13.
#[test]
fn without_a_final_checkpoint_there_is_nothing_to_accept() {
    let mut run = Run::new();
    let id = run.active();
    checkpoint(&mut run, "w1", &id, json!({ "status": "provisional" })).unwrap();
    run.signal("w1", &id, "complete");
    let refusal = decide(&mut run, &id, json!({})).unwrap_err();
    assert_eq!(refusal.rule.id(), "W-INT-13");
    assert!(format!("{:?}", refusal.details).contains("revise"));
    decide(&mut run, &id, json!({ "decision": "reject" })).unwrap();
}

/// Shows W-INT-03, W-INT-04, W-INT-07, W-INT-08, W-INT-05.
#[test]
fn direct_copies_layered_notices_and_evaluated_takes_what_it_is_given() {
    let mut run = Run::new();
    let root = run.root.clone();
    let first = finished(&mut run, "w1", &[file("a", 1), file("b", 1), file("same", 9)]);
    let layered = finished(&mut run, "w2", &[file("a", 3), file("c", 3), file("same", 9)]);
    let next = finished(&mut run, "w3", &[file("d", 4)]);
    decide(&mut run, &first, json!({})).unwrap();
    let direct = finished(&mut run, "w1", &[file("a", 2)]);
    assert!(decide(&mut run, &direct, json!({})).unwrap().conflicts.is_empty(), "it knew of it");
    let reply = decide(&mut run, &layered, json!({ "strategy": "layered" })).unwrap();
    assert_eq!((reply.status, reply.conflicts.len()), (Status::Conflicted, 1));
    let Some(Event::ConflictDetected(found)) = run
        .world
        .entries
        .iter()
        .map(|entry| &entry.draft.event)
        .rfind(|event| matches!(event, Event::ConflictDetected(_)))
    else {
        panic!()
    };
    let resources: Vec<_> = found.resources.iter().map(ToString::to_string).collect();
    assert_eq!(resources, ["a"], "the same content is no conflict, a new file neither");
    // One after another.
    let refusal = decide(&mut run, &next, json!({})).unwrap_err();
    assert_eq!(refusal.rule.id(), "W-INT-05");
    assert!(refusal.message.contains(layered.as_str()));
    let conflict = reply.conflicts[0].id.clone();
    let resolve = |strategy: &str, conflict: &str| {
        json!({ "workspace": layered, "conflict": conflict, "strategy": strategy,
            "resolution": "theirs" })
    };
    run.refused(
        &Run::lead(),
        "conflict.resolve",
        resolve("coordinator_resolve", "other"),
        "W-INT-08",
    );
    run.ok(&Run::lead(), "conflict.resolve", resolve("coordinator_resolve", conflict.as_str()));
    assert_eq!(run.status(&layered), Status::Closed);
    let content = |n: u8| blob(n)["blob"].clone();
    let expected: Vec<(String, Value)> = [("a", 3), ("b", 1), ("c", 3), ("same", 9)]
        .map(|(path, n)| (path.to_owned(), content(n)))
        .into();
    assert_eq!(merged(&run, &root), expected, "what came in wins");
    decide(&mut run, &next, json!({ "strategy": "evaluated" })).unwrap_err();
    decide(&mut run, &next, json!({ "merged": [] })).unwrap_err();
    let merged_files = json!([file("d", 5), { "path": "b" }]);
    decide(&mut run, &next, json!({ "strategy": "evaluated", "merged": merged_files })).unwrap();
    let after = merged(&run, &root);
    assert!(after.contains(&("d".to_owned(), content(5))), "the result that was made of both");
    assert!(after.contains(&("b".to_owned(), Value::Null)), "a deleted file is known as such");
}

/// Work that began before somebody else's was merged does not know of it. Merging it over the other
/// is a conflict with every strategy, and with a salvage.
#[test]
fn no_strategy_overwrites_what_was_merged_after_the_work_began() {
    let mut run = Run::new();
    let root = run.root.clone();
    let content = |n: u8| blob(n)["blob"].clone();
    let late: Vec<_> = (2..5).map(|n| finished(&mut run, "w1", &[file("a", n)])).collect();
    let failed = finished(&mut run, "w2", &[file("a", 8)]);
    let first = finished(&mut run, "w3", &[file("a", 1), file("b", 1)]);
    decide(&mut run, &first, json!({})).unwrap();
    let made = json!([file("a", 4)]);
    for (id, more) in late.iter().zip([
        json!({}),
        json!({ "strategy": "layered" }),
        json!({ "strategy": "evaluated", "merged": made }),
    ]) {
        let reply = decide(&mut run, id, more).unwrap();
        assert_eq!((reply.status, reply.conflicts.len()), (Status::Conflicted, 1));
        assert_eq!(merged(&run, &root)[0].1, content(1), "nothing was overwritten");
        let args = json!({ "workspace": id, "conflict": reply.conflicts[0].id, "resolution": "r",
            "strategy": "agent_rework" });
        run.ok(&Run::lead(), "conflict.resolve", args);
    }
    decide(&mut run, &failed, json!({ "decision": "reject" })).unwrap();
    let salvage = json!({ "workspace": failed, "merged": [file("a", 8)] });
    let reply = run.ok(&Run::lead(), "integration.salvage", salvage);
    let Reply::Integration(reply) = reply else { panic!("{reply:?}") };
    assert_eq!(reply.conflicts.len(), 1);
    assert_eq!(merged(&run, &root)[0].1, content(1), "the good file stands");
    let args = json!({ "workspace": failed, "conflict": reply.conflicts[0].id, "resolution": "r",
        "strategy": "coordinator_resolve", "merged": [file("a", 9)] });
    run.ok(&Run::lead(), "conflict.resolve", args);
    assert_eq!(merged(&run, &root)[0].1, content(9), "what the coordinator made of both");
    run.sound();
}

/// What was merged into a delegate's workspace goes up with it.
#[test]
fn a_nested_merge_keeps_the_childs_file() {
    let mut run = Run::new();
    let (root, lead) = (run.root.clone(), Run::lead());
    let parent = run.in_state(Status::Active, json!({ "agent": "w1", "delegate": true }));
    let child = run.create(&agent("w1"), json!({ "agent": "w2", "parent": parent }));
    run.signal("w2", &child, "ready");
    run.checkpoint("w2", &child, "artifact", &["below"]);
    run.signal("w2", &child, "complete");
    run.ok(&agent("w1"), "integration.decide", json!({ "workspace": child, "decision": "accept" }));
    run.checkpoint("w1", &parent, "artifact", &["above"]);
    run.signal("w1", &parent, "complete");
    run.ok(&lead, "integration.decide", json!({ "workspace": parent, "decision": "accept" }));
    let paths: Vec<String> = merged(&run, &root).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["above", "below"]);
    run.sound();
}

#[test]
fn a_merge_drops_nothing_by_not_naming_it() {
    let mut run = Run::new();
    let root = run.root.clone();
    let first = finished(&mut run, "w1", &[file("a", 1), file("b", 1)]);
    decide(&mut run, &first, json!({})).unwrap();
    let files = [file("a", 2), file("b", 2), file("c", 2)];
    let second = finished(&mut run, "w2", &files);
    let reply = decide(&mut run, &second, json!({ "strategy": "layered" })).unwrap();
    let args = json!({ "workspace": second, "conflict": reply.conflicts[0].id, "resolution": "r",
        "strategy": "coordinator_resolve", "merged": [file("a", 3)] });
    run.ok(&Run::lead(), "conflict.resolve", args);
    let content = |n: u8| blob(n)["blob"].clone();
    let expected: Vec<(String, Value)> =
        [("a", 3), ("b", 2), ("c", 2)].map(|(path, n)| (path.to_owned(), content(n))).into();
    assert_eq!(merged(&run, &root), expected);
}

/// Shows W-INT-08, W-WS-21.
#[test]
fn every_conflict_is_settled_by_itself_and_one_rework_fails_the_whole() {
    let conflicts = json!([
        { "type": "semantic_contradiction", "description": "x", "resources": ["api"] },
        { "type": "dependency_violation", "description": "y" }]);
    let open = |run: &mut Run| {
        let id = finished(run, "w1", &[file("a", 1)]);
        let more = json!({ "strategy": "evaluated", "merged": [file("a", 2)],
            "conflicts": conflicts });
        let reply = decide(run, &id, more).unwrap();
        assert_eq!(reply.conflicts.len(), 2);
        (id, reply.conflicts)
    };
    let mut run = Run::new();
    let root = run.root.clone();
    let (id, found) = open(&mut run);
    let resolve = |id: &WorkspaceId, n: &str, strategy: &str| {
        let at = json!({ "workspace": id, "conflict": n });
        json!({ "workspace": at["workspace"], "conflict": at["conflict"], "strategy": strategy,
            "resolution": "r" })
    };
    let lead = Run::lead();
    run.ok(&lead, "conflict.resolve", resolve(&id, found[0].id.as_str(), "coordinator_resolve"));
    assert_eq!(run.status(&id), Status::Conflicted, "one is left");
    run.ok(&lead, "conflict.resolve", resolve(&id, found[1].id.as_str(), "coordinator_resolve"));
    assert_eq!(run.status(&id), Status::Closed);
    assert_eq!(merged(&run, &root), [("a".to_owned(), blob(2)["blob"].clone())]);

    let (id, found) = open(&mut run);
    run.ok(&lead, "conflict.resolve", resolve(&id, found[1].id.as_str(), "agent_rework"));
    assert_eq!(run.view(&id).ended, Some(Trigger::AgentRework));
    let kinds = run.world.kinds();
    let count = |kind: Kind| kinds.iter().filter(|own| **own == kind).count();
    assert_eq!(count(Kind::ConflictDetected), count(Kind::ConflictResolved), "each is closed");
    assert_eq!(count(Kind::IntegrationAborted), 1);
    assert_eq!(
        count(Kind::IntegrationStarted),
        count(Kind::IntegrationCompleted) + count(Kind::IntegrationAborted)
    );
}

/// A failed workspace of `who` below a parent, with one checkpoint for each of these.
fn failed(run: &mut Run, parent: &WorkspaceId, made_: &[(&str, u8)]) -> WorkspaceId {
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "parent": parent }));
    for (status, content) in made_ {
        let more = json!({ "status": status, "confidence": "high", "parent": run.view(&id).head,
            "files_changed": [file("a", *content), file("junk", *content)] });
        checkpoint(run, "w1", &id, more).unwrap();
    }
    run.signal("w1", &id, "failed");
    id
}

fn salvage(run: &mut Run, id: &WorkspaceId, more: impl Into<Value>) -> Result<Reply, Refusal> {
    let more: Value = more.into();
    let mut args = json!({ "workspace": id, "merged": [file("a", 7)], "reason": "r" });
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    run.do_(&Run::lead(), "integration.salvage", args)
}

fn last_start(run: &Run) -> althing_kernel::integration::Started {
    let starts = run.world.entries.iter().rev().find_map(|entry| match &entry.draft.event {
        Event::IntegrationStarted(body) => Some(body.clone()),
        _ => None,
    });
    starts.unwrap()
}

/// Shows W-INT-20, W-INT-21, W-INT-23.
#[test]
fn something_is_saved_of_what_failed_and_it_stays_failed() {
    use althing_kernel::integration::{Mode, Strategy};
    let mut run = Run::new();
    let root = run.root.clone();
    let id = failed(&mut run, &root, &[("provisional", 1)]);
    let before = run.count();
    salvage(&mut run, &id, json!({})).unwrap();
    let expected = [Kind::IntegrationStarted, Kind::SignalEmitted, Kind::IntegrationCompleted];
    assert_eq!(run.kinds_since(before), expected);
    let start = last_start(&run);
    assert_eq!((start.mode, start.strategy), (Mode::Salvage, Strategy::Evaluated));
    assert_eq!(start.confidence, Some(althing_kernel::checkpoint::Confidence::Low), "not high");
    let Event::IntegrationCompleted(done) = run.world.last_event() else { panic!() };
    assert_eq!(done.mode, Mode::Salvage);
    assert_eq!((run.status(&id), run.view(&id).ended), (Status::Failed, Some(Trigger::Failed)));
    let content = |n: u8| blob(n)["blob"].clone();
    assert_eq!(merged(&run, &root), [("a".to_owned(), content(7))], "what was named, alone");
    // Of anything else nothing is saved.
    for status in Status::ALL.iter().filter(|status| **status != Status::Failed) {
        let mut run = Run::new();
        let id = run.in_state(*status, json!({ "agent": "w1" }));
        assert_eq!(salvage(&mut run, &id, json!({})).unwrap_err().rule.id(), "W-INT-20");
    }
    let empty = failed(&mut run, &root, &[]);
    assert_eq!(salvage(&mut run, &empty, json!({})).unwrap_err().rule.id(), "W-INT-20");
    let args = json!({ "workspace": id, "merged": [] });
    run.refused(&agent("w2"), "integration.salvage", args, "W-INT-01");
}

/// Shows W-INT-22.
#[test]
fn the_newest_final_one_is_saved_else_the_newest_or_the_one_that_is_named() {
    let mut run = Run::new();
    let root = run.root.clone();
    let made = |run: &Run, id: &WorkspaceId| -> Vec<String> {
        let list = run.world.ask("checkpoint.list", &json!({ "workspace": id }).to_string());
        let ids = list.as_array().unwrap().iter().map(|made| made["checkpoint"].as_str().unwrap());
        ids.map(ToOwned::to_owned).collect()
    };
    let id = failed(&mut run, &root, &[("final", 1), ("provisional", 2), ("provisional", 3)]);
    let all = made(&run, &id);
    salvage(&mut run, &id, json!({})).unwrap();
    assert_eq!(last_start(&run).checkpoint_ref.as_str(), all[0]);
    salvage(&mut run, &id, json!({ "checkpoint": all[1] })).unwrap();
    assert_eq!(last_start(&run).checkpoint_ref.as_str(), all[1], "and more than once");
    let other = failed(&mut run, &root, &[("provisional", 1), ("provisional", 2)]);
    salvage(&mut run, &other, json!({})).unwrap();
    assert_eq!(last_start(&run).checkpoint_ref.as_str(), made(&run, &other)[1]);
    let foreign = salvage(&mut run, &other, json!({ "checkpoint": all[0] })).unwrap_err();
    assert_eq!(foreign.rule.id(), "W-ID-07");
}

/// Shows W-INT-20, W-DEL-02.
#[test]
fn what_is_saved_goes_to_the_nearest_workspace_above_that_takes_work() {
    let mut run = Run::new();
    let root = run.root.clone();
    let boss = run.in_state(Status::Active, json!({ "agent": "w2", "delegate": true }));
    let id = failed(&mut run, &boss, &[("final", 1)]);
    let args = json!({ "workspace": id, "merged": [file("a", 1)] });
    run.ok(&agent("w2"), "integration.salvage", args.clone());
    assert_eq!(merged(&run, &boss).len(), 1);
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": boss }));
    run.refused(&agent("w2"), "integration.salvage", args.clone(), "W-INT-01");
    run.ok(&Run::lead(), "integration.salvage", args.clone());
    assert_eq!(merged(&run, &root).len(), 1, "the one it was below has ended");
    // After the end of a run the next one can save something of it.
    run.ok(&Run::lead(), "run.end", json!({}));
    run.refused(&Run::lead(), "integration.salvage", args.clone(), "W-SYS-01");
    let next = crate::run::workspace_of(run.ok(
        &crate::support::user("ada"),
        "run.start",
        json!({ "agent": "lead" }),
    ));
    run.ok(&Run::lead(), "integration.salvage", args);
    assert_eq!(merged(&run, &next.workspace).len(), 1);
}

/// Shows W-INT-21, W-INT-22, W-INT-05, W-INT-08.
#[test]
fn conflicts_of_a_salvage_are_settled_without_a_step_of_its_workspace() {
    let mut run = Run::new();
    let root = run.root.clone();
    let found = json!({ "conflicts": [
        { "type": "semantic_contradiction", "description": "x" },
        { "type": "content_overlap", "description": "y", "resources": ["a"] }] });
    let conflicts = |reply: Reply| match reply {
        Reply::Integration(reply) => {
            assert_eq!(reply.status, Status::Failed);
            reply.conflicts
        }
        other => panic!("{other:?}"),
    };
    let resolve = |id: &WorkspaceId, conflict: &str, strategy: &str| {
        let mut args = json!({ "workspace": id, "conflict": conflict, "resolution": "r" });
        args["strategy"] = strategy.into();
        args
    };
    for (strategy, result) in [("coordinator_resolve", 1), ("agent_rework", 0)] {
        let id = failed(&mut run, &root, &[("final", 1)]);
        let before = (run.count(), merged(&run, &root).len());
        let more = json!({ "conflicts": found["conflicts"], "merged": [file(strategy, 1)] });
        let open = conflicts(salvage(&mut run, &id, more).unwrap());
        assert_eq!(open.len(), 2);
        let next = finished(&mut run, "w2", &[file("d", 4)]);
        assert_eq!(decide(&mut run, &next, json!({})).unwrap_err().rule.id(), "W-INT-05");
        let again = salvage(&mut run, &id, json!({})).unwrap_err();
        assert_eq!(again.rule.id(), "W-INT-05");
        for (open, settle) in open.iter().zip(["coordinator_resolve", strategy]) {
            run.ok(&Run::lead(), "conflict.resolve", resolve(&id, open.id.as_str(), settle));
        }
        assert_eq!(merged(&run, &root).len(), before.1 + result, "{strategy}");
        decide(&mut run, &next, json!({ "decision": "reject" })).unwrap();
        let of_salvage = run.world.entries[before.0..].iter().filter(|entry| {
            let (kind, body) = (entry.draft.event.kind(), format!("{:?}", entry.draft.event));
            let about =
                kind.as_str().starts_with("integration_") || kind.as_str().starts_with("conflict_");
            if about {
                assert!(body.contains("mode: Salvage"), "{body}");
            }
            about
        });
        assert_eq!(of_salvage.count(), 6, "begun, two found, two settled, over");
        assert_eq!(run.view(&id).ended, Some(Trigger::Failed));
    }
    // If its target ends, nothing is merged any more.
    let boss = run.in_state(Status::Active, json!({ "agent": "w2", "delegate": true }));
    let id = failed(&mut run, &boss, &[("final", 1)]);
    conflicts(salvage(&mut run, &id, found).unwrap());
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": boss }));
    assert_eq!(run.world.state.integrations().count(), 0);
    let kinds = run.world.kinds();
    let count = |kind: Kind| kinds.iter().filter(|own| **own == kind).count();
    assert_eq!(count(Kind::ConflictDetected), count(Kind::ConflictResolved), "each is closed");
}

/// Shows W-INT-04, W-INT-07.
#[test]
fn a_broken_rule_of_the_project_stops_a_merge_of_any_strategy() {
    let breach = json!({ "type": "constraint_breach", "description": "`make` failed",
        "resources": ["make"] });
    let mut run = Run::new();
    let root = run.root.clone();
    let first = finished(&mut run, "w1", &[file("a", 1)]);
    decide(&mut run, &first, json!({})).unwrap();
    for (strategy, more, count) in [
        ("direct", json!({}), 1),
        ("layered", json!({}), 2),
        ("evaluated", json!({ "merged": [] }), 1),
    ] {
        let id = finished(&mut run, "w2", &[file("a", 2)]);
        for kind in ["content_overlap", "semantic_contradiction", "dependency_violation"] {
            let found = json!([{ "type": kind, "description": "d" }]);
            if strategy != "evaluated" {
                let args = json!({ "strategy": strategy, "conflicts": found });
                let refusal = decide(&mut run, &id, args).unwrap_err();
                assert_eq!(refusal.rule.id(), "W-INT-03", "{strategy} does not find {kind}");
            }
        }
        let mut args = json!({ "strategy": strategy, "conflicts": [breach] });
        if let Some(files) = more.get("merged") {
            args["merged"] = files.clone();
        }
        let reply = decide(&mut run, &id, args).unwrap();
        assert_eq!((reply.status, reply.conflicts.len()), (Status::Conflicted, count));
        let last = reply.conflicts.last().unwrap();
        let args = json!({ "workspace": id, "conflict": last.id, "strategy": "agent_rework",
            "resolution": "r" });
        run.ok(&Run::lead(), "conflict.resolve", args);
        assert_eq!(run.view(&id).ended, Some(Trigger::AgentRework));
    }
    let content = blob(1)["blob"].clone();
    assert_eq!(merged(&run, &root), [("a".to_owned(), content)], "nothing of it was merged");
}

/// Shows W-INT-05, W-INT-06.
#[test]
fn the_order_of_merges_is_the_coordinators_and_stands_in_the_targets_trail() {
    let mut run = Run::new();
    let root = run.root.clone();
    let [a, b, c] =
        ["w1", "w2", "w3"].map(|who| finished(&mut run, who, &[file(who, who.as_bytes()[1])]));
    for id in [&b, &c, &a] {
        decide(&mut run, id, json!({})).unwrap();
    }
    let local =
        run.world.entries.iter().filter(|entry| entry.draft.workspace == Some(root.clone()));
    let order: Vec<_> = local
        .filter_map(|entry| match &entry.draft.event {
            Event::IntegrationStarted(body) => Some((body.source.clone(), true)),
            Event::IntegrationCompleted(body) => Some((body.source.clone(), false)),
            _ => None,
        })
        .collect();
    let expected: Vec<_> =
        [&b, &c, &a].into_iter().flat_map(|id| [(id.clone(), true), (id.clone(), false)]).collect();
    assert_eq!(order, expected, "one after another");
    assert_eq!(merged(&run, &root).len(), 3);
}
