//! Plans as people write them, in TOML, YAML or JSON: tasks with what they depend on, what they may
//! touch, who does them and what shows that they are done.
//!
//! A plan is read whole before anything is done with it. Every mistake is told with the key of its
//! task.

use althing_kernel::file::FilePath;
use althing_kernel::records::field::Few;
use althing_kernel::task::Priority;
use althing_kernel::task::graph::{Plan, Planned};
use althing_kernel::task::terms::{TaskGate, Terms};
use althing_kernel::text::Text;
use althing_kernel::token::RoleName;
use althing_kernel::workspace::Timeout;
use althing_kernel::workspace::budget::{Budget, Dimension};
use althing_kernel::workspace::meter::Amount;
use althing_kernel::{Content, Rule, Surface};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::amounts;
use crate::app::App;
use crate::error::Error;
use crate::span::parse_secs;

/// The largest plan, in bytes.
const PLAN_BYTES_MAX: u64 = 4 << 20;
/// The largest text of a task, in bytes.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// The most tasks in one plan.
const TASKS_MAX: usize = 500;
/// The longest key of a task, in bytes.
const KEY_BYTES_MAX: usize = 64;

/// The most tries of one attempt.
const ATTEMPTS_MAX: u8 = 20;

/// How a plan is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Toml,
    Yaml,
    Json,
}

impl Format {
    /// The format that a file's name tells, else the one its text looks like.
    fn of(path: &Path, text: &str) -> Self {
        let ending = path.extension().map(|own| own.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("toml") => Format::Toml,
            Some("yaml" | "yml") => Format::Yaml,
            Some("json") => Format::Json,
            _ if text.trim_start().starts_with('{') => Format::Json,
            _ if text.contains("[[tasks]]") => Format::Toml,
            _ => Format::Yaml,
        }
    }
}

/// A plan, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tasks: Vec<Task>,
}

/// A task, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    key: String,
    title: Option<String>,
    text: Option<String>,
    text_file: Option<PathBuf>,
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default)]
    touches: Vec<String>,
    agent: Option<String>,
    role: Option<String>,
    #[serde(default)]
    skills: Vec<String>,
    check: Option<String>,
    #[serde(default)]
    produces: Vec<String>,
    attempts: Option<u64>,
    timeout: Option<Written>,
    budget: Option<BTreeMap<String, Written>>,
    gate: Option<String>,
    priority: Option<String>,
}

/// A number or a text: `200000`, `"200k"`, `"2.50"`, `2.5`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(u64),
    Fraction(f64),
    Text(String),
}

impl Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Written::Whole(number) => write!(f, "{number}"),
            Written::Fraction(number) => write!(f, "{number}"),
            Written::Text(text) => f.write_str(text),
        }
    }
}

/// Reads a plan from a file, or from standard input if it is given as text already.
fn read(path: &Path) -> Result<Plan, Error> {
    let text = read_text(path, PLAN_BYTES_MAX, "the plan")?;
    parse(&text, path)
}

/// Reads the plan that somebody named; `-` is standard input.
pub(crate) fn open(app: &App, path: &Path) -> Result<Plan, Error> {
    if path != Path::new("-") {
        return read(path);
    }
    let text = crate::input::stdin_text(&app.globals, "the plan", PLAN_BYTES_MAX)?;
    if text.len() as u64 > PLAN_BYTES_MAX {
        return Err(Error::usage(format!("the plan has more than {PLAN_BYTES_MAX} bytes")));
    }
    parse(&text, path)
}

