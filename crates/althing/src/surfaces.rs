//! Surfaces as people type them: relative to where they stand.

use althing_kernel::file::FilePath;
use althing_kernel::lease::Surfaces;
use althing_kernel::{Rule, Surface};

use crate::error::Error;
use crate::place::{Inside, Place};

/// Begins a surface that is meant from the project root, wherever one stands.
const FROM_ROOT: &str = ":/";

/// Reads surfaces typed in the current folder.
pub(crate) fn read(place: &Place, texts: &[String], literal: bool) -> Result<Surfaces, Error> {
    let from_root = texts.iter().all(|text| text.starts_with(FROM_ROOT));
    let here = if from_root { String::new() } else { where_one_stands(place)? };
    let list: Result<Vec<Surface>, Error> =
        texts.iter().map(|text| read_one(place, &here, text, literal)).collect();
    Surfaces::new(list?).map_err(|error| Error::misuse(Rule::Limits, error.to_string()))
}

/// Translates a scope typed in the current folder to one from the project root. A scope is paths
/// separated by commas, or a name that is no path.
pub(crate) fn scope(place: &Place, text: &str) -> Result<String, Error> {
    let here = where_one_stands(place)?;
    // A glob may have commas of its own; a scope with one is one surface.
    let parts: Vec<&str> = if text.contains('{') { vec![text] } else { text.split(',').collect() };
    let seen = |part: &str| {
        let part = part.trim();
        match part.strip_prefix(FROM_ROOT) {
            Some("") => ".".to_owned(),
            Some(from_root) => from_root.to_owned(),
            None if part.is_empty() || is_no_path(part) => part.to_owned(),
            None => from_here(&here, part),
        }
    };
    Ok(parts.into_iter().map(seen).collect::<Vec<String>>().join(", "))
}

/// Whether a scope names a loop, with a word and a colon before its id.
fn is_no_path(part: &str) -> bool {
    part.split_once(':').is_some_and(|(word, _)| word.ends_with("-loop"))
}

/// Reads the path of one file typed in the current folder. Nothing in it is special.
pub(crate) fn file(place: &Place, text: &str) -> Result<FilePath, Error> {
    let path = match text.strip_prefix(FROM_ROOT) {
        Some(from_root) => from_root.to_owned(),
        None => plain_from_here(&where_one_stands(place)?, text),
    };
    FilePath::new(&path)
        .map_err(|error| Error::misuse(Rule::SurfaceGrammar, format!("{text:?}: {error}")))
}

/// The same as [`from_here`] for names that stand for themselves.
fn plain_from_here(here: &str, text: &str) -> String {
    if text.starts_with('/') {
        return text.to_owned();
    }
    let mut names: Vec<&str> = here.split('/').filter(|name| !name.is_empty()).collect();
    for name in text.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match name {
            // A path that leaves the project is kept as typed, to be refused by its name.
            ".." if names.pop().is_none() => return text.to_owned(),
            ".." => {}
            name => names.push(name),
        }
    }
    names.join("/")
}

/// The current folder, seen from the project root. Outside the project surfaces are read from
/// its root.
fn where_one_stands(place: &Place) -> Result<String, Error> {
    let Ok(here) = std::env::current_dir() else { return Ok(String::new()) };
    match place.inside(&here) {
        Inside::At(path) => Ok(path),
        Inside::Elsewhere => Ok(String::new()),
        Inside::NotText => Err(Error::misuse(
            Rule::SurfaceGrammar,
            "the name of the current folder is not UTF-8 text; write surfaces as `:/path`",
        )),
    }
}

fn read_one(place: &Place, here: &str, text: &str, literal: bool) -> Result<Surface, Error> {
    if literal && !cfg!(windows) && text.contains('\\') {
        let message = format!("{text:?} has a backslash, which is read as a separator everywhere");
        return Err(Error::misuse(Rule::SurfaceGrammar, message));
    }
    // Taken literally, a name is escaped before the folder's name is put before it.
    let given = if literal { escaped(text) } else { text.to_owned() };
    let path = match given.strip_prefix(FROM_ROOT) {
        Some("") => ".".to_owned(),
        Some(from_root) => from_root.to_owned(),
        None => from_here(here, &given),
    };
    // Where a colon is an ordinary character, what looks like a drive is a name too.
    let path = if literal && !cfg!(windows) && has_drive(&path) {
        format!("[{}]{}", &path[..1], &path[1..])
    } else {
        path
    };
    let wrong = |error: althing_kernel::surfaces::SurfaceError| {
        Error::misuse(Rule::SurfaceGrammar, error.to_string())
    };
    let surface = Surface::new(&path).map_err(wrong)?;
    if !literal && surface.is_glob() && place.root.join(&path).symlink_metadata().is_ok() {
        return Err(Error::misuse(
            Rule::SurfaceGrammar,
            format!(
                "{text:?} is the name of a file here, but read as a glob it means other names; \
                 pass --literal for the file, or write the glob differently"
            ),
        ));
    }
    Ok(surface)
}

