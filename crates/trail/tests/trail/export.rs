//! Export and import: the identical trail on the other side, or a clear error.

use crate::support::{sample, verify};
use althing_trail::Commit;
use althing_trail::export::{Commits, ImportError, write};
use althing_trail::verify::Options;

fn exported(commits: &[Commit]) -> Vec<u8> {
    let mut out = Vec::new();
    for commit in commits {
        write(&mut out, commit).unwrap();
    }
    out
}

fn import(bytes: &[u8]) -> Result<Vec<Commit>, ImportError> {
    Commits::new(bytes).collect()
}

#[test]
fn an_export_imports_as_the_same_commits() {
    let commits = sample(25).commits;
    let text = exported(&commits);
    assert_eq!(import(&text).unwrap(), commits);
    verify(&import(&text).unwrap(), Options::default()).unwrap();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        serde_json::from_slice::<serde_json::Value>(line).expect("each line is JSON");
    }
    assert!(import(b"").unwrap().is_empty());
}

#[test]
fn broken_files_are_refused_with_the_line() {
    let text = exported(&sample(3).commits);
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let cut = lines[..lines.len() - 2].join(&b'\n');
    assert!(matches!(import(&cut), Err(ImportError::CutOff(_))));
    assert!(matches!(import(lines[1]), Err(ImportError::BareHead(1))));
    let spaced = String::from_utf8(text.clone()).unwrap().replacen("{\"head\":", "{\"head\": ", 1);
    assert!(matches!(import(spaced.as_bytes()), Err(ImportError::HeadForm(_))));
    assert!(matches!(import(b"nonsense\n"), Err(ImportError::Form { line: 1, .. })));
    assert!(matches!(import(b"\n"), Err(ImportError::Form { line: 1, .. })));
    assert!(matches!(import(b"\xff\xfe\n"), Err(ImportError::Read { line: 1, .. })));
    let long = vec![b'x'; (4 << 20) + 3];
    assert!(matches!(import(&long), Err(ImportError::TooLong(1))));
}
