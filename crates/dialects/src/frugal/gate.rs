//! Conversion of a gate's report to a message that refers to it.
//!
//! Only the fields every gate has are read: `gate_id`, `status` and `wave`. The measurements stay
//! in the report.

use serde_json::Value;

use super::message::{Body, GateReport, GateStatus, Message, NonEmpty, Nullable};

/// Fields of the message that are not in the report.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// Sender.
    pub from: NonEmpty,
    /// The message's id.
    pub msg_id: NonEmpty,
    /// The wave; overrides the report's.
    pub wave: Option<&'a str>,
    /// Absolute path of the report.
    pub report_ref: &'a str,
    /// Time of the message.
    pub ts: &'a str,
}

/// Makes the message, or returns how the report breaks its contract.
pub fn to_message(report: &[u8], asked: Asked<'_>) -> Result<Message, String> {
    let report: Value = serde_json::from_slice(report).unwrap_or_default();
    let text =
        |name: &str| report.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let gate_id = text("gate_id").ok_or("report has no gate_id (contract violation)")?;
    let status = match report.get("status") {
        Some(Value::String(word)) => word.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    let known = GateStatus::of(&status);
    let known = known.ok_or_else(|| format!("report status not pass|fail: '{status}'"))?;
    let wave = asked.wave.filter(|wave| !wave.is_empty()).or_else(|| text("wave"));
    Ok(Message {
        from: asked.from,
        msg_id: asked.msg_id,
        reply_to: None,
        ts: Some(asked.ts.to_owned()),
        body: Body::GateReport(GateReport {
            gate_id: gate_id.to_owned(),
            status: known,
            report_ref: Some(asked.report_ref.to_owned()),
            wave: wave.map(|wave| Nullable(Some(wave.to_owned()))),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frugal::message;

    fn made(report: &str, wave: Option<&str>) -> Result<String, String> {
        let (from, msg_id) = (NonEmpty::new("s").unwrap(), NonEmpty::new("g1").unwrap());
        let asked = Asked { from, msg_id, wave, report_ref: "/r.json", ts: "T" };
        to_message(report.as_bytes(), asked).map(|made| serde_json::to_string(&made).unwrap())
    }

    #[test]
    fn a_report_is_referred_to_and_not_restated() {
        let report = r#"{"gate_id":"lob","status":"pass","metrics":{"secret":1},"wave":"w1"}"#;
        let line = made(report, None).unwrap();
        let expected = concat!(
            r#"{"type":"gate_report","from":"s","msg_id":"g1","ts":"T","gate_id":"lob","#,
            r#""status":"pass","report_ref":"/r.json","wave":"w1"}"#
        );
        assert_eq!(line, expected);
        assert!(message::read(line.as_bytes()).is_ok());
        assert!(made(report, Some("w2")).unwrap().contains(r#""wave":"w2""#));
    }

    #[test]
    fn a_report_that_breaks_its_contract_is_no_message() {
        for (report, expected) in [
            ("nonsense", "report has no gate_id (contract violation)"),
            (r#"{"status":"pass"}"#, "report has no gate_id (contract violation)"),
            (r#"{"gate_id":"g","status":"partial"}"#, "report status not pass|fail: 'partial'"),
            (r#"{"gate_id":"g"}"#, "report status not pass|fail: ''"),
        ] {
            assert_eq!(made(report, None).unwrap_err(), expected);
        }
    }
}
