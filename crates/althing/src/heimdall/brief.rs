//! `heimdall-brief`: what a worker is handed.

use althing_dialects::frugal::brief::{Asked, Mode, list};

use super::args::{Args, unexpected, unknown};
use super::{Stop, context, log};
use crate::command_context::CommandContext;
use crate::frugal::{Order, build, counted};

pub(super) const HELP: &str = "\
heimdall-brief: a task, the symbols it names, the capsules it builds on; never the plan

  heimdall-brief build --task <id> --spec <text> [--symbols a,b] [--capsules x,y]
                       [--invariants <path>[#<anchor>]] [--strict] [--max-tokens N]

With --strict whatever leads nowhere is listed, and the exit code is 1 (3 if the project could not
be read). With --max-tokens capsules, then symbols, are left out until the brief fits, and named.

Exit codes: 0 done, 1 unknown capsule or not short enough, 2 wrong usage.
";

/// Could not look, which is not the same as not there.
const NOT_VERIFIED: u8 = 3;

#[derive(Default)]
struct Given {
    task: Option<String>,
    spec: Option<String>,
    symbols: String,
    capsules: String,
    invariants: Option<String>,
    strict: bool,
    tokens_max: Option<u64>,
}

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    if first.as_deref() != Some("build") {
        return Err(unknown(first));
    }
    let given = read(&mut args)?;
    let (Some(task), Some(spec)) = (given.task, given.spec) else {
        return Err(Stop::usage("build needs --task <id> and --spec <text>"));
    };
    let mode = if given.strict { Mode::Strict } else { Mode::Seed };
    let order = Order {
        asked: Asked { task, spec, mode, tokens_max: given.tokens_max },
        symbols: list(&given.symbols),
        capsules: list(&given.capsules),
        invariants: given.invariants,
    };
    let context = context()?;
    let detail =
        format!("task={} symbols={} capsules={}", order.asked.task, given.symbols, given.capsules);
    make(&context, &order, &detail)
}

fn read(args: &mut Args) -> Result<Given, Stop> {
    let mut given = Given::default();
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--task" => given.task = Some(args.value(&flag)?),
            "--spec" => given.spec = Some(args.value(&flag)?),
            "--symbols" => given.symbols = args.value(&flag)?,
            "--capsules" => given.capsules = args.value(&flag)?,
            "--invariants" => given.invariants = Some(args.value(&flag)?),
            "--strict" => given.strict = true,
            "--max-tokens" => {
                let number = args.value(&flag)?.parse();
                let wrong = |_| Stop::usage("--max-tokens must be a non-negative integer");
                given.tokens_max = Some(number.map_err(wrong)?);
            }
            other => return Err(unexpected(other)),
        }
    }
    let not_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    given.task = not_empty(given.task);
    given.spec = not_empty(given.spec);
    given.invariants = not_empty(given.invariants);
    Ok(given)
}

fn make(context: &CommandContext<'_>, order: &Order, detail: &str) -> Result<String, Stop> {
    let strict = order.asked.mode == Mode::Strict;
    let built = build(context, order).map_err(|failure| {
        if !strict {
            return Stop::from(failure);
        }
        let err = format!("NON_VERIFIED: {}\n", failure.message());
        Stop { err, code: NOT_VERIFIED, ..Stop::default() }
    })?;
    let brief = built.map_err(|long| {
        let (has, most) = (long.tokens, long.tokens_max);
        let message =
            format!("the brief has {has} tokens with all left out that can be, not {most}");
        Stop::error(1, message)
    })?;
    let unknown: Vec<&String> = order
        .capsules
        .iter()
        .filter(|id| {
            brief.unresolved.iter().any(|no| no.reference == **id && no.why.contains("capsule"))
        })
        .collect();
    if strict && !brief.unresolved.is_empty() {
        log::looked(context, "brief", "refused", detail);
        return Err(Stop { out: brief.text, code: 1, ..Stop::default() });
    }
    if let Some(id) = unknown.first() {
        let err = format!("error: no capsule: {id}\n");
        return Err(Stop { out: brief.text, err, code: 1, ..Stop::default() });
    }
    if !order.capsules.is_empty() {
        log::looked(context, "capsule", "hydrate", &order.capsules.join(" "));
    }
    log::looked(context, "brief", "build", detail);
    // The brief is good whether or not it could be counted.
    if let Err(failure) =
        counted(context, &brief.text, ("orchestration", "delta_brief"), Some(&order.asked.task))
    {
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "note: not on the ledger: {}", failure.message());
    }
    context.app.warn();
    Ok(brief.text)
}
