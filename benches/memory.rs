//! Memory: what one more change of a record costs among few and among many.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark that fails should stop"
)]

use althing_kernel::project::Create;
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Caller, Command, IdKind, Mint, Principal, ProjectId, PublicKey, State, Timestamp,
    Transaction,
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
        format!("{:026}", self.0).into()
    }
}

const RECORDS: [u64; 2] = [3_000, 100_000];

fn now() -> Timestamp {
    Timestamp::from_secs(1_700_000_000)
}

fn caller(name: &str) -> Caller {
    let principal = Principal::Agent(AgentName::new(name).unwrap());
    Caller { principal, key: PublicKey::from_bytes([7; 32]), session: None }
}

fn command(name: &str, args: &Value) -> Command {
    Command::read(name, &args.to_string()).unwrap().unwrap()
}

/// A project in which so much is remembered: plans, decisions, traps and assignments.
fn filled(records: u64) -> (State, Counter) {
    let mut mint = Counter(0);
    let mut turn = Transaction::begin(State::default(), now(), &mut mint);
    let project = Create { name: Text::lossy("b"), project: ProjectId::new("b").unwrap() };
    let key = PublicKey::from_bytes([9; 32]);
    let system = Caller { principal: Principal::System, key, session: None };
    turn.decide(&system, &Command::ProjectCreate(project)).unwrap().result.unwrap();
    let create = ["plan", "decision", "trap", "assignment"].map(|kind| {
        let fields = if kind == "assignment" { json!({ "agent": "w" }) } else { json!({}) };
        let text = "what is to be remembered of it ".repeat(8);
        let args = json!({ "kind": kind, "text": text, "tags": ["a", "b"], "fields": fields });
        command("memory.create", &args)
    });
    for command in create.iter().cycle().take(usize::try_from(records).unwrap()) {
        turn.decide(&caller("alice"), command).unwrap().result.unwrap();
    }
    (turn.finish().0, mint)
}

fn measure(bencher: Bencher<'_, '_>, records: u64, who: &str, name: &str, args: &Value) {
    let (state, mut mint) = filled(records);
    let (who, command) = (caller(who), command(name, args));
    bencher.bench_local(|| {
        let mut turn = Transaction::begin(state.clone(), now(), &mut mint);
        let outcome = turn.decide(&who, &command).unwrap();
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        turn.finish()
    });
}

#[divan::bench(args = RECORDS)]
fn create_a_plan(bencher: Bencher<'_, '_>, records: u64) {
    measure(bencher, records, "alice", "memory.create", &json!({ "kind": "plan", "text": "t" }));
}

#[divan::bench(args = RECORDS)]
fn update_a_plan(bencher: Bencher<'_, '_>, records: u64) {
    let args = json!({ "id": "pln#400", "text": "other", "fields": { "priority": "high" } });
    measure(bencher, records, "alice", "memory.update", &args);
}

#[divan::bench(args = RECORDS)]
fn move_a_plan(bencher: Bencher<'_, '_>, records: u64) {
    measure(bencher, records, "alice", "memory.move", &json!({ "id": "pln#400", "to": "done" }));
}

#[divan::bench(args = RECORDS)]
fn accept_an_assignment(bencher: Bencher<'_, '_>, records: u64) {
    measure(bencher, records, "w", "memory.move", &json!({ "id": "asgn#400", "to": "accepted" }));
}

#[divan::bench(args = RECORDS)]
fn read_the_newest_fifty(bencher: Bencher<'_, '_>, records: u64) {
    let (state, _) = filled(records);
    bencher.bench_local(|| {
        let newest = state.memory().newest(althing_kernel::records::Kind::Plan, Some(true));
        newest.take(50).map(|own| own.version).sum::<u32>()
    });
}
