//! Kill -9: processes die at any moment, and nothing that was acknowledged is lost.
//!
//! Several processes write to one project as fast as they can and are killed after a random
//! time. Everything they were told is done must be in the trail afterwards, the trail must be
//! sound, and no commit may be there in part. `ALTHING_TORTURE_KILLS=n` kills more often.

use crate::support::Sandbox;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A process that writes, with threads that feed it and listen to it.
struct Victim {
    child: Child,
    feeder: std::thread::JoinHandle<()>,
    listener: std::thread::JoinHandle<Vec<Value>>,
    /// Has something once it was told that something is done.
    heard: mpsc::Receiver<()>,
}

fn start(project: &Sandbox, round: usize, number: usize) -> Victim {
    // A session holds so many leases and no more, so each round has agents of its own.
    let name = format!("victim{round}-{number}");
    let mut child = project
        .command()
        .args(["do", "--lines", "--as", &name])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        for n in 0..100_000 {
            let surface = format!("{name}/{round}/{n}");
            let line = format!(r#"{{"name":"lease.open","args":{{"surfaces":["{surface}"]}}}}"#);
            // Slow enough that commits of one and of many both happen.
            if n % 40 == 0 {
                std::thread::sleep(Duration::from_micros(300));
            }
            if writeln!(input, "{line}").is_err() {
                return;
            }
        }
    });
    let output = BufReader::new(child.stdout.take().unwrap());
    let (tell, heard) = mpsc::sync_channel(1);
    let listener = std::thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok);
        let lines = lines.inspect(|_| {
            // Once is enough.
            let _ = tell.try_send(());
        });
        // The last line may have been cut off by the kill; then it was not received.
        lines.filter_map(|line| serde_json::from_str(&line).ok()).collect()
    });
    Victim { child, feeder, listener, heard }
}

/// A small generator, so that a run can be repeated.
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

/// Shows W-REC-01, W-REC-07, W-TRAIL-41.
#[test]
fn nothing_acknowledged_is_lost_however_often_processes_are_killed() {
    let kills: usize =
        std::env::var("ALTHING_TORTURE_KILLS").map_or(240, |text| text.parse().unwrap());
    let project = Sandbox::new();
    let mut random = 0x9e37_79b9_7f4a_7c15;
    let mut acknowledged: BTreeSet<String> = BTreeSet::new();
    let mut killed = 0;
    let mut round = 0;
    while killed < kills {
        round += 1;
        let victims: Vec<Victim> = (0..3).map(|n| start(&project, round, n)).collect();
        // Every other round they die in the midst of writing, however slow the machine is; in
        // the others at any time, also while they start.
        if round.is_multiple_of(2) {
            victims[0].heard.recv_timeout(Duration::from_mins(1)).unwrap();
        }
        std::thread::sleep(Duration::from_micros(3_000 + next(&mut random) % 40_000));
        for mut victim in victims {
            victim.child.kill().unwrap();
            victim.child.wait().unwrap();
            killed += 1;
            for answer in victim.listener.join().unwrap() {
                if answer["error"]["rule"] == "A-LEASE-06" {
                    continue;
                }
                assert!(answer["error"].is_null(), "{answer}");
                acknowledged.insert(answer["ok"]["lease"].as_str().unwrap().to_owned());
            }
            victim.feeder.join().unwrap();
        }
        if round % 20 == 0 {
            check(&project, &acknowledged);
        }
    }
    check(&project, &acknowledged);
    assert!(acknowledged.len() > kills, "{} acknowledged", acknowledged.len());
    println!("{killed} kills, {} acknowledged, none lost", acknowledged.len());
    // And the project goes on as if nothing had happened.
    project.claim("survivor", "after it all");
    every_death_is_on_record_once(&project);
}

/// Recoveries were killed like everything else.
fn every_death_is_on_record_once(project: &Sandbox) {
    let entries = project.entries();
    let recovered = entries.iter().filter(|entry| entry["kind"] == "recovery_completed");
    let named: Vec<&Value> =
        recovered.flat_map(|entry| entry["body"]["writers"].as_array().unwrap()).collect();
    let distinct: BTreeSet<String> = named.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), named.len(), "no death is on record twice");
    assert!(!named.is_empty());
    let folder = project.state().join("trail.db-writers");
    let left = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| !name.to_string_lossy().ends_with(".new")).collect();
    assert!(left.is_empty(), "nobody is left to recover from: {left:?}");
}

fn check(project: &Sandbox, acknowledged: &BTreeSet<String>) {
    project.ok(&["trail", "verify"]);
    let export = project.ok(&["trail", "export"]).out;
    let stored: BTreeSet<String> = export
        .lines()
        .filter(|line| line.contains("\"kind\":\"lease.opened\""))
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            entry["body"]["lease"].as_str().unwrap().to_owned()
        })
        .collect();
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let live = project.json(&["claims"]).as_array().unwrap().len();
    assert_eq!(live, stored.len(), "the state is what the trail says");
}
