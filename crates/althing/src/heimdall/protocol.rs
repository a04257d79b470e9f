//! `heimdall-protocol`: all the others, and what concerns all of them.

use std::io::{BufRead as _, Seek as _, SeekFrom};

use super::args::{Args, unexpected, unknown};
use super::{Stop, Tool, context, lines};
use crate::frugal::waves;
use althing_dialects::frugal::wave::{WAVES_MAX, WORKERS_MAX};

pub(super) const HELP: &str = "\
heimdall-protocol: the frugal protocol in one command

  heimdall-protocol init                    make the files of the protocol
  heimdall-protocol resolve|blackboard|capsule|brief|ledger|validate|gate|claim|haid ...
  heimdall-protocol log [N]                 the last N lines of protocol.log (20)
  heimdall-protocol demo [--workers N] [--waves M]
                                            build waves of work both ways, and count them

Exit codes: those of the command; 2 for one that there is not.
";

/// As much of the end of the log as is looked at.
const TAIL_BYTES_MAX: u64 = 4 << 20;

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    let tool = match first.as_deref() {
        Some("init") => {
            args.end()?;
            return init();
        }
        Some("log") => return log(args),
        Some("demo") => return demo(args),
        Some("resolve") => Tool::Resolve,
        Some("blackboard") => Tool::Blackboard,
        Some("capsule") => Tool::Capsule,
        Some("brief") => Tool::Brief,
        Some("ledger") => Tool::Ledger,
        Some("validate") => Tool::Validate,
        Some("gate") => Tool::Gate,
        Some("claim") => Tool::Claim,
        Some("haid") => Tool::Haid,
        _ => return Err(unknown(first)),
    };
    if args.asks_for_help() {
        return Ok(tool.help().to_owned());
    }
    tool.run(args).map_err(|stop| {
        // The help that follows is that of the tool.
        let err = if stop.help { stop.err + tool.help() } else { stop.err };
        Stop { err, help: false, ..stop }
    })
}

fn demo(mut args: Args) -> Result<String, Stop> {
    let (mut workers, mut rounds) = (None, None);
    while let Some(flag) = args.next() {
        let (slot, most) = match flag.as_str() {
            "--workers" => (&mut workers, WORKERS_MAX),
            "--waves" => (&mut rounds, WAVES_MAX),
            other => return Err(unexpected(other)),
        };
        let number = args.value(&flag)?.parse().ok().filter(|number| (1..=most).contains(number));
        let wrong = || Stop::usage(format!("{flag} takes a number from 1 to {most}"));
        *slot = Some(number.ok_or_else(wrong)?);
    }
    if workers.is_none() && rounds.is_none() {
        return Ok(waves::demo(waves::SIZES)?);
    }
    Ok(waves::demo(&[(workers.unwrap_or(3), rounds.unwrap_or(1))])?)
}

fn init() -> Result<String, Stop> {
    let context = context()?;
    context.project.planning().begin(&context.engine()?)?;
    let planning = context.project.planning().root().to_owned();
    let protocol = planning.join("protocol");
    super::log::looked(&context, "protocol", "init", &protocol.display().to_string());
    let head = format!("initialized protocol layout under {}", protocol.display());
    let paths = [
        ("symbols:", protocol.join("symbols.json").display().to_string()),
        ("blackboard:", planning.join("blackboard.json").display().to_string()),
        ("capsules:", format!("{}/", protocol.join("capsules").display())),
        ("ledger:", protocol.join("ledger.jsonl").display().to_string()),
        ("schema:", protocol.join("message-schema.json").display().to_string()),
        ("log:", planning.join("protocol.log").display().to_string()),
    ];
    let paths = paths.into_iter().map(|(name, path)| format!("  {name:<12}{path}"));
    Ok(lines(std::iter::once(head).chain(paths)))
}

fn log(mut args: Args) -> Result<String, Stop> {
    let count = match args.next() {
        None => 20,
        Some(text) => {
            text.parse::<usize>().map_err(|_| Stop::usage("log takes a number of lines"))?
        }
    };
    args.end()?;
    let path = context()?.project.planning().root().join("protocol.log");
    let failed = |error: std::io::Error| Stop::error(1, format!("{}: {error}", path.display()));
    let mut file = match std::fs::File::open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        other => other.map_err(failed)?,
    };
    let size = file.metadata().map_err(failed)?.len();
    let from = size.saturating_sub(TAIL_BYTES_MAX);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let all: Result<Vec<Vec<u8>>, _> = std::io::BufReader::new(file).split(b'\n').collect();
    let all = all.map_err(failed)?;
    // A line that begins before what is looked at is not whole.
    let whole = &all[usize::from(from > 0).min(all.len())..];
    let last = &whole[whole.len().saturating_sub(count)..];
    Ok(lines(last.iter().map(|line| String::from_utf8_lossy(line).into_owned())))
}
