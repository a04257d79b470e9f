//! The arithmetic of budgets: whatever workspaces below one another do, nobody draws more than
//! there is, and the sums kept along the way are the sums there are.

use crate::run::{Run, payload, second_person, workspace_of};
use althing_kernel::WorkspaceId;
use althing_kernel::workspace::budget::Dimension;
use althing_kernel::workspace::{Status, Workspace};
use proptest::prelude::*;
use serde_json::json;

const DIMENSION: Dimension = Dimension::TokenLimit;
/// The most that one step uses.
const STEP_MAX: u64 = 80;

#[derive(Clone, Debug)]
enum Step {
    Create { above: prop::sample::Index, limit: u64 },
    Use { who: prop::sample::Index, tokens: u64 },
    Raise { who: prop::sample::Index, by: u64 },
    Abort { who: prop::sample::Index },
}

fn step() -> impl Strategy<Value = Step> {
    let one = any::<prop::sample::Index>;
    prop_oneof![
        4 => (one(), 1..400u64).prop_map(|(above, limit)| Step::Create { above, limit }),
        5 => (one(), 1..STEP_MAX).prop_map(|(who, tokens)| Step::Use { who, tokens }),
        2 => (one(), 1..200u64).prop_map(|(who, by)| Step::Raise { who, by }),
        1 => one().prop_map(|who| Step::Abort { who }),
    ]
}

/// A tree of workspaces that all draw on the first.
struct Tree {
    run: Run,
    known: Vec<WorkspaceId>,
    owners: &'static [&'static str],
}

impl Tree {
    fn new(owners: &'static [&'static str]) -> Self {
        let mut run = Run::new();
        second_person(&mut run.world, "bob");
        let top = json!({ "agent": "w1", "delegate": true, "owner": "ada",
            "budget": { "token_limit": 1000 } });
        let known = vec![run.in_state(Status::Active, top)];
        Tree { run, known, owners }
    }

    fn of(&self, id: &WorkspaceId) -> &Workspace {
        self.run.world.state.workspace(id).unwrap()
    }

    fn drawn(&self, id: &WorkspaceId) -> u64 {
        self.of(id).drawn(DIMENSION, self.run.world.now)
    }

    fn limit(&self, id: &WorkspaceId) -> u64 {
        self.of(id).budget[&DIMENSION].get()
    }

    /// Takes a step; what the rules refuse does not happen.
    fn take(&mut self, step: &Step) {
        let lead = Run::lead();
        let pick = |index: &prop::sample::Index| self.known[index.index(self.known.len())].clone();
        match step {
            Step::Create { above, limit } => {
                let above = pick(above);
                let left = self.of(&above).left(DIMENSION, self.run.world.now).unwrap();
                let fits = self.of(&above).status == Status::Active && *limit <= left;
                let owner = self.owners[self.known.len() % self.owners.len()];
                let args = json!({ "agent": "w1", "role": "worker", "delegate": true,
                    "parent": above, "directive": payload(1), "owner": owner,
                    "budget": { "token_limit": limit } });
                let made = self.run.do_(&lead, "workspace.create", args);
                assert_eq!(made.is_ok(), fits, "{limit} where {left} are left");
                if let Ok(made) = made {
                    let id = workspace_of(made).workspace;
                    self.run.signal("w1", &id, "ready");
                    self.known.push(id);
                }
            }
            Step::Use { who, tokens } => {
                let id = pick(who);
                let over = self.drawn(&id) + tokens >= self.limit(&id);
                let args = json!({ "workspace": id, "tokens": tokens });
                if self.run.do_(&lead, "meter.report", args).is_ok() {
                    assert_eq!(self.run.status(&id) == Status::Failed, over);
                }
            }
            Step::Raise { who, by } => {
                let id = pick(who);
                let args = json!({ "token_limit": self.limit(&id) + by });
                let args = json!({ "workspace": id, "limits": args });
                let _ = self.run.do_(&lead, "workspace.modify_budget", args);
            }
            Step::Abort { who } => {
                let args = json!({ "workspace": pick(who) });
                let _ = self.run.do_(&lead, "workspace.abort", args);
            }
        }
    }

    /// The expected reservation for the children of a workspace: the limits of live ones, and the
    /// use of ended ones.
    fn set_aside(&self, id: &WorkspaceId) -> u64 {
        let below = self.known.iter().filter(|child| self.of(child).parent.as_ref() == Some(id));
        let part = |child: &WorkspaceId| {
            let used = self.of(child).used(DIMENSION, self.run.world.now);
            if self.of(child).status.is_terminal() {
                used + self.set_aside(child)
            } else {
                self.limit(child)
            }
        };
        below.map(part).sum()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Shows W-RES-08, W-DEL-03.
    #[test]
    fn nobody_draws_more_than_there_is(
        steps in prop::collection::vec(step(), 1..40),
        owners in prop::sample::select(vec![&["ada"][..], &["ada", "bob"]]),
    ) {
        let mut tree = Tree::new(owners);
        for step in &steps {
            tree.take(step);
            // What belongs to somebody else may go to the root; what it used before stays.
            let moves = owners.len() > 1;
            for id in &tree.known {
                let given = tree.of(id).given.get(&DIMENSION).copied().unwrap_or_default();
                let sum = tree.set_aside(id);
                prop_assert!(given == sum || (moves && given > sum), "{} is not {}", given, sum);
            }
            // One who takes a last step may go beyond a limit by less than that step.
            let used = tree.known.iter().map(|id| tree.of(id).used(DIMENSION, tree.run.world.now));
            let most = tree.limit(&tree.known[0]) + STEP_MAX * tree.known.len() as u64;
            prop_assert!(moves || used.sum::<u64>() < most);
        }
        let world = &tree.run.world;
        world.is_sound();
    }
}
