//! The rooms of the engine import only rooms below them, so there is no import cycle.

use std::path::Path;

/// Rooms from the bottom to the top, as the table in `lib.rs` lists them.
const ROOMS: [&str; 10] = [
    "store", "identity", "snapshot", "commit", "recovery", "engine", "read", "archive", "reports",
    "api",
];

fn check_file(path: &Path, room: usize) {
    let text = std::fs::read_to_string(path).unwrap();
    for (above, name) in ROOMS.iter().enumerate().skip(room + 1) {
        let import = format!("crate::{name}");
        let is_import = |found: &str| !found.starts_with(|next: char| next.is_alphanumeric());
        let imports = text.split(&import).skip(1).any(is_import);
        assert!(!imports, "{} imports {name}, {} rooms above it", path.display(), above - room);
    }
}

#[test]
fn rooms_import_only_rooms_below_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (place, room) in ROOMS.iter().enumerate() {
        let folder = source.join(room);
        if folder.is_dir() {
            for file in std::fs::read_dir(folder).unwrap() {
                check_file(&file.unwrap().path(), place);
            }
        } else {
            check_file(&source.join(room).with_extension("rs"), place);
        }
    }
}
