//! Taxonomies: what a document may add, and the eleven checks it must pass.

use crate::run::{Run, payload};
use crate::support::{World, agent, user};
use althing_kernel::taxonomy::{Document, FaultKind, Taxonomy};
use althing_kernel::token::{RoleName, TypeName};
use althing_kernel::workspace::Status;
use serde_json::{Value, json};

fn document(more: impl Into<Value>) -> Value {
    let more: Value = more.into();
    let mut document = json!({ "id": "t", "version": "1", "protocol_version": "0.1" });
    for (key, value) in more.as_object().unwrap() {
        document[key] = value.clone();
    }
    document
}

fn load(value: Value) -> Result<Taxonomy, FaultKind> {
    let document: Document = serde_json::from_value(value).unwrap();
    Taxonomy::load(document).map_err(|fault| fault.kind)
}

fn role(more: impl Into<Value>) -> Value {
    let more: Value = more.into();
    let mut role = json!({ "name": "tester", "extends": "worker" });
    for (key, value) in more.as_object().unwrap() {
        role[key] = value.clone();
    }
    role
}

fn capability(action: &str, target: &str) -> Value {
    json!([{ "action": action, "target": target }])
}

/// Shows W-TAX-01, W-TAX-02, W-TAX-03, W-TAX-04, W-ROLE-05, W-ROLE-06, W-CONF-05.
#[test]
fn each_of_the_eleven_checks_rejects_the_whole_document() {
    let envelope = |name: &str, rows: Value| json!([{ "name": name, "permissions": rows }]);
    let row = |from: &str, to: &str| json!([{ "sender_role": from, "receiver_role": to }]);
    let cases = [
        (json!({ "protocol_version": "9" }), FaultKind::ProtocolVersion),
        (json!({ "roles": [role(json!({})), role(json!({}))] }), FaultKind::RoleTaken),
        (json!({ "roles": [role(json!({ "name": "worker" }))] }), FaultKind::RoleTaken),
        (
            json!({ "envelope_types": envelope("query", row("worker", "worker")) }),
            FaultKind::EnvelopeTypeTaken,
        ),
        (
            json!({ "checkpoint_types": [{ "name": "artifact", "permitted_roles": ["worker"] }] }),
            FaultKind::CheckpointTypeTaken,
        ),
        (json!({ "roles": [role(json!({ "extends": "coordinator" }))] }), FaultKind::NotABase),
        (
            json!({ "roles": [role(json!({})), role(json!({ "name": "x", "extends": "tester" }))] }),
            FaultKind::NotABase,
        ),
        (
            json!({ "roles": [role(json!({ "add": capability("create", "workspace") }))] }),
            FaultKind::Escalation,
        ),
        (
            json!({ "roles": [role(json!({ "add": capability("send", "directive") }))] }),
            FaultKind::Escalation,
        ),
        (
            json!({ "roles": [role(json!({ "extends": "observer",
            "add": capability("receive", "feedback") }))] }),
            FaultKind::Escalation,
        ),
        (
            json!({ "roles": [role(json!({ "extends": "observer",
            "override": { "checkpoint_types": ["artifact"] } }))] }),
            FaultKind::Escalation,
        ),
        (
            json!({ "envelope_types": envelope("note", row("observer", "worker")) }),
            FaultKind::Escalation,
        ),
        (
            json!({ "checkpoint_types": [{ "name": "plan", "permitted_roles": ["coordinator"] }] }),
            FaultKind::Escalation,
        ),
        (
            json!({ "roles": [role(json!({ "override": { "checkpoint_types": ["ghost"] } }))] }),
            FaultKind::UnknownType,
        ),
        (
            json!({ "roles": [role(json!({ "add": capability("send", "ghost") }))] }),
            FaultKind::UnknownType,
        ),
        (
            json!({ "envelope_types": envelope("note", row("ghost", "worker")) }),
            FaultKind::EnvelopeRole,
        ),
        (
            json!({ "checkpoint_types": [{ "name": "plan", "permitted_roles": ["ghost"] }] }),
            FaultKind::CheckpointRole,
        ),
        (json!({ "envelope_types": envelope("note", json!([])) }), FaultKind::NoPermissions),
        (
            json!({ "checkpoint_types": [{ "name": "plan", "permitted_roles": [] }] }),
            FaultKind::NoRoles,
        ),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (more, fault) in cases {
        assert_eq!(load(document(more.clone())).err(), Some(fault), "{more}");
        seen.insert(fault);
        // The run does not start.
        let mut world = World::new();
        let args = json!({ "taxonomy": document(more.clone()) });
        let refusal = world.run(&user("ada"), "run.start", &args.to_string()).unwrap_err();
        assert_eq!(refusal.rule.id(), "W-TAX-03", "{more}");
        assert_eq!(world.state.root(), None);
    }
    assert!(seen.iter().eq(FaultKind::ALL), "all eleven: {seen:?}");
    let foreign: Result<Document, _> =
        serde_json::from_value(document(json!({ "signal_types": ["progress"] })));
    assert!(foreign.is_err(), "nothing but roles and types is added");
}

/// Shows W-TAX-08, W-ROLE-03.
#[test]
fn without_a_document_there_are_the_base_roles_and_types() {
    let base = Taxonomy::base();
    assert_eq!(load(document(json!({}))).unwrap().roles().count(), base.roles().count());
    let (coordinator, worker, observer) =
        (RoleName::coordinator(), RoleName::worker(), RoleName::observer());
    let roles = [&coordinator, &worker, &observer];
    let mut rows = Vec::new();
    for from in roles {
        for to in roles {
            for kind in base.envelope_types() {
                if base.permits(from, kind, to) {
                    rows.push(format!("{from} {kind} {to}"));
                }
            }
        }
    }
    let expected =
        ["coordinator directive worker", "coordinator feedback worker", "worker query coordinator"];
    assert_eq!(rows, expected);
    assert!(base.creates(&worker, &TypeName::artifact()));
    assert!(base.creates(&observer, &TypeName::observation()));
    assert!(!base.creates(&coordinator, &TypeName::artifact()));
}

/// Shows W-ROLE-05, W-ROLE-07, W-TAX-06, W-TAX-09.
#[test]
fn a_derived_role_is_its_base_less_what_is_removed_and_more_what_is_added() {
    let reviewer = role(json!({ "name": "reviewer",
        "add": [{ "action": "send", "target": "report" },
                { "action": "read", "target": "assigned_workspace" }],
        "remove": [{ "action": "send", "target": "query" },
                   { "action": "create", "target": "artifact" }],
        "override": { "checkpoint_types": ["review"] } }));
    let taxonomy = load(document(json!({
        "roles": [reviewer, role(json!({ "name": "quiet",
            "remove": [{ "action": "receive", "target": "feedback" }] }))],
        "envelope_types": [{ "name": "report", "permissions":
            [{ "sender_role": "reviewer", "receiver_role": "coordinator" }] }],
        "checkpoint_types": [{ "name": "review", "permitted_roles": ["reviewer"],
            "required_fields": ["content"] }] })))
    .unwrap();
    let name = |text: &str| RoleName::new(text).unwrap();
    let kind = |text: &str| TypeName::new(text).unwrap();
    let (reviewer, quiet, lead) = (name("reviewer"), name("quiet"), RoleName::coordinator());
    assert!(taxonomy.permits(&reviewer, &kind("report"), &lead));
    assert!(!taxonomy.permits(&reviewer, &kind("query"), &lead), "removed");
    assert!(taxonomy.permits(&lead, &kind("directive"), &reviewer), "base rows hold for it");
    assert!(taxonomy.permits(&lead, &kind("directive"), &quiet));
    assert!(!taxonomy.permits(&lead, &kind("feedback"), &quiet), "removed");
    assert!(!taxonomy.permits(&RoleName::worker(), &kind("report"), &lead), "its own alone");
    assert!(taxonomy.creates(&reviewer, &kind("review")));
    assert!(!taxonomy.creates(&reviewer, &TypeName::artifact()), "overridden");
    assert_eq!(taxonomy.required_fields(&kind("review")), Some(&["content".to_owned()][..]));
}

/// Shows W-TAX-05, W-TAX-07, W-TAX-02.
#[test]
fn what_a_run_registers_is_what_it_knows() {
    let taxonomy = document(json!({
        "roles": [role(json!({}))],
        "checkpoint_types": [{ "name": "report", "permitted_roles": ["tester"],
            "required_fields": ["content"] }] }));
    let mut run = Run::with_taxonomy(Some(taxonomy));
    let id = run.in_state(Status::Active, json!({ "agent": "w1", "role": "tester" }));
    let report = |more: Value| {
        let mut args = json!({ "workspace": id, "type": "report", "status": "final",
            "intent": "i" });
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        args
    };
    run.refused(&agent("w1"), "checkpoint.create", report(json!({})), "W-CP-01");
    run.ok(&agent("w1"), "checkpoint.create", report(json!({ "content": crate::run::blob(1) })));
    let shown = run.world.ask("run.get", "{}");
    assert_eq!(shown["taxonomy"], json!({ "id": "t", "version": "1" }));
    // The next run knows nothing of it.
    run.ok(&user("ada"), "run.end", json!({ "force": true }));
    run.ok(&user("ada"), "run.start", json!({ "agent": "lead" }));
    let args = json!({ "agent": "w1", "role": "tester", "directive": payload(1) });
    run.refused(&Run::lead(), "workspace.create", args, "W-WS-13");
}
