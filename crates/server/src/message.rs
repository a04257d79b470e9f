//! Messages: what a frame says, checked before the protocol sees it.
//!
//! The protocol library drops what it cannot read. Here every request gets an answer: what is not
//! JSON, not JSON-RPC 2.0, or asks for a method that is not offered is answered at once, and
//! `initialize` is completed with what lax hosts leave out.

use althing_engine::screen::{leaks, repeated};
use althing_services::project::UNNAMED;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage};
use serde_json::{Map, Value, json};

use crate::frame::{Found, MESSAGE_BYTES_MAX};

/// The methods that are offered.
const METHODS: [&str; 5] = ["initialize", "ping", "server/discover", "tools/call", "tools/list"];
/// The protocol revision assumed for a host that names none.
const REVISION_UNSAID: &str = "2024-11-05";

/// More than any tool or method is called.
const NAME_CHARS_MAX: usize = 64;

/// How a message is treated.
pub(crate) enum Read {
    /// Hand it on.
    Deliver(Box<ClientJsonRpcMessage>),
    /// Answer it with this.
    Answer(Value),
    /// Drop it: a notification needs no answer.
    Ignore,
}

/// Reads a message.
pub(crate) fn read(found: &Found) -> Read {
    let bytes = match found {
        Found::Message(bytes) => bytes,
        Found::TooLong => {
            let message = format!("Invalid Request: over {MESSAGE_BYTES_MAX} bytes");
            return refuse(&Value::Null, ErrorCode::INVALID_REQUEST, &message);
        }
        Found::Broken => return refuse(&Value::Null, ErrorCode::PARSE_ERROR, "Parse error"),
    };
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(message)) if message.get("jsonrpc") == Some(&json!("2.0")) => {
            envelope(message)
        }
        Ok(_) => {
            let message = "Invalid Request: not JSON-RPC 2.0";
            refuse(&Value::Null, ErrorCode::INVALID_REQUEST, message)
        }
        Err(_) => refuse(&Value::Null, ErrorCode::PARSE_ERROR, "Parse error"),
    }
}

/// A name that somebody gave, of which no more is said back than tells which one is meant.
pub(crate) fn short(name: &str) -> String {
    let mut chars = name.chars();
    let begin: String = chars.by_ref().take(NAME_CHARS_MAX).collect();
    if chars.next().is_some() { format!("{begin}…") } else { begin }
}

