//! Surfaces as people type them: relative to where they stand.

use althing_kernel::lease::Surfaces;
use althing_kernel::{Rule, Surface};

use crate::failure::Failure;
use crate::place::Place;

/// Begins a surface that is meant from the project root, wherever one stands.
const FROM_ROOT: &str = ":/";

/// Reads surfaces typed in the current folder.
pub(crate) fn read(place: &Place, texts: &[String], literal: bool) -> Result<Surfaces, Failure> {
    let here =
        std::env::current_dir().ok().and_then(|here| place.inside(&here)).unwrap_or_default();
    let list: Result<Vec<Surface>, Failure> =
        texts.iter().map(|text| read_one(place, &here, text, literal)).collect();
    Surfaces::new(list?).map_err(|error| Failure::misuse(Rule::Limits, error.to_string()))
}

fn read_one(place: &Place, here: &str, text: &str, literal: bool) -> Result<Surface, Failure> {
    let path = match text.strip_prefix(FROM_ROOT) {
        Some("") => ".".to_owned(),
        Some(from_root) => from_root.to_owned(),
        None => from_here(here, text),
    };
    let wrong = |error: althing_kernel::surface::SurfaceError| {
        Failure::misuse(Rule::SurfaceGrammar, error.to_string())
    };
    if literal {
        return Surface::literal(&path).map_err(wrong);
    }
    let surface = Surface::new(&path).map_err(wrong)?;
    if surface.is_glob() && place.root.join(&path).symlink_metadata().is_ok() {
        return Err(Failure::misuse(
            Rule::SurfaceGrammar,
            format!(
                "{text:?} is the name of a file here, but read as a glob it means other names; \
                 pass --literal for the file, or write the glob differently"
            ),
        ));
    }
    Ok(surface)
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
                Some(_) => folders.join("/"),
                None => text.to_owned(),
            };
        } else {
            break;
        }
    }
    let absolute = rest.starts_with(['/', '\\']) || rest.as_bytes().get(1) == Some(&b':');
    if folders.is_empty() || absolute {
        return rest.to_owned();
    }
    // What the folder is called is a name, whatever characters it has.
    let escaped = Surface::literal(&folders.join("/"));
    let prefix = escaped.map_or_else(|_| folders.join("/"), |surface| surface.to_string());
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
}