/// Reads a plan that was written to standard input, or elsewhere. `path` tells the format and where
/// the files that it names lie.
fn parse(text: &str, path: &Path) -> Result<Plan, Error> {
    let shown = path.display();
    let unreadable = |error: &dyn Display| {
        Error::usage(format!("{shown}: {error}")).hint("`althing plan check --help` shows a plan.")
    };
    let file: File = match Format::of(path, text) {
        Format::Toml => toml::from_str(text).map_err(|error| unreadable(&error.message()))?,
        Format::Json => serde_json::from_str(text).map_err(|error| unreadable(&error))?,
        Format::Yaml => serde_saphyr::from_str(text).map_err(|error| unreadable(&error))?,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let tasks = file.tasks.iter().map(|task| planned(task, folder));
    let plan = Plan { tasks: tasks.collect::<Result<_, _>>()? };
    check(&plan)?;
    Ok(plan)
}

/// A plan of one task.
pub(crate) fn single(text: &str) -> Result<Plan, Error> {
    let task = Task { text: Some(text.to_owned()), ..Task::named("task") };
    Ok(Plan { tasks: vec![planned(&task, Path::new("."))?] })
}

impl Task {
    fn named(key: &str) -> Self {
        Task {
            key: key.to_owned(),
            title: None,
            text: None,
            text_file: None,
            depends_on: Vec::new(),
            touches: Vec::new(),
            agent: None,
            role: None,
            skills: Vec::new(),
            check: None,
            produces: Vec::new(),
            attempts: None,
            timeout: None,
            budget: None,
            gate: None,
            priority: None,
        }
    }
}

fn read_text(path: &Path, limit: u64, what: &str) -> Result<String, Error> {
    let cannot = |error: &dyn Display| {
        let message = format!("{what} cannot be read from {}: {error}", path.display());
        Error::usage(message).hint("Check the name of the file. Nothing was changed.")
    };
    let size = std::fs::metadata(path).map_err(|error| cannot(&error))?;
    if !size.is_file() {
        return Err(cannot(&"it is not a file"));
    }
    if size.len() > limit {
        return Err(cannot(&format!("it has {} bytes, over {limit}", size.len())));
    }
    std::fs::read_to_string(path).map_err(|error| cannot(&error))
}

/// An error about one task.
fn in_task(key: &str, what: impl Display) -> Error {
    let shown: String = key.chars().take(KEY_BYTES_MAX).collect();
    let error = Error::misuse(Rule::TaskGraph, format!("task {shown:?}: {what}"));
    error.hint("Nothing was changed. Correct the plan; `althing plan check FILE` looks again.")
}

fn planned(task: &Task, folder: &Path) -> Result<Planned, Error> {
    let key = task.key.clone();
    let fail = |what: String| in_task(&key, what);
    if !is_key(&key) {
        let form = "a key has 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or \
                    digit";
        return Err(fail(form.to_owned()));
    }
    let text = match (&task.text, &task.text_file) {
        (Some(_), Some(_)) => return Err(fail("has both `text` and `text_file`".to_owned())),
        (Some(text), None) => text.clone(),
        (None, Some(file)) => read_text(&folder.join(file), TEXT_BYTES_MAX, "its text")
            .map_err(|error| fail(error.message().to_owned()))?,
        (None, None) => task.title.clone().unwrap_or_default(),
    };
    if text.trim().is_empty() {
        return Err(fail("says nothing: give it a `text`, a `text_file` or a `title`".to_owned()));
    }
    if text.len() as u64 > TEXT_BYTES_MAX {
        return Err(fail(format!("its text is longer than {TEXT_BYTES_MAX} bytes")));
    }
    let title = task.title.clone().unwrap_or_else(|| first_line(&text).to_owned());
    let short = |text: &String| Text::new(text).map_err(|error| fail(error.to_string()));
    Ok(Planned {
        depends_on: task.depends_on.iter().map(short).collect::<Result<_, _>>()?,
        description: Content::Text(text.into()),
        estimate: None,
        key: short(&task.key)?,
        name: Text::lossy(title.trim()),
        parent: None,
        priority: priority(task.priority.as_deref()).map_err(fail)?,
        terms: Some(Box::new(terms(task).map_err(fail)?)),
    })
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// Keys become parts of the names of branches and folders.
fn is_key(key: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let begins_well = key.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins_well
        && key.len() <= KEY_BYTES_MAX
        && key.bytes().all(allowed)
        && !key.contains("..")
        && !key.ends_with('.')
        && key.strip_suffix(".lock").is_none()
}

fn priority(text: Option<&str>) -> Result<Priority, String> {
    match text {
        None | Some("normal" | "medium") => Ok(Priority::Normal),
        Some("low") => Ok(Priority::Low),
        Some("high" | "elevated") => Ok(Priority::Elevated),
        Some("urgent") => Ok(Priority::Urgent),
        Some(other) => Err(format!("priority {other:?} is none of low, normal, high, urgent")),
    }
}

fn terms(task: &Task) -> Result<Terms, String> {
    fn say(name: &str, error: impl Display) -> String {
        format!("`{name}`: {error}")
    }
    let texts = |name: &str, list: &[String]| -> Result<Vec<Text<64>>, String> {
        list.iter().map(|own| Text::new(own).map_err(|error| say(name, error))).collect()
    };
    let touches = task.touches.iter().map(|path| Surface::new(path));
    let touches = touches.collect::<Result<Vec<_>, _>>().map_err(|error| say("touches", error))?;
    let produces = task.produces.iter().map(|path| FilePath::new(path));
    let produces = produces.collect::<Result<Vec<_>, _>>();
    let gate = match task.gate.as_deref() {
        None => None,
        Some("integration") => Some(TaskGate::Integration),
        Some(other) => return Err(say("gate", format!("{other:?} is not `integration`"))),
    };
    let text = |name: &str, own: &Option<String>| -> Result<Option<Text<64>>, String> {
        own.as_deref().map(Text::new).transpose().map_err(|error| say(name, error))
    };
    Ok(Terms {
        agent: text("agent", &task.agent)?,
        attempts: task.attempts.map(attempts).transpose()?,
        budget: budget(task.budget.as_ref()).map_err(|error| say("budget", error))?,
        check: task
            .check
            .as_deref()
            .map(Text::new)
            .transpose()
            .map_err(|error| say("check", error))?,
        gate,
        key: Some(Text::lossy(&task.key)),
        produces: Few::new(produces.map_err(|error| say("produces", error))?)
            .map_err(|error| say("produces", error))?,
        role: task
            .role
            .as_deref()
            .map(RoleName::new)
            .transpose()
            .map_err(|error| say("role", error))?,
        skills: Few::new(texts("skills", &task.skills)?).map_err(|error| say("skills", error))?,
        timeout_s: task.timeout.as_ref().map(timeout).transpose()?,
        touches: Few::new(touches).map_err(|error| say("touches", error))?,
    })
}

fn attempts(number: u64) -> Result<u8, String> {
    let fits = u8::try_from(number).ok().filter(|own| (1..=ATTEMPTS_MAX).contains(own));
    fits.ok_or_else(|| format!("`attempts` is 1 to {ATTEMPTS_MAX}, not {number}"))
}

fn timeout(written: &Written) -> Result<Timeout, String> {
    let secs = parse_secs(&written.to_string()).map_err(|error| format!("`timeout`: {error}"))?;
    Timeout::new(secs).map_err(|error| format!("`timeout`: {error}"))
}

fn budget(written: Option<&BTreeMap<String, Written>>) -> Result<Budget, String> {
    let mut budget = Budget::new();
    for (name, value) in written.into_iter().flatten() {
        let (dimension, amount): (Dimension, Amount) = match name.as_str() {
            "tokens" => (Dimension::TokenLimit, amounts::amount(&value.to_string())?),
            "cost" => (Dimension::CostLimit, amounts::cost(&value.to_string())?),
            "time" => (Dimension::ComputeTimeout, amounts::span(&value.to_string())?),
            other => return Err(format!("{other:?} is none of tokens, cost, time")),
        };
        budget.insert(dimension, amount);
    }
    Ok(budget)
}

/// Refuses keys that are used twice or that nobody has, and tasks that wait for each other.
fn check(plan: &Plan) -> Result<(), Error> {
    if plan.tasks.is_empty() {
        return Err(Error::misuse(Rule::TaskGraph, "the plan has no tasks"));
    }
    if plan.tasks.len() > TASKS_MAX {
        let message = format!("the plan has {} tasks, over {TASKS_MAX}", plan.tasks.len());
        return Err(Error::misuse(Rule::TaskGraph, message).hint("Split it into several plans."));
    }
    let mut keys = BTreeSet::new();
    for task in &plan.tasks {
        if !keys.insert(task.key.as_str()) {
            return Err(in_task(task.key.as_str(), "the key is used twice"));
        }
    }
    for task in &plan.tasks {
        if let Some(unknown) = task.depends_on.iter().find(|key| !keys.contains(key.as_str())) {
            let what = format!("depends on {:?}, which no task is", unknown.as_str());
            return Err(in_task(task.key.as_str(), what));
        }
    }
    match cycle(plan) {
        None => Ok(()),
        Some(cycle) => {
            let message = format!("these tasks wait for each other: {}", cycle.join(" → "));
            Err(Error::misuse(Rule::TaskGraph, message).hint("Nothing was changed."))
        }
    }
}

/// A chain of tasks that leads back to its beginning.
fn cycle(plan: &Plan) -> Option<Vec<String>> {
    let before: BTreeMap<&str, Vec<&str>> = plan
        .tasks
        .iter()
        .map(|task| {
            (
                task.key.as_str(),
                task.depends_on.iter().map(althing_kernel::text::Text::as_str).collect(),
            )
        })
        .collect();
    let mut done = BTreeSet::new();
    for start in before.keys() {
        // A walk with its own stack: plans may be deep.
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((key, next)) = path.last().copied() {
            let after = before.get(key).and_then(|all| all.get(next)).copied();
            match after {
                None => {
                    done.insert(key);
                    path.pop();
                }
                Some(after) => {
                    if let Some((_, at)) = path.last_mut() {
                        *at += 1;
                    }
                    if let Some(from) = path.iter().position(|(own, _)| *own == after) {
                        let mut cycle: Vec<String> =
                            path[from..].iter().map(|(own, _)| (*own).to_owned()).collect();
                        cycle.push(after.to_owned());
                        return Some(cycle);
                    }
                    if !done.contains(after) {
                        path.push((after, 0));
                    }
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_toml(text: &str) -> Result<Plan, Error> {
        parse(text, Path::new("plan.toml"))
    }

    fn told(text: &str) -> String {
        from_toml(text).map_or_else(|error| error.message().to_owned(), |_| String::new())
    }

    #[test]
    fn the_three_formats_say_the_same() {
        let toml = r#"
            [[tasks]]
            key = "lexer"
            title = "Rewrite the lexer"
            text = "All of it."
            touches = ["src/lexer/**"]
            agent = "claude"
            check = "cargo test lexer"
            produces = ["src/lexer/mod.rs"]
            attempts = 3
            timeout = "30m"
            budget = { tokens = 200000, cost = "2.50" }
            gate = "integration"
            [[tasks]]
            key = "parser"
            text = "Write it"
            depends_on = ["lexer"]
        "#;
        let yaml = "
tasks:
  - key: lexer
    title: Rewrite the lexer
    text: All of it.
    touches: [\"src/lexer/**\"]
    agent: claude
    check: cargo test lexer
    produces: [src/lexer/mod.rs]
    attempts: 3
    timeout: 30m
    budget: { tokens: 200k, cost: '2.50' }
    gate: integration
  - key: parser
    text: Write it
    depends_on: [lexer]
";
        let json = r#"{"tasks":[{"key":"lexer","title":"Rewrite the lexer","text":"All of it.",
            "touches":["src/lexer/**"],"agent":"claude","check":"cargo test lexer",
            "produces":["src/lexer/mod.rs"],"attempts":3,"timeout":1800,
            "budget":{"tokens":200000,"cost":2.5},"gate":"integration"},
            {"key":"parser","text":"Write it","depends_on":["lexer"]}]}"#;
        let first = from_toml(toml).unwrap();
        assert_eq!(first.tasks.len(), 2);
        let terms = first.tasks[0].terms.as_ref().unwrap();
        assert_eq!(terms.timeout_s.map(|own| own.span().secs()), Some(1800));
        assert_eq!(terms.budget.get(&Dimension::CostLimit).map(|own| own.get()), Some(2_500_000));
        assert_eq!(parse(yaml, Path::new("plan.yaml")).unwrap(), first);
        assert_eq!(parse(json, Path::new("-")).unwrap(), first);
    }

    #[test]
    fn mistakes_are_told_with_the_task() {
        let task = |rest: &str| format!("[[tasks]]\nkey = \"a\"\ntext = \"x\"\n{rest}\n");
        for (text, part) in [
            (String::new(), "tasks"),
            ("tasks = []".to_owned(), "no tasks"),
            (task("").repeat(2), "used twice"),
            (task("depends_on = [\"b\"]"), "\"b\", which no task is"),
            (task("depends_on = [\"a\"]"), "a → a"),
            (task("attempts = 0"), "`attempts` is 1 to 20"),
            (task("touches = [\"../x\"]"), "`touches`"),
            (task("produces = [\"/etc/x\"]"), "`produces`"),
            (task("timeout = \"soon\""), "`timeout`"),
            (task("budget = { money = 3 }"), "none of tokens, cost, time"),
            (task("gate = \"merge\""), "is not `integration`"),
            (task("priority = \"now\""), "none of low"),
            (task("wat = 1"), "wat"),
            (task("text_file = \"x.md\""), "both `text` and `text_file`"),
            ("[[tasks]]\nkey = \"_x\"\ntext = \"x\"".to_owned(), "a key has"),
            ("[[tasks]]\nkey = \"a\"\ntext = \"  \"".to_owned(), "says nothing"),
            ("[[tasks]]\nkey = \"a\"\ntext_file = \"gone.md\"".to_owned(), "cannot be read"),
        ] {
            let said = told(&text);
            assert!(said.contains(part), "{text}: {said}");
        }
        let ring = "[[tasks]]\nkey=\"a\"\ntext=\"x\"\ndepends_on=[\"c\"]\n[[tasks]]\nkey=\"b\"\n\
                    text=\"x\"\ndepends_on=[\"a\"]\n[[tasks]]\nkey=\"c\"\ntext=\"x\"\ndepends_on=[\"b\"]";
        let said = told(ring);
        assert!(said.contains("a → c → b → a"), "{said}");
    }
}
