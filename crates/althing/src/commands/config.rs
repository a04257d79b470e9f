//! `althing config`

use serde::Serialize;

use crate::app::App;
use crate::error::Error;
use crate::settings::{Origin, Settings};
use crate::table::{free_text, whole};

#[derive(Serialize)]
struct Line {
    key: &'static str,
    value: Option<String>,
    origin: String,
}

pub(crate) fn run(app: &App) -> Result<(), Error> {
    let project = app.project()?;
    let settings = &project.settings;
    let place = &project.place;
    let lines = [
        line("root", Some(place.root.display().to_string()), place.root_origin.to_owned()),
        line("state", Some(place.state.display().to_string()), place.state_origin.to_owned()),
        line(
            "store",
            Some(format!("sqlite:{}", project.home.store().display())),
            named(settings.store.origin),
        ),
        line("agent", shown(settings.agent.value.as_ref()), named(settings.agent.origin)),
        line("user", shown(settings.user.value.as_ref()), named(settings.user.origin)),
        line("session", settings.session.value.clone(), named(settings.session.origin)),
        line("workspace", settings.workspace.value.clone(), named(settings.workspace.origin)),
        line(
            "lease_ttl",
            Some(secs(settings.lease_ttl.value.secs())),
            named(settings.lease_ttl.origin),
        ),
        line(
            "patience",
            Some(secs(settings.patience_secs.value)),
            named(settings.patience_secs.origin),
        ),
        line(
            "store_bytes_max",
            shown(settings.store_bytes_max.value.as_ref()),
            named(settings.store_bytes_max.origin),
        ),
        line("integrate.checks", listed(&settings.checks.value), named(settings.checks.origin)),
        line(
            "integrate.check_timeout",
            Some(secs(settings.check_timeout_secs.value)),
            named(settings.check_timeout_secs.origin),
        ),
        line(
            "compact_after",
            Some(age(settings.compact_after.value, "never")),
            named(settings.compact_after.origin),
        ),
        line(
            "archive_retention",
            Some(age(settings.archive_retention.value, "forever")),
            named(settings.archive_retention.origin),
        ),
        line(
            "security.deployment",
            shown(Some(&settings.deployment.value)),
            named(settings.deployment.origin),
        ),
        line(
            "memory.secrets",
            Some(settings.memory_secrets.value.word().to_owned()),
            named(settings.memory_secrets.origin),
        ),
        line(
            "sessions.grace",
            Some(secs(settings.session_grace.value.secs())),
            named(settings.session_grace.origin),
        ),
    ];
    let lines: Vec<Line> =
        lines.into_iter().chain(of_workshop(settings)).chain(of_hooks(settings)).collect();
    if app.out.json {
        return app.out.value(&lines);
    }
    let rows: Vec<Vec<String>> = lines
        .into_iter()
        .map(|line| {
            vec![line.key.to_owned(), line.value.unwrap_or_else(|| "-".to_owned()), line.origin]
        })
        .collect();
    app.out.table(&[whole("SETTING"), free_text("VALUE"), whole("FROM")], &rows)
}

fn named(origin: Origin) -> String {
    match origin {
        Origin::Flag => "flag".to_owned(),
        Origin::Environment => "environment".to_owned(),
        Origin::File => crate::settings::FILE_NAME.to_owned(),
        Origin::Default => "default".to_owned(),
    }
}

fn line(key: &'static str, value: Option<String>, origin: String) -> Line {
    Line { key, value, origin }
}

fn secs(secs: u64) -> String {
    crate::span::show_secs(secs)
}

/// The settings of runs.
fn of_workshop(settings: &Settings) -> Vec<Line> {
    let own = &settings.workshop;
    let plain = |key, value: Option<String>, origin| line(key, value, named(origin));
    vec![
        plain("workshop.agents", listed(&own.agents.value), own.agents.origin),
        plain(
            "workshop.worktrees",
            Some(own.worktrees.value.display().to_string()),
            own.worktrees.origin,
        ),
        plain("workshop.setup", own.setup.value.clone(), own.setup.origin),
        plain("workshop.copy", paths(&own.copy.value), own.copy.origin),
        plain("workshop.checks", listed(&own.checks.value), own.checks.origin),
        plain("workshop.into", own.into.value.clone(), own.into.origin),
        plain("workshop.timeout", Some(secs(own.timeout_secs.value)), own.timeout_secs.origin),
        plain("workshop.silence", Some(secs(own.silence_secs.value)), own.silence_secs.origin),
        plain("workshop.port_base", shown(Some(&own.port_base.value)), own.port_base.origin),
        plain("workshop.ports", shown(Some(&own.ports.value)), own.ports.origin),
        plain(
            "workshop.brief_tokens",
            shown(Some(&own.brief_tokens.value)),
            own.brief_tokens.origin,
        ),
        plain("workshop.reuse", shown(Some(&own.reuse.value)), own.reuse.origin),
        plain("workshop.model", own.model.value.clone(), own.model.origin),
        plain("workshop.offline", shown(Some(&own.offline.value)), own.offline.origin),
    ]
}

/// The settings of hooks.
fn of_hooks(settings: &Settings) -> Vec<Line> {
    let word = |key, word: &str, origin| line(key, Some(word.to_owned()), named(origin));
    vec![
        word(
            "claims.on_edit",
            settings.claims_on_edit.value.word(),
            settings.claims_on_edit.origin,
        ),
        word(
            "claims.outside",
            settings.claims_outside.value.word(),
            settings.claims_outside.origin,
        ),
        word("hooks.broken", settings.hooks_broken.value.word(), settings.hooks_broken.origin),
        line(
            "hooks.tokens",
            shown(Some(&settings.hooks_tokens.value)),
            named(settings.hooks_tokens.origin),
        ),
        word("hooks.stop", settings.hooks_stop.value.word(), settings.hooks_stop.origin),
    ]
}

/// Commands, each in its own quotes.
fn listed(commands: &[String]) -> Option<String> {
    let quoted: Vec<String> = commands.iter().map(|command| format!("{command:?}")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

fn paths(paths: &[std::path::PathBuf]) -> Option<String> {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    (!shown.is_empty()).then(|| shown.join(" "))
}

fn age(age: Option<althing_kernel::Span>, never: &str) -> String {
    age.map_or_else(|| never.to_owned(), |age| crate::span::show_secs(age.secs()))
}

fn shown<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}
