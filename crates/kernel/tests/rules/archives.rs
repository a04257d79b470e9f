//! The trail's storage lifecycle: what may leave the store, when, and on whose word.

use crate::run::{Run, person_with, second_person};
use crate::support::{agent, system, user};
use althing_kernel::archive::{Number, Tier, is_archivable, may_be_archivable};
use althing_kernel::capability::Capability;
use althing_kernel::workspace::Status;
use althing_kernel::{Blob, Command, Event, Kind, Refusal, Reply, WorkspaceId};
use serde_json::{Value, json};

fn hash(number: u8) -> String {
    Blob::from_digest([number; 32]).to_string()
}

fn moved(id: &WorkspaceId, archived: u64) -> Value {
    let range = (archived > 0).then(|| json!({ "from": 3, "to": 9 }));
    json!({ "archived": archived, "preserved": 4, "range": range, "workspace": id })
}

impl Run {
    fn compact(&mut self, archive: u64, of: &[(&WorkspaceId, u64)]) -> Result<Reply, Refusal> {
        let workspaces: Vec<Value> = of.iter().map(|(id, count)| moved(id, *count)).collect();
        let args = json!({ "archive": archive, "hash": hash(1), "workspaces": workspaces });
        let command = Command::TrailCompact(serde_json::from_value(args).unwrap());
        self.world.run_command(&system(), &command)
    }

    fn prune(&mut self, archives: &[u64], by: &str, retention_s: u64) -> Result<Reply, Refusal> {
        let args = json!({ "archives": archives, "asked_by": by, "floor_hash": hash(2),
            "floor_seq": 100, "retention_s": retention_s });
        let command = Command::TrailPrune(serde_json::from_value(args).unwrap());
        self.world.run_command(&system(), &command)
    }
}

/// Shows W-TRAIL-44.
#[test]
fn only_kinds_on_the_closed_list_leave_the_store() {
    let listed = [
        "workspace_state_changed",
        "budget_warning",
        "liveness_warning",
        "priority_changed",
        "visibility_granted",
        "signal_delivered",
        "envelope_delivered",
    ];
    let found: Vec<&str> = Kind::ALL
        .iter()
        .filter(|kind| may_be_archivable(**kind))
        .map(|kind| kind.as_str())
        .collect();
    assert_eq!(found, listed);
    let mut run = Run::new();
    run.in_state(Status::Closed, json!({ "agent": "w1" }));
    run.in_state(Status::Failed, json!({ "agent": "w2" }));
    let (mut steps, mut ends, mut failures) = (0, 0, 0);
    for entry in &run.world.entries {
        let event = &entry.draft.event;
        match event {
            Event::WorkspaceStateChanged(body) if body.to_state.is_terminal() => {
                assert!(!is_archivable(event), "how a workspace ended stays: {body:?}");
                ends += 1;
                failures += usize::from(body.to_state == Status::Failed);
            }
            Event::WorkspaceStateChanged(_) => {
                assert!(is_archivable(event));
                steps += 1;
            }
            other => assert_eq!(is_archivable(other), may_be_archivable(other.kind())),
        }
    }
    assert!(steps > 3 && ends == 2 && failures == 1, "{steps} {ends} {failures}");
}

/// Shows W-TRAIL-42, W-TRAIL-43.
#[test]
fn entries_turn_warm_when_their_workspace_ends_and_only_warm_ones_are_compacted_once() {
    let mut run = Run::new();
    let (one, two) = (run.active(), run.in_state(Status::Active, json!({ "agent": "w2" })));
    let warm = |run: &Run| -> Vec<WorkspaceId> {
        run.world.state.warm().map(|(_, id)| id.clone()).collect()
    };
    assert_eq!(run.world.state.tier_of(Some(&one)), Tier::Hot);
    assert_eq!(run.world.state.tier_of(None), Tier::Hot);
    assert!(warm(&run).is_empty());
    let refused = run.compact(1, &[(&one, 5)]).unwrap_err();
    assert_eq!(refused.rule.id(), "A-TRAIL-03");
    for id in [&one, &two] {
        run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": id }));
        assert_eq!(run.world.state.tier_of(Some(id)), Tier::Warm);
    }
    assert_eq!(warm(&run), [one.clone(), two.clone()], "the longest ended first");

    let before = run.count();
    run.compact(1, &[(&one, 5), (&two, 0)]).unwrap();
    assert_eq!(run.kinds_since(before), [Kind::TrailCompacted; 2], "one for each workspace");
    let Event::TrailCompacted(body) = &run.world.entries[before].draft.event else { panic!() };
    assert_eq!((body.entries_archived, body.entries_preserved), (5, 4));
    assert_eq!(body.archive_hash.as_ref().map(ToString::to_string), Some(hash(1)));
    assert_eq!(body.archive_range.map(|range| (range.from, range.to)), Some((3, 9)));
    let Event::TrailCompacted(body) = run.world.last_event() else { panic!() };
    assert_eq!((body.archive, body.entries_archived), (None, 0), "nothing of it had to move");
    assert!(warm(&run).is_empty());
    let archive = run.world.state.archive(Number(1)).unwrap();
    assert_eq!((archive.entries, archive.workspaces), (5, 1));
    let refused = run.compact(2, &[(&one, 5)]).unwrap_err();
    assert_eq!(refused.rule.id(), "A-TRAIL-03", "once");
    let image = run.world.state.image();
    let again = althing_kernel::State::from_image(image.clone()).unwrap();
    assert_eq!(again.image(), image);
    assert_eq!(again.warm().count(), 0);
}

