//! `althing man`

use std::path::Path;

use crate::app::App;
use crate::cli::{self, Man};
use crate::error::Error;

/// Writes the manual pages.
pub(super) fn run(app: &App, args: &Man) -> Result<(), Error> {
    let dir = &args.dir;
    let pages = write(dir)
        .map_err(|error| Error::usage(format!("cannot write to {}: {error}", dir.display())))?;
    if app.out.json {
        return app.out.value(&serde_json::json!({ "folder": dir, "pages": pages }));
    }
    app.out.line(format!("wrote {pages} manual pages to {}", dir.display()))
}

/// Writes a page for the program and one for each command; says how many there are.
fn write(dir: &Path) -> std::io::Result<usize> {
    std::fs::create_dir_all(dir)?;
    let mut all = cli::command().disable_help_subcommand(true);
    all.build();
    let mut waiting = vec![all];
    let mut pages = 0;
    while let Some(command) = waiting.pop() {
        waiting.extend(command.get_subcommands().filter(|own| !own.is_hide_set()).cloned());
        clap_mangen::Man::new(command).generate_to(dir)?;
        pages += 1;
    }
    Ok(pages)
}
