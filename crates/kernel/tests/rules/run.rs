//! A run to try the rules in: a coordinator `lead`, workers and observers, in any state.

use crate::support::{World, agent, user};
use althing_kernel::capability::Capability;
use althing_kernel::content::Blob;
use althing_kernel::workspace::Status;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Caller, EnvelopeId, Kind, Refusal, Reply, WorkspaceId};
use serde_json::{Value, json};

/// A blob that is made from a number; nobody looks at what is in it here.
pub(crate) fn blob(number: u8) -> Value {
    json!({ "blob": Blob::from_digest([number; 32]).to_string() })
}

pub(crate) fn payload(number: u8) -> Value {
    json!({ "content": blob(number) })
}

/// A world with a run that `lead` coordinates, and some agents that showed up.
pub(crate) struct Run {
    pub(crate) world: World,
    pub(crate) root: WorkspaceId,
}

impl Run {
    pub(crate) fn new() -> Self {
        Run::with_taxonomy(None)
    }

    pub(crate) fn with_taxonomy(taxonomy: Option<Value>) -> Self {
        Run::begun(taxonomy, &json!({ "gates": [] }))
    }

    /// A run with approvals of its own; the others wait for nobody.
    pub(crate) fn with_approvals(highway: impl Into<Value>) -> Self {
        Run::begun(None, &highway.into())
    }

    fn begun(taxonomy: Option<Value>, highway: &Value) -> Self {
        let mut world = World::new();
        for name in ["lead", "w1", "w2", "w3", "watcher"] {
            world.run(&agent(name), "agent.register", "{}").unwrap();
        }
        let mut start = json!({ "agent": "lead", "highway": highway });
        if let Some(taxonomy) = taxonomy {
            start["taxonomy"] = taxonomy;
        }
        let reply = world.run(&user("ada"), "run.start", &start.to_string()).unwrap();
        let root = workspace_of(reply).workspace;
        Run { world, root }
    }

    pub(crate) fn lead() -> Caller {
        agent("lead")
    }

    pub(crate) fn do_(
        &mut self,
        who: &Caller,
        name: &str,
        args: impl Into<Value>,
    ) -> Result<Reply, Refusal> {
        self.world.run(who, name, &args.into().to_string())
    }

    pub(crate) fn ok(&mut self, who: &Caller, name: &str, args: impl Into<Value>) -> Reply {
        let args: Value = args.into();
        self.do_(who, name, args.clone()).unwrap_or_else(|no| panic!("{name} {args}: {no:?}"))
    }

    /// A command that must be refused for this rule.
    pub(crate) fn refused(
        &mut self,
        who: &Caller,
        name: &str,
        args: impl Into<Value>,
        rule: &str,
    ) -> Refusal {
        let args: Value = args.into();
        let before = self.world.entries.len();
        let Err(refusal) = self.do_(who, name, args.clone()) else { panic!("{name} {args}") };
        assert_eq!(refusal.rule.id(), rule, "{name} {args}: {refusal:?}");
        let mut kinds = self.kinds_since(before);
        // Whoever acts for the first time has shown who it is.
        kinds.retain(|kind| *kind != Kind::AuthenticationSucceeded);
        assert_eq!(kinds.len(), 1, "a refusal is one entry: {name} {args}");
        refusal
    }

    /// A fresh workspace, idle.
    pub(crate) fn create(&mut self, who: &Caller, args: impl Into<Value>) -> WorkspaceId {
        let args: Value = args.into();
        let mut full = json!({ "role": "worker", "directive": payload(1) });
        for (key, value) in args.as_object().unwrap() {
            full[key] = value.clone();
        }
        workspace_of(self.ok(who, "workspace.create", full)).workspace
    }

    pub(crate) fn signal(&mut self, who: &str, id: &WorkspaceId, kind: &str) -> bool {
        let args = json!({ "workspace": id, "type": kind, "reason": "r" });
        match self.ok(&agent(who), "signal.emit", args) {
            Reply::Signal(reply) => reply.effect,
            other => panic!("{other:?}"),
        }
    }

    /// A worker of `w1` that has begun.
    pub(crate) fn active(&mut self) -> WorkspaceId {
        self.in_state(Status::Active, json!({ "agent": "w1" }))
    }

