//! `althing rebuild`

use serde_json::json;

use crate::app::App;
use crate::cli::Rebuild;
use crate::error::Error;
use crate::output::counted;
use crate::planning::{adopt, mean_the_same};

pub(crate) fn run(app: &App, args: &Rebuild) -> Result<(), Error> {
    let project = app.project()?;
    let (engine, planning) = (project.engine()?, project.planning());
    let mut refused = Vec::new();
    if args.adopt {
        refused = adopt(&planning, &engine, &project.client(app, &engine)?)?;
    }
    let done = planning
        .rebuild(&engine, &|path, there, text| args.adopt && mean_the_same(path, there, text))?;
    let blocked = (!done.blocked.is_empty()).then(|| {
        Error::unavailable(done.blocked.join("\n")).hint(
            "Move it away and run `althing rebuild` again; the other files are as they should be.",
        )
    });
    if app.out.json {
        let aside: Vec<_> =
            done.aside.iter().map(|(path, now)| json!({ "file": path, "now": now })).collect();
        let summary = json!({ "root": planning.root(), "files": done.files, "written": done.written,
            "set_aside": aside, "not_adopted": refused });
        return match blocked {
            Some(failure) => Err(failure.with(summary)),
            None => app.out.value(&summary),
        };
    }
    let files = counted((done.files - done.blocked.len()) as u64, "file", "files");
    app.out.line(format!("{files} under {} say what the trail says", planning.root().display()))?;
    for (path, now) in &done.aside {
        app.out.line(format!("{path} was written into by hand; that is {now} now"))?;
    }
    for refusal in &refused {
        app.out.note(format!("not taken over: {refusal}"));
    }
    blocked.map_or(Ok(()), Err)
}
