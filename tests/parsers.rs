//! Everything that reads bytes from outside, against many small changes to good input.
//!
//! The promises are those of the fuzz targets (`fuzz/`); here they run on stable Rust, with a
//! fixed seed. `ALTHING_PARSER_RUNS=100000 cargo test parsers` tries more.

#[path = "../fuzz/src/lib.rs"]
#[allow(
    unreachable_pub,
    clippy::expect_used,
    reason = "a library of its own for the fuzz targets, where a panic is a finding"
)]
mod promises;

use crate::support::Sandbox;
use std::collections::BTreeMap;
use std::path::Path;

/// A small generator; the tests need variety, not secrecy.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % sides.max(1)
    }

    fn byte(&mut self) -> u8 {
        let special = b"\0\n\r\"\\{}[]*?!#,/.:-09azAZ \xc3\xa9\xff";
        if self.roll(2) == 0 {
            special[self.roll(special.len())]
        } else {
            u8::try_from(self.roll(256)).unwrap()
        }
    }

    /// A piece of some length at some place.
    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.roll(len + 1);
        start..(start + self.roll(16)).min(len)
    }

    /// One small change.
    fn change(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        let at = self.roll(data.len() + 1);
        match self.roll(7) {
            0 if at < data.len() => data[at] = self.byte(),
            1 => data.insert(at, self.byte()),
            2 => {
                let range = self.range(data.len());
                data.drain(range);
            }
            3 => {
                let piece = data[self.range(data.len())].to_vec();
                data.splice(at..at, piece);
            }
            4 => {
                let piece = other[self.range(other.len())].to_vec();
                data.splice(at..at, piece);
            }
            5 => data.truncate(at),
            _ if at < data.len() => data[at] ^= 1 << self.roll(8),
            _ => {}
        }
    }
}

/// Good input for every parser, made by the program itself.
fn good_input() -> BTreeMap<&'static str, Vec<Vec<u8>>> {
    let project = Sandbox::new();
    project.login("ada");
    project.claim("alice", "src/{a,b}/**/*.rs");
    project.run(&["claim", "src/a/x.rs", "--as", "bob"]);
    let file = |path: &Path| std::fs::read(path).unwrap();
    let trail = project.ok(&["trail", "export"]).out.into_bytes();
    let lines = project.entries();
    let keys = std::fs::read_dir(project.state().join("keys")).unwrap();
    let surfaces = [
        "src/**/*.rs\nsrc/a/?[a-z].rs",
        "{a,b}/c#X::y\na/c",
        "a/[!x-z]*/**\n**/q",
        "./a//b/\na/b/c",
        "app/[[]id]/page.tsx\napp/*/page.tsx",
    ];
    let calls = [
        r#"lease.open {"surfaces":["src","docs/*.md"],"ttl_s":600,"purpose":"é\u0000"}"#,
        r#"lease.check {"surfaces":["a"],"holder":"agent:alice","epoch":1}"#,
        r#"trail.query {"kinds":["lease.opened"],"actor":"system","limit":5,"last":true}"#,
        r#"user.create {"user":"ada","key":"ed25519:00"}"#,
        r#"trail.diff {"from":{"seq":1},"to":{}}"#,
    ];
    let of = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let head = project.ok(&["trail", "head"]).out.into_bytes();
    let proofs = [project.ok(&["trail", "prove", "2", "--json"]).out.into_bytes(), {
        let kept = project.path().join("kept");
        std::fs::write(&kept, &head).unwrap();
        project.claim("carol", "docs");
        project.ok(&["trail", "prove", "--from", kept.to_str().unwrap()]).out.into_bytes()
    }];
    BTreeMap::from([
        ("surface", of(&surfaces)),
        ("names", of(&["alice", "agent:alice", "user:ada", "system", "ed25519:0011"])),
        ("entry", lines.iter().map(|line| line.to_string().into_bytes()).collect()),
        ("head", vec![head]),
        ("trail", vec![trail]),
        ("proof", proofs.to_vec()),
        ("door", of(&calls)),
        ("snapshot", vec![snapshot_payload()]),
        ("key_file", keys.map(|key| file(&key.unwrap().path())).collect()),
    ])
}

/// The content of a real snapshot, without its header and checksum.
fn snapshot_payload() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let home = althing_engine::Home::new(folder.path());
    althing_engine::Engine::create(&home, "p", &althing_engine::Options::default()).unwrap();
    let engine = althing_engine::Engine::open(&home, althing_engine::Options::default()).unwrap();
    let world = engine.world().unwrap();
    althing_engine::snapshot::save(&home, &world).unwrap();
    let id = &world.state.project().unwrap().id;
    let path = althing_engine::snapshot::list(&home, id).remove(0);
    let bytes = std::fs::read(path).unwrap();
    let header = althing_engine::snapshot::with_checksum(&[]).len();
    assert!(althing_engine::snapshot::decode(&bytes).is_some());
    bytes[header..].to_vec()
}

/// A length read from a snapshot is nobody's promise: room is made for what comes, not for what is
/// announced.
#[test]
fn a_snapshot_that_announces_more_than_it_has_is_refused() {
    let payload = snapshot_payload();
    // The largest lengths there are, and one that would fit an address space.
    let huge: [&[u8]; 2] = [
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    ];
    for at in 0..payload.len() {
        for length in huge {
            let data = [&payload[..at], length, &payload[at + 1..]].concat();
            promises::snapshot(&data);
        }
    }
}

#[test]
fn promises_hold_for_input_that_is_almost_good() {
    let runs = std::env::var("ALTHING_PARSER_RUNS").ok().and_then(|text| text.parse().ok());
    let runs: usize = runs.unwrap_or(3_000);
    let good = good_input();
    for (name, promise) in promises::ALL {
        let seeds = &good[name];
        assert!(!seeds.is_empty() && seeds.iter().all(|seed| !seed.is_empty()), "{name}");
        let mut dice = Dice(1);
        for seed in seeds {
            promise(seed);
        }
        for _ in 0..runs {
            let mut data = seeds[dice.roll(seeds.len())].clone();
            let other = &seeds[dice.roll(seeds.len())];
            for _ in 0..=dice.roll(4) {
                dice.change(&mut data, other);
            }
            promise(&data);
        }
    }
}

#[test]
fn every_parser_has_a_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for (name, _) in promises::ALL {
        assert!(folder.join(format!("targets/{name}.rs")).exists(), "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
    let targets = std::fs::read_dir(folder.join("targets")).unwrap().count();
    assert_eq!(targets, promises::ALL.len());
}
