//! `heimdall-gate`: a gate's report as a message that refers to it.

use althing_dialects::frugal::gate::{Asked, to_message};
use althing_dialects::frugal::message::NonEmpty;
use althing_dialects::moment::utc;

use super::args::{Args, unexpected, unknown};
use super::{Stop, context, log};

pub(super) const HELP: &str = "\
heimdall-gate: a gate's report as a message that refers to it

  heimdall-gate to-message --report P --from R --msg-id M [--wave W]

Exit codes: 0 done, 1 the report breaks its contract or is not there, 2 wrong usage.
";

/// The largest report that is read, in bytes.
const REPORT_BYTES_MAX: u64 = 16 << 20;

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    if first.as_deref() != Some("to-message") {
        return Err(unknown(first));
    }
    let (mut report, mut from, mut msg_id, mut wave) = (None, None, None, None);
    while let Some(flag) = args.next() {
        let slot = match flag.as_str() {
            "--report" => &mut report,
            "--from" => &mut from,
            "--msg-id" => &mut msg_id,
            "--wave" => &mut wave,
            other => return Err(unexpected(other)),
        };
        *slot = Some(args.value(&flag)?);
    }
    let (from, msg_id) = (from.and_then(NonEmpty::new), msg_id.and_then(NonEmpty::new));
    let (Some(report), Some(from), Some(msg_id)) = (report, from, msg_id) else {
        return Err(Stop::usage("to-message needs --report, --from and --msg-id"));
    };
    let bytes =
        read(&report).ok_or_else(|| Stop::error(1, format!("report not found: {report}")))?;
    let path = std::fs::canonicalize(&report).unwrap_or_else(|_| report.clone().into());
    let path = path.to_str().ok_or_else(|| Stop::error(1, "the report's path is not UTF-8"))?;
    let context = context()?;
    let now = utc(context.now());
    let asked = Asked { from, msg_id, wave: wave.as_deref(), report_ref: path, ts: &now };
    let message = to_message(&bytes, asked).map_err(|why| Stop::error(1, why))?;
    let line = serde_json::to_string(&message).map_err(|error| Stop::error(1, error))?;
    if let althing_dialects::frugal::message::Body::GateReport(body) = &message.body {
        let detail = format!("{}/{} ref={path}", body.gate_id, body.status.as_str());
        log::looked(&context, "gate", "to-message", &detail);
    }
    Ok(format!("{line}\n"))
}

fn read(path: &str) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut content = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(REPORT_BYTES_MAX).read_to_end(&mut content).ok()?;
    Some(content)
}
