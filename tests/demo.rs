//! The demo does what it says.

use crate::support::Sandbox;

#[test]
fn the_demo_shows_a_race_a_crash_a_takeover_and_a_sound_trail() {
    let project = Sandbox::bare();
    let shown = project.json(&["demo", "--agents", "4"]);
    let agents = shown["summary"]["agents"].as_object().unwrap();
    assert_eq!(agents.len(), 5, "three agents, the one that crashes, and its heir");
    assert_eq!(agents["crasher"]["granted"], 1);
    assert!(agents["heir"]["granted"].as_u64() >= Some(1));
    assert!(agents.values().any(|agent| agent["refused"].as_u64() > Some(0)), "they collided");
    assert_eq!(shown["summary"]["expired"], 1);
    assert_eq!(shown["summary"]["takeovers"], 1);
    for file in shown["files"].as_array().unwrap() {
        assert_eq!(file["in_order"], true, "{file}");
    }
    assert!(shown["verified"]["caller_signatures"].as_u64() > Some(20));
    assert!(shown["folder"].is_null(), "nothing stays behind");
}

#[test]
fn the_demo_can_be_kept_and_looked_at() {
    let project = Sandbox::bare();
    let shown = project.json(&["demo", "--agents", "2", "--keep"]);
    let folder = shown["folder"].as_str().unwrap().to_owned();
    project.ok(&["trail", "verify", "--project", &folder]);
    std::fs::remove_dir_all(folder).unwrap();
}
