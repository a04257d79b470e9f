//! The answer format of the larger verbs: intent, result, and next steps.

use serde_json::{Map, Value, json};

/// Most next steps in an answer.
pub const NEXT_MAX: usize = 3;

/// An answer being built.
#[derive(Clone, Debug)]
pub struct Facade {
    status: &'static str,
    intent: String,
    result: Map<String, Value>,
    artifacts: Vec<Value>,
    side_effects: Vec<Value>,
    warnings: Vec<Value>,
    warning_details: Vec<Value>,
    next_actions: Vec<Value>,
    extra: Map<String, Value>,
}

impl Facade {
    /// Begins an answer to an intent.
    pub fn new(intent: &str) -> Self {
        Facade {
            status: "ok",
            intent: intent.to_owned(),
            result: Map::new(),
            artifacts: Vec::new(),
            side_effects: Vec::new(),
            warnings: Vec::new(),
            warning_details: Vec::new(),
            next_actions: Vec::new(),
            extra: Map::new(),
        }
    }

    /// Marks the answer as partial.
    pub fn partial(&mut self) -> &mut Self {
        self.status = "partial";
        self
    }

    /// Adds a part of the result.
    pub fn result(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.result.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a field of the answer itself.
    pub fn field(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a created thing.
    pub fn artifact(&mut self, kind: &str, id: &str) -> &mut Self {
        self.artifacts.push(json!({ "type": kind, "id": id }));
        self
    }

    /// Adds a side effect.
    pub fn effect(&mut self, action: &str, entity: &str, id: &str) -> &mut Self {
        self.side_effects.push(json!({ "action": action, "entity": entity, "id": id }));
        self
    }

    /// Adds a warning.
    pub fn warn(&mut self, code: &str, message: impl Into<String>) -> &mut Self {
        let message = message.into();
        self.warning_details.push(json!({ "code": code, "message": message }));
        self.warnings.push(message.into());
        self
    }

    /// Adds a next step. Only the first few are kept.
    #[expect(clippy::needless_pass_by_value, reason = "callers write it down where they name it")]
    pub fn next(&mut self, tool: &str, args: Value, when: &str) -> &mut Self {
        if self.next_actions.len() < NEXT_MAX {
            self.next_actions.push(json!({ "tool": tool, "args": args, "when": when }));
        }
        self
    }

    /// The finished answer.
    pub fn answer(self) -> Value {
        let mut answer = self.extra;
        answer.insert("status".to_owned(), self.status.into());
        answer.insert("intent".to_owned(), self.intent.into());
        answer.insert("result".to_owned(), Value::Object(self.result));
        answer.insert("artifacts".to_owned(), self.artifacts.into());
        answer.insert("side_effects".to_owned(), self.side_effects.into());
        answer.insert("warnings".to_owned(), self.warnings.into());
        for (name, list) in
            [("warning_details", self.warning_details), ("next_actions", self.next_actions)]
        {
            if !list.is_empty() {
                answer.insert(name.to_owned(), list.into());
            }
        }
        Value::Object(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_its_parts_and_few_next_steps() {
        let mut facade = Facade::new("consult");
        facade.result("plans", 3).warn("none", "nothing to say").field("session_id", "ws_1");
        for n in 0..5 {
            facade.next("bclaw_get", json!({ "n": n }), "always");
        }
        let answer = facade.answer();
        assert_eq!(answer["next_actions"].as_array().unwrap().len(), NEXT_MAX);
        assert_eq!(answer["warnings"], json!(["nothing to say"]));
        assert_eq!(answer["warning_details"][0]["code"], "none");
        assert_eq!((&answer["status"], &answer["session_id"]), (&json!("ok"), &json!("ws_1")));
        let empty = Facade::new("consult").answer();
        assert!(empty.get("next_actions").is_none(), "{empty}");
    }
}