    /// A workspace that was brought into a state by the steps of the table.
    pub(crate) fn in_state(&mut self, status: Status, args: Value) -> WorkspaceId {
        let (lead, who) = (Run::lead(), args["agent"].as_str().unwrap().to_owned());
        let id = self.create(&lead, args);
        if status == Status::Idle {
            return id;
        }
        self.signal(&who, &id, "ready");
        let finish = |run: &mut Run| {
            let observer = run.view(&id).role.as_str() == "observer";
            let kind = if observer { "observation" } else { "artifact" };
            run.checkpoint(&who, &id, kind, &["src/a.rs"]);
            run.signal(&who, &id, "complete");
        };
        match status {
            Status::Idle | Status::Active => {}
            Status::Blocked => drop(self.signal(&who, &id, "blocked")),
            Status::Migrating => {
                let args = json!({ "workspace": id, "agent": "w3" });
                self.ok(&lead, "workspace.migrate", args);
            }
            Status::Suspended => {
                self.ok(&lead, "workspace.suspend", json!({ "workspace": id }));
            }
            Status::Integrating => finish(self),
            Status::Conflicted => {
                finish(self);
                let conflict = json!([{ "type": "constraint_breach", "description": "d" }]);
                let args = json!({ "workspace": id, "decision": "accept", "strategy": "evaluated",
                    "merged": [], "conflicts": conflict });
                self.ok(&lead, "integration.decide", args);
            }
            Status::Closed => {
                finish(self);
                let args = json!({ "workspace": id, "decision": "accept" });
                self.ok(&lead, "integration.decide", args);
            }
            Status::Failed => {
                self.ok(&lead, "workspace.abort", json!({ "workspace": id }));
            }
        }
        assert_eq!(self.status(&id), status);
        id
    }

    pub(crate) fn checkpoint(&mut self, who: &str, id: &WorkspaceId, kind: &str, files: &[&str]) {
        let files: Vec<Value> =
            files.iter().map(|path| json!({ "path": path, "content": blob(7) })).collect();
        let args = json!({ "workspace": id, "type": kind, "status": "final", "intent": "i",
            "files_changed": files, "parent": self.view(id).head });
        self.ok(&agent(who), "checkpoint.create", args);
    }

    pub(crate) fn view(&self, id: &WorkspaceId) -> WorkspaceView {
        let (_, known) = self.world.state.workspaces().find(|(own, _)| *own == id).unwrap();
        let list = self.world.ask("workspace.get", &json!({ "workspace": id }).to_string());
        assert_eq!(list["status"], json!(known.status));
        self.views().into_iter().find(|view| view.workspace == *id).unwrap()
    }

    fn views(&self) -> Vec<WorkspaceView> {
        use althing_kernel::query::{Answer, Query, answer};
        let query = Query::read("workspace.list", "{}").unwrap().unwrap();
        match answer(&self.world.state, self.world.now, &query) {
            Answer::Workspaces(views) => views,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn status(&self, id: &WorkspaceId) -> Status {
        self.world.state.workspaces().find(|(own, _)| *own == id).unwrap().1.status
    }

    /// Sends from one's workspace; returns the envelope.
    pub(crate) fn send(
        &mut self,
        who: &str,
        from: &WorkspaceId,
        to: &WorkspaceId,
        kind: &str,
    ) -> Result<EnvelopeId, Refusal> {
        let args = json!({ "workspace": from, "to": to, "type": kind, "payload": payload(2) });
        self.do_(&agent(who), "envelope.send", args).map(|reply| match reply {
            Reply::Envelope(envelope) => envelope.envelope,
            other => panic!("{other:?}"),
        })
    }

    /// The kinds of the entries since a count, in order.
    pub(crate) fn kinds_since(&self, count: usize) -> Vec<Kind> {
        self.world.entries[count..].iter().map(|entry| entry.draft.event.kind()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.world.entries.len()
    }

    /// Checks that every entry passes the audit and that replay leads to the same state.
    pub(crate) fn sound(&self) {
        self.world.is_sound();
    }

    /// The id of the only live right from one workspace to another.
    pub(crate) fn right(&self, holder: &WorkspaceId, target: &WorkspaceId) -> Option<String> {
        let mut rights = self.world.state.rights();
        let found = rights.find(|(_, right)| right.holder == *holder && right.target == *target);
        found.map(|(id, _)| id.to_string())
    }
}

pub(crate) fn workspace_of(reply: Reply) -> WorkspaceView {
    match reply {
        Reply::Workspace(view) => *view,
        other => panic!("not a workspace: {other:?}"),
    }
}

/// A person who is in the project besides `ada`, and may do as much.
pub(crate) fn second_person(world: &mut World, name: &str) -> Caller {
    person_with(world, name, Capability::ALL)
}

/// A person who is in the project and may do this much.
pub(crate) fn person_with(world: &mut World, name: &str, may: &[Capability]) -> Caller {
    let person = user(name);
    let args = json!({ "user": name, "key": person.key, "capabilities": may });
    world.run(&user("ada"), "user.create", &args.to_string()).unwrap();
    person
}
