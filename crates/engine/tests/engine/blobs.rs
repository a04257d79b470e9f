//! Content beside the log: stored whole or not at all, read unchanged or not at all.

use crate::support::{Project, agent};
use althing_engine::blobs::{BLOB_BYTES_MAX, Stored};
use althing_engine::{Blobs, EngineError, Home, Inventory, backup, inventory};
use althing_kernel::{Blob, Command, Rule};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

struct Place {
    _folder: tempfile::TempDir,
    home: Home,
    blobs: Blobs,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path());
    Place { _folder: folder, blobs: Blobs::of(&home), home }
}

impl Place {
    fn unfinished(&self) -> PathBuf {
        self.home.blobs().join("new")
    }

    fn check(&self) -> Inventory {
        self.blobs.check_all(&BTreeSet::new(), &mut |_, _| {}).unwrap()
    }
}

fn files_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Different bytes for each number.
fn content(number: usize) -> Vec<u8> {
    let mut bytes = format!("content {number} ").into_bytes();
    bytes.extend((0..10_000).map(|n| u8::try_from(n * (number + 3) % 251).unwrap()));
    bytes
}

/// A reader that returns these pieces one after another, with an error if wanted.
struct Pieces(Vec<std::io::Result<Vec<u8>>>);

impl std::io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            return Ok(0);
        }
        let piece = self.0.remove(0)?;
        buffer[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

#[test]
fn content_comes_back_as_it_was_stored() {
    let place = place();
    let known = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(place.blobs.put(b"abc").unwrap().to_string(), known);
    for bytes in [Vec::new(), vec![0; 3], (0..=255).collect(), content(1)] {
        let blob = place.blobs.put(&bytes).unwrap();
        assert_eq!(place.blobs.get(&blob).unwrap(), bytes);
        let stored = place.blobs.put_reader(&mut bytes.as_slice()).unwrap();
        assert_eq!(stored, Stored { blob: blob.clone(), bytes: bytes.len() as u64 });
        assert!(place.blobs.has(&blob).unwrap());
        let hex = blob.hex();
        assert!(place.home.blobs().join(&hex[..2]).join(&hex).is_file(), "{blob}");
    }
    let list = place.blobs.list().unwrap();
    assert_eq!(list.len(), 5, "the same content is there once");
    assert!(list.is_sorted() && list.contains(&Stored { blob: known.parse().unwrap(), bytes: 3 }));
    assert_eq!((place.check().whole, place.check().damaged.len()), (5, 0));
    assert_eq!(files_in(&place.unfinished()), 0);
}

#[test]
fn reading_missing_content_writes_nothing() {
    let place = place();
    let blob = Blob::from_digest([7; 32]);
    let error = place.blobs.get(&blob).unwrap_err();
    assert!(matches!(error, EngineError::NotFound(_)), "{error}");
    assert_eq!(error.rule(), Rule::NotFound);
    assert!(error.to_string().contains(&blob.to_string()), "{error}");
    assert!(!place.blobs.has(&blob).unwrap());
    assert!(place.blobs.list().unwrap().is_empty());
    let named = BTreeSet::from([blob.clone()]);
    let found = place.blobs.check_all(&named, &mut |_, _| {}).unwrap();
    assert_eq!(found, Inventory { missing: vec![blob], ..Inventory::default() });
    assert_eq!(files_in(place.home.root()), 0);
}

#[test]
fn content_over_the_limit_is_refused_by_its_rule_and_leaves_nothing() {
    let place = place();
    let small = place.blobs.clone().with_limit(1000);
    let exact = small.put_reader(&mut &[1; 1000][..]).unwrap();
    assert_eq!(exact.bytes, 1000);
    for error in
        [small.put_reader(&mut &[1; 1001][..]).unwrap_err(), small.put(&[1; 1001]).unwrap_err()]
    {
        assert_eq!(error.rule(), Rule::Limits);
        assert!(error.to_string().contains("1000"), "{error}");
    }
    let endless = small.put_reader(&mut std::io::repeat(1)).unwrap_err();
    assert_eq!(endless.rule(), Rule::Limits, "input without an end is not read to its end");
    assert_eq!((place.blobs.list().unwrap().len(), files_in(&place.unfinished())), (1, 0));
    let beyond = place.blobs.clone().with_limit(u64::MAX);
    let sparse = tempfile::tempfile().unwrap();
    sparse.set_len(BLOB_BYTES_MAX + 1).unwrap();
    let error = beyond.put_reader(&mut &sparse).unwrap_err();
    assert!(error.to_string().contains(&BLOB_BYTES_MAX.to_string()), "{error}");
}

#[test]
fn input_that_breaks_off_is_not_stored() {
    let place = place();
    let interrupted = std::io::Error::from(std::io::ErrorKind::Interrupted);
    let pieces = vec![Ok(b"ab".to_vec()), Err(interrupted), Ok(b"c".to_vec())];
    let stored = place.blobs.put_reader(&mut Pieces(pieces)).unwrap();
    assert_eq!(place.blobs.get(&stored.blob).unwrap(), b"abc");
    let broken = vec![Ok(b"abcd".to_vec()), Err(std::io::Error::other("the line went dead"))];
    let error = place.blobs.put_reader(&mut Pieces(broken)).unwrap_err();
    assert!(error.to_string().contains("the line went dead"), "{error}");
    assert_eq!(error.rule(), Rule::Usage);
    assert_eq!((place.blobs.list().unwrap().len(), files_in(&place.unfinished())), (1, 0));
}

#[test]
fn unfinished_files_are_not_content_and_are_removed_after_a_day() {
    let place = place();
    let blob = place.blobs.put(&content(1)).unwrap();
    let old = |path: &Path| {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_hours(25)).unwrap();
    };
    let unfinished = place.unfinished();
    let (fresh, left) = (unfinished.join("0123456789abcdef"), unfinished.join("fedcba9876543210"));
    let not_ours = [unfinished.join("notes.txt"), place.home.blobs().join("fedcba9876543210")];
    for path in not_ours.iter().chain([&fresh, &left]) {
        std::fs::write(path, &content(2)[..100]).unwrap();
    }
    let folder = unfinished.join("00000000000000ff");
    std::fs::create_dir(&folder).unwrap();
    for path in not_ours.iter().chain([&left, &place.blobs.path(&blob)]) {
        old(path);
    }
    assert_eq!(place.blobs.list().unwrap().len(), 1);
    assert_eq!((place.check().whole, place.check().damaged.len()), (1, 0));
    assert!(left.exists(), "reading clears nothing away");
    place.blobs.put(&content(2)).unwrap();
    assert!(!left.exists());
    for kept in not_ours.iter().chain([&fresh, &folder, &place.blobs.path(&blob)]) {
        assert!(kept.exists(), "{}", kept.display());
    }
    assert_eq!(place.check().whole, 2);
}

