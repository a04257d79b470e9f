//! Runs: deciding and applying the usual commands among many live workspaces.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark that fails should stop"
)]

use althing_kernel::content::Blob;
use althing_kernel::project::Create;
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Caller, Command, IdKind, Mint, Principal, ProjectId, PublicKey, Reply, State,
    Timestamp, Transaction, WorkspaceId,
};
use divan::Bencher;
use serde_json::{Value, json};
use std::sync::Arc;

fn main() {
    divan::main();
}

struct Counter(u64);

impl Mint for Counter {
    fn mint(&mut self, _: IdKind, _: Timestamp) -> Arc<str> {
        self.0 += 1;
        // Spread over the maps, as random ids are.
        format!("{:016x}{:010}", self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15), self.0).into()
    }
}

const LIVE: [u32; 3] = [100, 10_000, 100_000];

fn now() -> Timestamp {
    Timestamp::from_secs(1_700_000_000)
}

fn system() -> Caller {
    let key = PublicKey::from_bytes([9; 32]);
    Caller { principal: Principal::System, key, session: None }
}

fn agent(number: u32) -> Caller {
    let name = AgentName::new(&format!("agent{number}")).unwrap();
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    Caller { principal: Principal::Agent(name), key: PublicKey::from_bytes(key), session: None }
}

fn blob() -> Value {
    json!({ "blob": Blob::from_digest([7; 32]).to_string() })
}

fn command(name: &str, args: &Value) -> Command {
    Command::read(name, &args.to_string()).unwrap().unwrap()
}

fn create(agent: u32, parent: &WorkspaceId) -> Command {
    let args = json!({ "agent": format!("agent{agent}"), "role": "worker", "parent": parent,
        "directive": { "content": blob() }, "authority": ["src"] });
    command("workspace.create", &args)
}

struct Crowd {
    state: State,
    mint: Counter,
    root: WorkspaceId,
    /// One of the many, at work, and whose it is.
    one: (WorkspaceId, Caller),
}

/// A run with many live workspaces, two levels deep, all at work.
fn crowd(live: u32) -> Crowd {
    let mut mint = Counter(0);
    let mut turn = Transaction::begin(State::default(), now(), &mut mint);
    let done = |turn: &mut Transaction<'_>, who: &Caller, command: &Command| {
        turn.decide(who, command).unwrap().result.unwrap()
    };
    let project = Create { name: Text::lossy("b"), project: ProjectId::new("b").unwrap() };
    done(&mut turn, &system(), &Command::ProjectCreate(project));
    let id_of = |reply: Reply| match reply {
        Reply::Workspace(view) => view.workspace,
        other => panic!("{other:?}"),
    };
    let root = id_of(done(&mut turn, &system(), &command("run.start", &json!({}))));
    let mut parent = root.clone();
    let mut one = None;
    for number in 0..live {
        let who = agent(number);
        done(&mut turn, &who, &command("agent.register", &json!({})));
        let id = id_of(done(&mut turn, &system(), &create(number, &parent)));
        let ready = json!({ "type": "ready", "workspace": id });
        done(&mut turn, &who, &command("signal.emit", &ready));
        if number == live / 2 {
            one = Some((id.clone(), who));
        }
        if number % 100 == 0 && parent == root {
            parent = id;
        } else if number % 100 == 99 {
            parent = root.clone();
        }
    }
    let (state, _) = turn.finish();
    Crowd { state, mint, root, one: one.unwrap() }
}

fn measure(bencher: Bencher<'_, '_>, live: u32, ask: impl Fn(&Crowd) -> (Caller, Command)) {
    let mut crowd = crowd(live);
    let (caller, command) = ask(&crowd);
    bencher.bench_local(|| {
        let mut turn = Transaction::begin(crowd.state.clone(), now(), &mut crowd.mint);
        let outcome = turn.decide(&caller, &command).unwrap();
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        turn.finish()
    });
}

#[divan::bench(args = LIVE)]
fn send_an_envelope(bencher: Bencher<'_, '_>, live: u32) {
    measure(bencher, live, |crowd| {
        let (id, who) = crowd.one.clone();
        let (_, known) = crowd.state.workspaces().find(|(own, _)| **own == id).unwrap();
        // Its own parent, or the root for one right below it.
        let to = known.parent.clone().filter(|parent| *parent == crowd.root);
        let args = json!({ "workspace": id, "to": to.clone().unwrap_or(crowd.root.clone()),
            "type": "query", "payload": { "content": blob() } });
        if to.is_some() {
            return (who, command("envelope.send", &args));
        }
        let feedback = json!({ "to": crowd.top(), "type": "feedback",
            "payload": { "content": blob() } });
        (system(), command("envelope.send", &feedback))
    });
}

#[divan::bench(args = LIVE)]
fn emit_a_signal(bencher: Bencher<'_, '_>, live: u32) {
    measure(bencher, live, |crowd| {
        let (id, who) = crowd.one.clone();
        let args = json!({ "workspace": id, "type": "blocked", "reason": "r" });
        (who, command("signal.emit", &args))
    });
}

#[divan::bench(args = LIVE)]
fn create_a_checkpoint(bencher: Bencher<'_, '_>, live: u32) {
    measure(bencher, live, |crowd| {
        let (id, who) = crowd.one.clone();
        let args = json!({ "workspace": id, "type": "artifact", "status": "final", "intent": "i",
            "files_changed": [{ "path": "src/a.rs", "content": blob() }] });
        (who, command("checkpoint.create", &args))
    });
}

#[divan::bench(args = LIVE)]
fn create_a_workspace(bencher: Bencher<'_, '_>, live: u32) {
    measure(bencher, live, |crowd| (system(), create(1, &crowd.root)));
}

#[divan::bench(args = LIVE)]
fn take_from_an_inbox(bencher: Bencher<'_, '_>, live: u32) {
    measure(bencher, live, |crowd| {
        let (id, who) = crowd.one.clone();
        (who, command("inbox.take", &json!({ "workspace": id })))
    });
}

impl Crowd {
    /// A workspace right below the root.
    fn top(&self) -> WorkspaceId {
        let below = |parent: Option<&WorkspaceId>| parent == Some(&self.root);
        let mut all = self.state.workspaces();
        all.find(|(_, known)| below(known.parent.as_ref())).unwrap().0.clone()
    }
}
