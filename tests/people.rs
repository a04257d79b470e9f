//! People on the command line: let in, limited, away, and what they may see.

use crate::support::{Ran, Sandbox};
use serde_json::json;

#[track_caller]
fn ok(project: &Sandbox, user: &str, args: &[&str]) -> serde_json::Value {
    let ran = project.as_user(user, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    ran.json()
}

#[track_caller]
fn rule(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.error()["rule"].as_str().unwrap().to_owned()
}

/// A project with ada, who may do everything, and bob, who was let in.
fn two_people() -> Sandbox {
    let project = Sandbox::new();
    project.login("ada");
    let bob = project.login("bob");
    ok(&project, "ada", &["users", "add", "bob", bob["key"].as_str().unwrap()]);
    project
}

/// Shows W-USER-02, W-USER-04, W-USER-41, W-USER-42.
#[test]
fn a_person_is_let_in_limited_sent_away_and_taken_back() {
    let project = two_people();
    let bob = project.json(&["user", "show", "bob"]);
    assert_eq!((&bob["status"], &bob["owned"]), (&json!("active"), &json!(0)));
    assert_eq!(bob["capabilities"].as_array().unwrap().len(), 7);

    // Only with one's own credential, and never as an agent.
    let none = project.run(&["users", "suspend", "bob", "--json"]);
    assert_eq!((none.code, none.error()["rule"].as_str()), (Some(2), Some("A-USE-04")));
    let (_, agents) = project.refused(&["users", "suspend", "bob", "--as", "mallory"]);
    assert_eq!(agents, "W-USER-01");
    assert_eq!(rule(&project.as_user("bob", &["users", "suspend", "ada"])), "W-USER-41");

    let away = ok(&project, "ada", &["users", "suspend", "bob", "--reason", "on leave"]);
    assert_eq!((&away["status"], &away["reason"]), (&json!("suspended"), &json!("on leave")));
    assert_eq!(rule(&project.as_user("bob", &["claim", "a"])), "W-USER-04");
    assert_eq!(
        rule(&project.as_user("ada", &["users", "unblock", "bob", "--condition", "c"])),
        "W-USER-02"
    );
    ok(&project, "ada", &["users", "block", "bob", "--condition", "no contract"]);
    ok(&project, "ada", &["users", "unblock", "bob", "--condition", "signed"]);
    ok(&project, "bob", &["claim", "a"]);
    assert_eq!(rule(&project.as_user("ada", &["users", "deactivate", "ada"])), "A-USER-01");

    let more = ok(&project, "ada", &["users", "grant", "bob", "abort_any", "suspend_any"]);
    assert_eq!(more["capabilities"].as_array().unwrap().len(), 9);
    ok(&project, "ada", &["users", "revoke", "bob", "abort_any", "--reason", "too eager"]);
    let unknown = project.as_user("ada", &["users", "grant", "bob", "fly"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    ok(&project, "ada", &["users", "deactivate", "bob"]);
    ok(&project, "ada", &["users", "reactivate", "bob"]);

    let shown = project.ok(&["users"]).out;
    assert!(shown.contains("everything") && shown.contains("8 capabilities"), "{shown}");
    let shown = project.ok(&["users", "show", "bob"]).out;
    assert!(shown.contains("suspend_any") && shown.contains("nothing now"), "{shown}");
    let denied = project.json(&["do", "trail.query", r#"{"kinds":["capability_denied"]}"#]);
    assert_eq!(denied.as_array().unwrap().len(), 2, "{denied}");
    project.ok(&["trail", "verify", "--signatures"]);
}

/// Shows W-USER-05, W-USER-10, W-USER-12, W-USER-41.
#[test]
fn people_do_what_they_may_in_the_workspaces_they_answer_for() {
    let project = two_people();
    let root = ok(&project, "ada", &["coordinator", "start", "--agent", "alice"]);
    assert_eq!((&root["owner"], &root["originator"]), (&json!("ada"), &json!("system")));
    let (first, second) = (project.worker("w1"), project.worker("w2"));
    let abort = ["workspace", "abort", first.as_str()];
    let denied = project.as_user("bob", &abort);
    assert_eq!(rule(&denied), "W-USER-41");
    let way_out = denied.error()["way_out"].as_str().unwrap().to_owned();
    assert!(way_out.contains("Ask the owner") && way_out.contains("_any"), "{way_out}");
    let unseen = project.as_user("bob", &["workspace", "abort", "agent:w1"]);
    assert_eq!(rule(&unseen), "W-ID-07", "what bob may not read is not there for him");
    assert_eq!(rule(&project.as_user("bob", &["coordinator", "stop", "--force"])), "W-USER-41");

    let given = ok(&project, "ada", &["workspace", "transfer", &first, "bob"]);
    assert_eq!((&given["owner"], &given["originator"]), (&json!("bob"), &json!("system")));
    assert_eq!(project.json(&["users", "show", "bob"])["owns"], json!([first]));
    let back = project.as_user("ada", &["workspace", "transfer", &first, "ada"]);
    assert_eq!(rule(&back), "W-USER-41", "who holds everything owns no more for that");
    let below = ["workspace", "create", "--agent", "w3", "--directive", "Work.", "--parent"];
    let own = ok(&project, "bob", &[&below[..], &[first.as_str()]].concat());
    assert_eq!((&own["owner"], &own["originator"]), (&json!("bob"), &json!("bob")));
    assert_eq!(
        rule(&project.as_user("bob", &[&below[..], &[second.as_str()]].concat())),
        "W-USER-41"
    );

    // In bob's name only his part is to be read, and asking for more is on record.
    let listed = project.json(&["workspace", "list", "--user", "bob"]);
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(project.json(&["workspace", "list", "--user", "ada"]).as_array().unwrap().len(), 4);
    let trail = project.ok(&["trail", "--all", "--json", "--user", "bob"]).out;
    assert!(!trail.contains(&second) && trail.contains(&first), "{trail}");
    assert!(project.ok(&["trail", "--workspace", &second, "--user", "bob"]).out.is_empty());
    let entries = project.entries();
    let denied = entries.iter().find(|entry| entry["kind"] == "trail_access_denied").unwrap();
    assert_eq!(denied["body"]["requester"], "user:bob");

    // The coordinator hears of it when somebody goes; the work goes on.
    ok(&project, "ada", &["users", "deactivate", "bob", "--reason", "left"]);
    let inbox = project.ok(&["inbox", "--as", "alice"]).out;
    assert!(inbox.contains("user:bob") && inbox.contains("user_deactivated"), "{inbox}");
    let taken = project.json(&["inbox", "--take", "--as", "alice"]);
    assert_eq!(taken["news"][0]["kind"], "user_deactivated");
    assert_eq!(project.json(&["workspace", "show", &first])["status"], "active");
    project.ok(&["workspace", "transfer", &first, "ada", "--as", "alice"]);
    project.ok(&["trail", "verify", "--signatures"]);
}