#[test]
fn damaged_content_is_never_returned_and_repaired_by_storing_it_again() {
    let place = place();
    let whole = content(1);
    let mut other = whole.clone();
    other[5000] ^= 1;
    let longer = [whole.as_slice(), b"x"].concat();
    for damage in [&other[..], &whole[..whole.len() - 1], &longer, b""] {
        for again in [
            |blobs: &Blobs, bytes: &[u8]| blobs.put(bytes).unwrap(),
            |blobs: &Blobs, bytes: &[u8]| blobs.put_reader(&mut &*bytes).unwrap().blob,
        ] {
            let blob = place.blobs.put(&whole).unwrap();
            let path = place.blobs.path(&blob);
            std::fs::write(&path, damage).unwrap();
            let error = place.blobs.get(&blob).unwrap_err();
            assert!(matches!(&error, EngineError::BlobDamaged { .. }), "{error}");
            assert_eq!(error.rule(), Rule::Integrity);
            assert!(error.to_string().contains(&blob.to_string()), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), damage, "it stays where it is");
            assert!(place.blobs.has(&blob).unwrap());
            let found = place.check();
            assert_eq!((found.whole, found.damaged), (0, vec![blob.clone()]));
            assert_eq!(again(&place.blobs, &whole), blob);
            assert_eq!(place.blobs.get(&blob).unwrap(), whole);
        }
    }
    assert_eq!((place.check().whole, files_in(&place.unfinished())), (1, 0));
}

#[test]
fn a_file_larger_than_any_content_is_damaged_whatever_it_holds() {
    let place = place();
    let blob = place.blobs.put(b"small").unwrap();
    let file = std::fs::File::options().write(true).open(place.blobs.path(&blob)).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = place.blobs.get(&blob).unwrap_err();
    assert!(matches!(error, EngineError::BlobDamaged { .. }), "{error}");
}