/// A path with its special characters spelled so that they stand for themselves.
fn escaped(text: &str) -> String {
    match text.strip_prefix(FROM_ROOT) {
        Some(rest) => format!("{FROM_ROOT}{}", Surface::escape(rest)),
        None => Surface::escape(text),
    }
}

/// Whether a path begins with what is a drive on some systems.
fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// A path typed in a folder of the project, seen from its root.
fn from_here(here: &str, text: &str) -> String {
    let mut folders: Vec<&str> = here.split('/').filter(|name| !name.is_empty()).collect();
    let mut rest = text;
    // Climb only as far as the project goes; what climbs further is refused as it stands.
    loop {
        if let Some(after) = rest.strip_prefix("./").or_else(|| rest.strip_prefix(".\\")) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../").or_else(|| rest.strip_prefix("..\\")) {
            if folders.pop().is_none() {
                return text.to_owned();
            }
            rest = after;
        } else if rest == ".." {
            return match folders.pop() {
                Some(_) if folders.is_empty() => ".".to_owned(),
                Some(_) => Surface::escape(&folders.join("/")),
                None => text.to_owned(),
            };
        } else {
            break;
        }
    }
    let absolute = rest.starts_with(['/', '\\']) || has_drive(rest);
    if folders.is_empty() || absolute {
        return rest.to_owned();
    }
    // The name of the folder is taken literally, whatever characters it has.
    let prefix = Surface::escape(&folders.join("/"));
    if rest == "." || rest.is_empty() { prefix } else { format!("{prefix}/{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_where_one_stands() {
        for (here, text, path) in [
            ("", "a.rs", "a.rs"),
            ("src", "a.rs", "src/a.rs"),
            ("src", "./a.rs", "src/a.rs"),
            ("src", "*.rs", "src/*.rs"),
            ("src", ".", "src"),
            ("src/deep", "../a.rs", "src/a.rs"),
            ("src/deep", "..", "src"),
            ("src/deep", "../../lib/", "lib/"),
            ("src", "..", "."),
            ("", "../x", "../x"),
            ("src", "../../x", "../../x"),
            ("src", "/etc/passwd", "/etc/passwd"),
            ("src", r"C:\x", r"C:\x"),
            ("app/[id]", "page.tsx", "app/[[]id]/page.tsx"),
        ] {
            assert_eq!(from_here(here, text), path, "{text} in {here}");
        }
    }

    #[test]
    fn files_are_read_from_where_one_stands() {
        for (here, text, path) in [
            ("", "a.rs", "a.rs"),
            ("src", "./a.rs", "src/a.rs"),
            ("src/deep", "../a[1].rs", "src/a[1].rs"),
            ("src", "../../x", "../../x"),
            ("src", "/etc/passwd", "/etc/passwd"),
        ] {
            assert_eq!(plain_from_here(here, text), path, "{text} in {here}");
        }
    }

    #[test]
    fn literal_names_stand_for_themselves_wherever_one_stands() {
        for (here, text, path) in [
            ("", "app/[id].tsx", "app/[[]id].tsx"),
            ("app/[id]", "page.tsx", "app/[[]id]/page.tsx"),
            ("app/[id]", "../[x]", "app/[[]x]"),
            ("app", ":/a*b", "a[*]b"),
        ] {
            let given = escaped(text);
            let seen = given
                .strip_prefix(FROM_ROOT)
                .map_or_else(|| from_here(here, &given), str::to_owned);
            assert_eq!(seen, path, "{text} in {here}");
        }
        assert_eq!(from_here("src", "1:notes.txt"), "src/1:notes.txt");
    }
}
