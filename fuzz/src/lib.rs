//! What must hold for any input, parser by parser.
//!
//! Each function takes bytes from anywhere and panics if a promise is broken. The fuzz targets
//! call them with bytes that a coverage-guided fuzzer finds; the whole-system tests call them on
//! stable Rust with many small changes to good input.

use althing_engine::{api, keyring, snapshot};
use althing_kernel::{Actor, AgentName, Principal, PublicKey, Surface, UserId};
use althing_trail::export::{self, Commits};
use althing_trail::proof::{Consistency, Inclusion};
use althing_trail::verify::{Options, Verifier};
use althing_trail::{Entry, SignedHead};
use arbitrary::{Arbitrary, Unstructured};

/// Something that must hold for any bytes.
pub type Promise = fn(&[u8]);

/// Every promise, by name.
pub const ALL: &[(&str, Promise)] = &[
    ("surface", surface),
    ("names", names),
    ("entry", entry),
    ("head", head),
    ("trail", trail),
    ("proof", proof),
    ("door", door),
    ("snapshot", snapshot),
    ("key_file", key_file),
];

fn text(data: &[u8]) -> &str {
    match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&data[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Two surfaces, one per line: the normal form is stable, overlap is symmetric, and the path that
/// is shown for it is one that both really cover.
pub fn surface(data: &[u8]) {
    let (first, second) = text(data).split_once('\n').unwrap_or((text(data), "**"));
    if let Ok(literal) = Surface::new(&Surface::escape(first)) {
        assert!(!literal.is_glob(), "{literal} stands for itself");
    }
    let (Ok(first), Ok(second)) = (Surface::new(first), Surface::new(second)) else { return };
    for one in [&first, &second] {
        let again = Surface::new(one.as_str()).expect("a normal form can be read");
        assert_eq!(again.as_str(), one.as_str(), "the normal form is stable");
        assert!(one.common_path(one).is_some(), "{one} overlaps itself");
    }
    let (there, back) = (first.common_path(&second), second.common_path(&first));
    assert_eq!(there.is_some(), back.is_some(), "{first} and {second}");
    if let Some(path) = there.filter(|path| path != ".") {
        // For people the example is written without escapes: its `#` may be part of a name.
        let mut readings = vec![Surface::new(&literal(&path))];
        if let Some((file, symbol)) = path.split_once('#') {
            readings.push(Surface::new(&format!("{}#{symbol}", literal(file))));
        }
        let covers = |example: &Surface| {
            first.common_path(example).is_some() && second.common_path(example).is_some()
        };
        assert!(readings.iter().flatten().any(covers), "{first} and {second}: {readings:?}");
    }
}

/// A path as a surface that stands for itself. A name that looks like a drive is spelled so that
/// it does not.
fn literal(path: &str) -> String {
    let escaped = Surface::escape(path);
    match Surface::new(&escaped) {
        Ok(_) => escaped,
        Err(_) => format!("[{}]{}", &escaped[..1], &escaped[1..]),
    }
}

/// Names and principals: what can be read is written back the same.
pub fn names(data: &[u8]) {
    let text = text(data);
    if let Ok(name) = AgentName::new(text) {
        assert_eq!(name.as_str(), text);
    }
    if let Ok(id) = UserId::new(text) {
        assert_eq!(id.as_str(), text);
    }
    if let Ok(principal) = text.parse::<Principal>() {
        assert_eq!(principal.to_string(), text);
    }
    if let Ok(actor) = text.parse::<Actor>() {
        assert_eq!(actor.to_string(), text);
    }
    if let Ok(key) = text.parse::<PublicKey>() {
        assert_eq!(key.to_string(), text);
    }
}

/// A line of the trail: an entry whose hash is its own has one way to be written.
pub fn entry(data: &[u8]) {
    let line = text(data);
    let Ok(entry) = Entry::read(line) else { return };
    if entry.is_own_hash(line) {
        let value: serde_json::Value = serde_json::from_str(line).expect("an entry is JSON");
        assert_eq!(value.to_string(), line, "sorted keys, no spaces");
    }
}

/// A signed head: what can be read is written back the same.
pub fn head(data: &[u8]) {
    if let Ok(head) = SignedHead::parse(text(data)) {
        assert_eq!(head.text(), text(data));
        assert!(!head.is_signed_by(&PublicKey::from_bytes([7; 32])), "nobody signs with that key");
    }
}

/// A trail as JSON lines: verification says yes or no, and yes only to what it would export.
pub fn trail(data: &[u8]) {
    let mut verifier = Verifier::new(Options { every_signature: true, ..Options::default() });
    let mut exported = Vec::new();
    for commit in Commits::new(data) {
        let Ok(commit) = commit else { return };
        if verifier.check(&commit).is_err() {
            return;
        }
        export::write(&mut exported, &commit).expect("memory takes it");
    }
    if verifier.finish().is_ok() {
        let given = data.strip_suffix(b"\n").unwrap_or(data);
        let same = exported.strip_suffix(b"\n").unwrap_or(&exported) == given;
        assert!(same, "not what would be exported: {}", String::from_utf8_lossy(data));
    }
}

/// A proof from a stranger: checked against any key, it holds or it does not.
pub fn proof(data: &[u8]) {
    let key = PublicKey::from_bytes([7; 32]);
    if let Ok(proof) = serde_json::from_str::<Inclusion>(text(data)) {
        assert!(proof.check(&[key]).is_err(), "nobody signs with that key");
    }
    if let Ok(proof) = serde_json::from_str::<Consistency>(text(data)) {
        assert!(proof.check(&[key]).is_err(), "nobody signs with that key");
    }
}

/// A command or question by name, with any arguments.
#[derive(Debug, Arbitrary)]
struct Call<'a> {
    which: u8,
    args: &'a str,
}

/// Anything may come in through a door; it is read or refused.
pub fn door(data: &[u8]) {
    // Names in the data come first, so that whole lines can be tried as well.
    let (name, args) = text(data).split_once(' ').unwrap_or((text(data), ""));
    let _ = api::read(name, args);
    if let Ok(call) = Call::arbitrary(&mut Unstructured::new(data)) {
        let names = api::list();
        let _ = api::read(names[usize::from(call.which) % names.len()].name, call.args);
    }
}

/// A snapshot with a right checksum and any content: usable or not, never a crash.
pub fn snapshot(data: &[u8]) {
    let _ = snapshot::decode(data);
    let _ = snapshot::decode(&snapshot::with_checksum(data));
}

/// A key file.
pub fn key_file(data: &[u8]) {
    let _ = keyring::is_key(text(data));
}