#[test]
fn other_files_are_not_listed() {
    let place = place();
    let blob = place.blobs.put(b"abc").unwrap();
    let hex = blob.hex();
    let blobs = place.home.blobs();
    std::fs::create_dir_all(blobs.join("00").join("0".repeat(64))).unwrap();
    for stray in ["README".to_owned(), format!("00/{hex}"), format!("{}/{hex}x", &hex[..2])] {
        std::fs::write(blobs.join(stray), "abc").unwrap();
    }
    assert_eq!(place.blobs.list().unwrap(), [Stored { blob, bytes: 3 }]);
    let error = place.blobs.get(&Blob::from_digest([0; 32])).unwrap_err();
    assert!(matches!(error, EngineError::BlobDamaged { .. }), "a folder is no content: {error}");
}

/// A file stands in the way, since permissions would not stop the superuser.
#[test]
fn an_unwritable_store_is_unavailable_until_it_can_be_written() {
    let place = place();
    std::fs::write(place.home.blobs(), "in the way").unwrap();
    for error in [
        place.blobs.put(b"abc").unwrap_err(),
        place.blobs.put_reader(&mut &b"abc"[..]).unwrap_err(),
    ] {
        assert!(matches!(error, EngineError::Unavailable(_)), "{error}");
        assert_eq!(error.rule(), Rule::StoreUnavailable);
        assert!(error.to_string().contains("blobs"), "{error}");
    }
    assert_eq!(std::fs::read(place.home.blobs()).unwrap(), b"in the way");
    std::fs::remove_file(place.home.blobs()).unwrap();
    let blob = place.blobs.put(b"abc").unwrap();
    std::fs::remove_file(place.blobs.path(&blob)).unwrap();
    std::fs::create_dir(place.blobs.path(&blob)).unwrap();
    let error = place.blobs.put(b"abc").unwrap_err();
    assert!(matches!(error, EngineError::Unavailable(_)), "{error}");
    assert_eq!(files_in(&place.unfinished()), 0, "no half file is left");
}

#[test]
fn many_at_once_store_the_same_and_other_content() {
    let place = place();
    let (threads, pieces) = (8, 12);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let place = &place;
            scope.spawn(move || {
                for piece in 0..pieces {
                    let shared = place.blobs.put(&content(piece)).unwrap();
                    assert_eq!(place.blobs.get(&shared).unwrap(), content(piece));
                    let own = content(100 + thread * pieces + piece);
                    place.blobs.put_reader(&mut own.as_slice()).unwrap();
                    assert!(place.check().damaged.is_empty());
                }
            });
        }
    });
    let found = place.check();
    assert_eq!(found.whole, (pieces + threads * pieces) as u64);
    assert!(found.damaged.is_empty());
    assert_eq!(files_in(&place.unfinished()), 0);
}

/// A project whose trail names content.
fn naming(blobs: &[&Blob]) -> Project {
    let project = Project::new();
    let engine = project.open();
    let lead = agent(&engine, "lead");
    let start = Command::read("run.start", "{}").unwrap().unwrap();
    lead.execute(start).unwrap();
    for blob in blobs {
        // The content exists when it is cited, and is deleted afterwards.
        let path = Blobs::of(&project.home).path(blob);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        let task = serde_json::json!({ "key": "k", "name": "n", "description": { "blob": blob } });
        let args = serde_json::json!({ "tasks": [task] });
        let command = Command::read("task.graph", &args.to_string()).unwrap().unwrap();
        lead.execute(command).unwrap();
        std::fs::remove_file(&path).unwrap();
    }
    project
}

#[test]
fn the_content_a_trail_names_is_known() {
    let (one, other) = (Blob::from_digest([1; 32]), Blob::from_digest([2; 32]));
    let project = naming(&[&one, &other, &one]);
    let named = inventory::named_in(&mut *project.open().reader().unwrap()).unwrap();
    assert_eq!(named, BTreeSet::from([one, other]));
}