#[test]
fn nobody_but_the_runtime_says_that_something_was_archived() {
    let mut run = Run::new();
    let id = run.in_state(Status::Failed, json!({ "agent": "w1" }));
    let args = json!({ "archive": 1, "hash": hash(1), "workspaces": [moved(&id, 1)] });
    let command = Command::TrailCompact(serde_json::from_value(args).unwrap());
    for caller in [agent("lead"), user("ada")] {
        let refused = run.world.run_command(&caller, &command).unwrap_err();
        assert_eq!(refused.rule.id(), "A-ID-05");
    }
    assert_eq!(run.world.state.archives().count(), 0);
}

/// Shows W-TRAIL-45, W-USER-04, W-USER-41.
#[test]
fn an_archive_is_deleted_after_its_retention_and_on_somebodys_word() {
    let mut run = Run::new();
    let id = run.in_state(Status::Failed, json!({ "agent": "w1" }));
    run.compact(1, &[(&id, 5)]).unwrap();
    let day = 24 * 60 * 60;
    let rule = |refused: Result<Reply, Refusal>| refused.unwrap_err().rule.id();
    assert_eq!(rule(run.prune(&[1], "user:ada", day)), "A-TRAIL-05");
    run.world.pass(day);
    assert_eq!(rule(run.prune(&[1], "agent:w1", day)), "W-ROLE-04");
    person_with(&mut run.world, "bob", Capability::OWN_SCOPE);
    assert_eq!(rule(run.prune(&[1], "user:bob", day)), "W-USER-41", "not everybody");
    second_person(&mut run.world, "eve");
    let away = json!({ "user": "eve", "reason": "left" });
    run.ok(&user("ada"), "user.deactivate", away);
    assert_eq!(rule(run.prune(&[1], "user:eve", day)), "W-USER-04", "nobody who is gone");
    assert_eq!(rule(run.prune(&[2], "user:ada", day)), "W-ID-07");
    assert!(run.world.state.archive(Number(1)).unwrap().pruned.is_none());
    run.prune(&[1], "user:ada", day).unwrap();
    let Event::TrailPruned(body) = run.world.last_event() else { panic!() };
    assert_eq!((body.entries, body.floor_seq, body.retention_s), (5, 100, day));
    assert_eq!(run.world.state.replay_base().unwrap().seq, 100);
    assert!(run.world.state.archive(Number(1)).unwrap().pruned.is_some());
    assert_eq!(rule(run.prune(&[1], "user:ada", day)), "W-ID-07", "once");
}

#[test]
fn a_record_of_an_archive_that_cannot_be_is_noticed() {
    let mut run = Run::new();
    let live = run.active();
    let id = run.in_state(Status::Failed, json!({ "agent": "w2" }));
    run.compact(1, &[(&id, 5)]).unwrap();
    let (honest, last) = (run.world.last().clone(), run.count() - 1);
    let audit = |change: &dyn Fn(&mut althing_kernel::archive::Compacted)| {
        let mut entry = honest.clone();
        let Event::TrailCompacted(body) = &mut entry.draft.event else { panic!() };
        change(body);
        run.world.with(last, entry).is_ok()
    };
    assert!(audit(&|_| {}));
    assert!(!audit(&|body| body.workspace = live.clone()));
    assert!(!audit(&|body| body.archive = Some(Number(7))));
    assert!(!audit(&|body| body.archive = None));
    assert!(!audit(&|body| body.entries_archived = 0));
    assert!(!audit(&|body| body.archive_range = None));
    let mut by_somebody = honest.clone();
    by_somebody.draft.actor = agent("w1").principal.into();
    assert!(run.world.with(last, by_somebody).is_err());
    let mut elsewhere = honest.clone();
    elsewhere.draft.workspace = Some(id.clone());
    assert!(run.world.with(last, elsewhere).is_err());
}