fn refuse(id: &Value, code: ErrorCode, message: &str) -> Read {
    let error = json!({ "code": code, "message": message });
    Read::Answer(json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

/// A message that is JSON-RPC.
fn envelope(message: Map<String, Value>) -> Read {
    let invalid = |id: &Value, why: &str| {
        refuse(id, ErrorCode::INVALID_REQUEST, &format!("Invalid Request: {why}"))
    };
    let id = match message.get("id") {
        None => None,
        Some(id) if id.is_string() || id.is_i64() => Some(id.clone()),
        Some(_) => return invalid(&Value::Null, "an id is a string or a whole number"),
    };
    match (message.get("method"), id) {
        (Some(Value::String(_)), None) => Read::Ignore,
        (Some(Value::String(method)), Some(id)) => {
            let method = method.clone();
            request(message, &method, &id)
        }
        // Answers to questions, of which none was asked.
        (None, Some(_)) if message.contains_key("result") || message.contains_key("error") => {
            Read::Ignore
        }
        (_, id) => invalid(&id.unwrap_or_default(), "no method"),
    }
}

fn request(mut message: Map<String, Value>, method: &str, id: &Value) -> Read {
    if !METHODS.contains(&method) {
        let method = if leaks(method) { repeated(method) } else { short(method) };
        let text = format!("Method not found: {method}");
        return refuse(id, ErrorCode::METHOD_NOT_FOUND, &text);
    }
    if message.get("params").is_some_and(Value::is_null) {
        message.remove("params");
    }
    if method == "initialize" {
        let given = message.remove("params");
        message.insert("params".to_owned(), introduced(given));
    }
    if let Some(Value::Object(params)) = message.get_mut("params")
        && params.get("arguments").is_some_and(Value::is_null)
    {
        params.remove("arguments");
    }
    // A message with a known method and unreadable parameters parses as a custom request.
    match serde_json::from_value::<ClientJsonRpcMessage>(Value::Object(message)) {
        Ok(JsonRpcMessage::Request(read))
            if !matches!(read.request, ClientRequest::CustomRequest(_)) =>
        {
            Read::Deliver(Box::new(JsonRpcMessage::Request(read)))
        }
        _ => refuse(id, ErrorCode::INVALID_PARAMS, &format!("Invalid params of {method}")),
    }
}

/// The parameters of `initialize`, with what is missing filled in.
fn introduced(given: Option<Value>) -> Value {
    let mut params = match given {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    let is_text = |value: Option<&Value>| {
        value.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    };
    if !is_text(params.get("protocolVersion")) {
        params.insert("protocolVersion".to_owned(), json!(REVISION_UNSAID));
    }
    if !params.get("capabilities").is_some_and(Value::is_object) {
        params.insert("capabilities".to_owned(), json!({}));
    }
    let mut client = match params.remove("clientInfo") {
        Some(Value::Object(client)) => client,
        _ => Map::new(),
    };
    for (field, default) in [("name", UNNAMED), ("version", "unknown")] {
        if !is_text(client.get(field)) {
            client.insert(field.to_owned(), json!(default));
        }
    }
    params.insert("clientInfo".to_owned(), Value::Object(client));
    Value::Object(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Option<(Value, i64, String)> {
        match read(&Found::Message(text.as_bytes().to_vec())) {
            Read::Answer(answer) => Some((
                answer["id"].clone(),
                answer["error"]["code"].as_i64().unwrap(),
                answer["error"]["message"].as_str().unwrap().to_owned(),
            )),
            Read::Ignore => None,
            Read::Deliver(message) => panic!("{message:?}"),
        }
    }

    #[test]
    fn unusable_messages_get_an_error() {
        let deep = "[".repeat(100_000);
        for text in ["{", "nonsense", &deep, "\"open", "{\"a\":}"] {
            let expected = (Value::Null, -32700, "Parse error".to_owned());
            assert_eq!(answer(text), Some(expected), "{text:.20}");
        }
        for text in ["[]", "1", "null", "{}", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#] {
            let expected = (Value::Null, -32600, "Invalid Request: not JSON-RPC 2.0".to_owned());
            assert_eq!(answer(text), Some(expected), "{text}");
        }
        let unknown = answer(r#"{"jsonrpc":"2.0","id":7,"method":"prompts/list"}"#);
        assert_eq!(unknown, Some((json!(7), -32601, "Method not found: prompts/list".to_owned())));
        let call = answer(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{}}"#);
        assert_eq!(call.map(|(id, code, _)| (id, code)), Some((json!("x"), -32602)));
        for id in ["null", "1.5", "{}", "true"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(answer(&text).map(|(id, code, _)| (id, code)), Some((Value::Null, -32600)));
        }
    }

    #[test]
    fn notifications_get_no_answer() {
        for text in [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/of/somebodys/own","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(answer(text), None, "{text}");
        }
    }

    #[test]
    fn a_lax_initialize_is_completed() {
        for params in ["", r#","params":null"#, r#","params":{"clientInfo":{"name":""}}"#] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize"{params}}}"#);
            let Read::Deliver(message) = read(&Found::Message(text.into_bytes())) else {
                panic!("{params}")
            };
            let JsonRpcMessage::Request(request) = *message else { panic!("{params}") };
            let ClientRequest::InitializeRequest(request) = request.request else { panic!() };
            assert_eq!(request.params.client_info.name, UNNAMED);
            assert_eq!(request.params.protocol_version.as_str(), REVISION_UNSAID);
        }
    }
}