#[test]
fn content_is_part_of_a_backup_and_a_restore_removes_none() {
    let elsewhere = place();
    let named = elsewhere.blobs.put(&content(1)).unwrap();
    let project = naming(&[&named]);
    let blobs = Blobs::of(&project.home);
    blobs.put(&content(1)).unwrap();
    let unnamed = blobs.put(&content(2)).unwrap();
    let folder = project.folder.path().join("backup");
    let made = backup::backup(&project.home, &folder, true, &mut |_, _| {}).unwrap();
    // A run includes texts that the runtime itself may have to send.
    let own = althing_kernel::approvals::escalation::PROCEED;
    let bytes = (content(1).len() + content(2).len() + own.len()) as u64;
    let both = Inventory { whole: 3, bytes, ..Inventory::default() };
    assert_eq!(made.blobs, both);

    let fresh = Home::new(&project.folder.path().join("new machine"));
    let restored = backup::restore(&fresh, &folder, &project.options(), None).unwrap();
    assert_eq!(restored.blobs, both);
    for (blob, number) in [(&named, 1), (&unnamed, 2)] {
        assert_eq!(Blobs::of(&fresh).get(blob).unwrap(), content(number));
    }

    // Damaged content is restored, newer content stays.
    let since = blobs.put(&content(3)).unwrap();
    std::fs::write(blobs.path(&named), "rot").unwrap();
    let restored = backup::restore(&project.home, &folder, &project.options(), None).unwrap();
    assert_eq!(restored.blobs, both);
    assert_eq!(blobs.get(&named).unwrap(), content(1));
    assert_eq!(blobs.get(&since).unwrap(), content(3));
}

#[test]
fn lost_content_is_reported_and_the_rest_is_copied() {
    let elsewhere = place();
    let lost = elsewhere.blobs.put(&content(1)).unwrap();
    let rotten = elsewhere.blobs.put(&content(2)).unwrap();
    let project = naming(&[&lost, &rotten]);
    let blobs = Blobs::of(&project.home);
    blobs.put(&content(2)).unwrap();
    std::fs::write(blobs.path(&rotten), "rot").unwrap();
    let sound = blobs.put(&content(3)).unwrap();
    let shown = |inventory: &Inventory| {
        (inventory.whole, inventory.damaged.clone(), inventory.missing.clone())
    };
    let folder = project.folder.path().join("backup");
    let made = backup::backup(&project.home, &folder, true, &mut |_, _| {}).unwrap();
    assert_eq!(shown(&made.blobs), (2, vec![rotten.clone()], vec![lost.clone()]));
    assert!(!folder.join("blobs").join(&rotten.hex()[..2]).join(rotten.hex()).exists());

    let fresh = Home::new(&project.folder.path().join("new machine"));
    let restored = backup::restore(&fresh, &folder, &project.options(), None).unwrap();
    let mut gone = vec![lost.clone(), rotten.clone()];
    gone.sort();
    assert_eq!(shown(&restored.blobs), (2, Vec::new(), gone));
    assert!(Blobs::of(&fresh).has(&sound).unwrap());

    // Content that the backup lacks but the folder has is not missing.
    Blobs::of(&fresh).put(&content(1)).unwrap();
    std::fs::write(folder.join("blobs").join(&sound.hex()[..2]).join(sound.hex()), "rot").unwrap();
    let restored = backup::restore(&fresh, &folder, &project.options(), None).unwrap();
    assert_eq!(shown(&restored.blobs), (2, Vec::new(), vec![rotten.clone()]));
    std::fs::remove_file(Blobs::of(&fresh).path(&sound)).unwrap();
    let restored = backup::restore(&fresh, &folder, &project.options(), None).unwrap();
    assert_eq!(shown(&restored.blobs), (1, vec![sound], vec![rotten]));
}

#[test]
fn a_backup_of_another_project_brings_no_content() {
    let (ours, theirs) = (Project::new(), Project::new());
    Blobs::of(&theirs.home).put(b"theirs").unwrap();
    let folder = theirs.folder.path().join("backup");
    backup::backup(&theirs.home, &folder, true, &mut |_, _| {}).unwrap();
    let error = backup::restore(&ours.home, &folder, &ours.options(), None).unwrap_err();
    assert_eq!(error.rule(), Rule::StoreForeign, "{error}");
    assert!(Blobs::of(&ours.home).list().unwrap().is_empty());
}

#[test]
fn content_stored_while_a_backup_is_made_does_not_disturb_it() {
    let project = Project::new();
    let blobs = Blobs::of(&project.home);
    blobs.put(&content(0)).unwrap();
    let folder = project.folder.path().join("backup");
    let mut number = 0;
    let made = backup::backup(&project.home, &folder, false, &mut |_, _| {
        number += 1;
        blobs.put(&content(number)).unwrap();
    });
    let made = made.unwrap().blobs;
    assert!(made.whole >= 2 && made.damaged.is_empty(), "{made:?}");
}
