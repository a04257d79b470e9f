//! `althing blob`

use althing_engine::blobs::{Blobs, Stored};
use althing_kernel::Blob;
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use crate::app::App;
use crate::cli::{BlobCommand, BlobGet};
use crate::content::put_file;
use crate::error::Error;
use crate::naming::Naming;
use crate::output::one_line;
use crate::screen::written;

pub(crate) fn run(app: &App, command: &BlobCommand) -> Result<(), Error> {
    match command {
        BlobCommand::Put(args) => put(app, args.file.as_deref()),
        BlobCommand::Get(args) => get(app, args),
        BlobCommand::List => list(app),
    }
}

/// The content of the project, if there is one.
fn blobs(app: &App) -> Result<Blobs, Error> {
    Ok(Blobs::of(app.project()?.engine()?.home()))
}

/// Standard input or output, as a file name.
fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn put(app: &App, file: Option<&Path>) -> Result<(), Error> {
    let blobs = blobs(app)?;
    let stored = match file.filter(|path| !is_dash(path)) {
        Some(path) => put_file(&blobs, path)?,
        None => blobs.put_reader(&mut std::io::stdin().lock())?,
    };
    if app.out.json {
        return app.out.value(&stored);
    }
    app.out.line(stored.blob.to_string())
}

fn get(app: &App, args: &BlobGet) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    let viewer = project.asker()?;
    let blob: Blob = match args.name.parse() {
        Ok(blob) => blob,
        Err(error) => {
            let naming = Naming::of(engine.contents(viewer.as_ref())?.iter().map(|own| &own.blob));
            let meant = naming.find(&args.name)?.and_then(|name| name.parse().ok());
            meant.ok_or_else(|| {
                Error::usage(format!("{:?} names no content: {error}", args.name))
                    .hint("`althing blob list` shows the names of all content.")
            })?
        }
    };
    let content = engine.content(&blob, viewer.as_ref())?;
    match args.output.as_deref().filter(|path| !is_dash(path)) {
        Some(path) => write_file(app, &blob, &content, path),
        None => print(&content),
    }
}

fn write_file(app: &App, blob: &Blob, content: &[u8], path: &Path) -> Result<(), Error> {
    std::fs::write(path, content).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Error::unavailable(message).hint("Name a file that can be written.")
    })?;
    if app.out.json {
        let file = path.to_string_lossy();
        return app.out.value(&json!({ "blob": blob, "bytes": content.len(), "file": file }));
    }
    Ok(())
}

/// Prints content as it is, unless a terminal might obey it.
pub(super) fn print(content: &[u8]) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    if out.is_terminal() && !is_harmless(content) {
        let message = "this content is not plain text, and a terminal might obey it";
        return Err(Error::usage(message).hint("Write it to a file with `-o FILE`, or pipe it."));
    }
    written(out.write_all(content).and_then(|()| out.flush()))
}

/// Whether a terminal shows content as it is, and does nothing else.
fn is_harmless(content: &[u8]) -> bool {
    let shown = |line: &str| one_line(line) == line;
    std::str::from_utf8(content).is_ok_and(|text| text.split(['\n', '\t']).all(shown))
}

fn list(app: &App) -> Result<(), Error> {
    let project = app.project()?;
    let stored = project.engine()?.contents(project.asker()?.as_ref())?;
    if app.out.json {
        return app.out.value(&stored);
    }
    let row = |own: &Stored| vec![own.blob.to_string(), own.bytes.to_string()];
    app.out.table(&["BLOB", "BYTES"], &stored.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn a_terminal_gets_plain_text_only() {
        for (content, harmless) in [
            (&b""[..], true),
            (b"fn main() {\n\tok()\n}\n", true),
            ("gr\u{fc}n".as_bytes(), true),
            (b"\x1b[2J", false),
            (b"a\rb", false),
            ("\u{202e}cod.exe".as_bytes(), false),
            (&[0xff, 0xfe], false),
        ] {
            assert_eq!(is_harmless(content), harmless, "{content:?}");
        }
    }
}
