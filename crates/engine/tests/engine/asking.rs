//! Queries by time: the binary search finds the same entries as a full scan.

use crate::support::{Project, agent, claim, lease_of, release};
use althing_engine::Engine;
use althing_engine::trail_query::TrailQuery;
use althing_kernel::{Span, Timestamp};

fn places(engine: &Engine, query: &TrailQuery) -> Vec<u64> {
    let query = TrailQuery { limit: Some(10_000), ..query.clone() };
    let found = query.find(&mut *engine.reader().unwrap()).unwrap();
    found.iter().map(|found| found.entry.seq).collect()
}

#[test]
fn a_search_by_time_does_not_read_earlier_entries() {
    let project = Project::new();
    let engine = project.open();
    let alice = agent(&engine, "alice");
    // Commits of one entry and of several, close together and far apart.
    for n in 0..12_u64 {
        let lease = lease_of(alice.execute(claim(&format!("a{n}"))).unwrap());
        if n % 3 == 0 {
            project.clock.pass(Span::from_secs(n * 10));
            alice.execute(release(&lease)).unwrap();
        }
    }
    let all = TrailQuery { limit: Some(10_000), ..TrailQuery::default() };
    let all = all.find(&mut *engine.reader().unwrap()).unwrap();
    let stamps: Vec<(u64, u64)> =
        all.iter().map(|found| (found.entry.seq, found.entry.stamped.at.micros())).collect();
    assert!(stamps.len() > 15);
    let ends = [0, u64::from(u32::MAX), stamps.last().unwrap().1 + 1_000_000];
    let edges = stamps.iter().flat_map(|(_, at)| [at - 1, *at, at + 1]).chain(ends);
    for time in edges {
        let since = Some(Timestamp::from_micros(time));
        let expected: Vec<u64> =
            stamps.iter().filter(|(_, at)| *at >= time).map(|(seq, _)| *seq).collect();
        for last in [false, true] {
            let query = TrailQuery { since, last, ..TrailQuery::default() };
            assert_eq!(places(&engine, &query), expected, "since {time}, last {last}");
        }
        let until = TrailQuery { until: since, ..TrailQuery::default() };
        assert_eq!(places(&engine, &until).len(), stamps.len() - expected.len());
    }
}

#[test]
fn a_query_by_owner_must_be_narrowed_first() {
    let project = Project::new();
    let engine = project.open();
    let owner = serde_json::from_str(r#"{"owner":"ada"}"#).unwrap();
    let query: TrailQuery = owner;
    assert!(query.find(&mut *engine.reader().unwrap()).is_err(), "nobody looked up whose it is");
    let ready = engine.narrowed(query, None).unwrap().unwrap();
    assert!(ready.find(&mut *engine.reader().unwrap()).unwrap().is_empty());
}
