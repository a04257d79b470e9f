//! Many processes at once.

use crate::support::Sandbox;
use std::process::{Child, Stdio};

fn start(project: &Sandbox, args: &[String]) -> Child {
    project
        .command()
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(ToString::to_string).collect()
}

#[test]
fn of_fifty_processes_exactly_one_gets_the_surface() {
    let project = Sandbox::new();
    let surfaces = ["src", "src/a.rs", "src/*.rs", "src/**", "**/a.rs"];
    let racers: Vec<Child> = (0..50)
        .map(|n| start(&project, &strings(&["claim", surfaces[n % 5], "--as", &format!("r{n}")])))
        .collect();
    let codes: Vec<i32> =
        racers.into_iter().map(|mut racer| racer.wait().unwrap().code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == 3).count(), 49, "{codes:?}");
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 1);
    let kinds = project.kinds();
    assert_eq!(kinds.iter().filter(|kind| *kind == "command.refused").count(), 49);
    project.ok(&["trail", "verify", "--signatures"]);
}

#[test]
fn processes_that_share_a_name_share_its_key() {
    let project = Sandbox::new();
    let racers: Vec<Child> = (0..20)
        .map(|n| start(&project, &strings(&["claim", &format!("f{n}"), "--as", "twin"])))
        .collect();
    for mut racer in racers {
        assert_eq!(racer.wait().unwrap().code(), Some(0));
    }
    let kinds = project.kinds();
    assert_eq!(kinds.iter().filter(|kind| *kind == "agent.registered").count(), 1);
    assert_eq!(kinds.iter().filter(|kind| *kind == "session.opened").count(), 1);
    assert_eq!(project.json(&["claims"]).as_array().unwrap().len(), 20);
}

#[test]
fn setting_up_at_the_same_time_makes_one_project() {
    let project = Sandbox::without_project();
    let racers: Vec<Child> = (0..12).map(|_| start(&project, &strings(&["init"]))).collect();
    for mut racer in racers {
        assert_eq!(racer.wait().unwrap().code(), Some(0));
    }
    assert_eq!(project.kinds(), ["project.created"]);
    project.ok(&["trail", "verify"]);
}

#[test]
fn a_busy_writer_does_not_keep_others_out() {
    let project = Sandbox::new();
    let mut busy = project
        .command()
        .args(["do", "--lines", "--as", "busy"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = busy.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        use std::io::Write as _;
        for n in 0..200_000 {
            let line = format!(r#"{{"name":"lease.open","args":{{"surfaces":["busy/{n}"]}}}}"#);
            if writeln!(input, "{line}").is_err() {
                return;
            }
        }
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    let started = std::time::Instant::now();
    for n in 0..10 {
        project.ok(&["claim", &format!("other/{n}"), "--as", "other"]);
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    busy.kill().unwrap();
    busy.wait().unwrap();
    feeder.join().unwrap();
    project.ok(&["trail", "verify"]);
}
