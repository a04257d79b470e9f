//! Answers to hooks, in the form that each agent takes.

use serde_json::{Value, json};

use super::{BlockForm, ContextForm, Payload, RefusalForm, Shape};

/// The moment that a text for the conversation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A session begins.
    Session,
    /// A prompt was given.
    Prompt,
}

/// An answer: what is printed, and the exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// For standard output, without its last line break.
    pub out: Option<String>,
    /// For standard error.
    pub err: Option<String>,
    /// The exit code. Never 1: agents take that for a broken hook.
    pub code: u8,
}

impl Answer {
    /// The agent may go on. It is asked nothing and told nothing, so its own rules for permissions hold.
    pub fn go_on() -> Self {
        Answer::default()
    }

    fn json(value: &Value) -> Self {
        Answer { out: Some(value.to_string()), ..Answer::default() }
    }

    /// A refusal, with a reason that the model sees. With `asks`, the person at the agent is asked
    /// instead, where the agent can do that.
    pub fn refusal(payload: &Payload, reason: &str, asks: bool) -> Self {
        let shape = payload.agent().shape();
        let word = if asks { "ask" } else { "deny" };
        match shape.refusal {
            RefusalForm::HookSpecific { asks: can_ask } => {
                let event = payload.event().unwrap_or(shape.events.edit);
                let decision = if can_ask { word } else { "deny" };
                Answer::json(&json!({ "hookSpecificOutput": {
                    "hookEventName": event,
                    "permissionDecision": decision,
                    "permissionDecisionReason": reason,
                } }))
            }
            RefusalForm::Decision => Answer::json(&json!({ "decision": "deny", "reason": reason })),
            RefusalForm::Permission => Answer::json(
                &json!({ "permissionDecision": word, "permissionDecisionReason": reason }),
            ),
            RefusalForm::Messages => Answer::json(
                &json!({ "permission": word, "user_message": reason, "agent_message": reason }),
            ),
            RefusalForm::OverrideInput => Answer::json(&json!({
                "cancel": false,
                "overrideInput": harmless(payload),
                "contextModification": reason,
            })),
            RefusalForm::Exit => {
                Answer { err: Some(reason.to_owned()), code: 2, ..Answer::default() }
            }
        }
    }

    /// A text for the conversation.
    pub fn context(payload: &Payload, moment: Moment, text: &str) -> Self {
        let shape = payload.agent().shape();
        match shape.context {
            ContextForm::HookSpecific => {
                let event = payload.event().unwrap_or_else(|| event_of(shape, moment));
                Answer::json(&json!({ "hookSpecificOutput": {
                    "hookEventName": event,
                    "additionalContext": text,
                } }))
            }
            ContextForm::Additional => Answer::json(&json!({ "additionalContext": text })),
            ContextForm::Snake => Answer::json(&json!({ "additional_context": text })),
            ContextForm::Modification => {
                Answer::json(&json!({ "cancel": false, "contextModification": text }))
            }
            ContextForm::Text => Answer { out: Some(text.to_owned()), ..Answer::default() },
        }
    }

    /// That the agent must not end yet. An agent that cannot be kept from it may go.
    pub fn block(payload: &Payload, reason: &str) -> Self {
        match payload.agent().shape().block {
            BlockForm::Decision => Answer::json(&json!({ "decision": "block", "reason": reason })),
            BlockForm::Followup => Answer::json(&json!({ "followup_message": reason })),
            BlockForm::None => Answer::go_on(),
        }
    }
}

fn event_of(shape: &Shape, moment: Moment) -> &'static str {
    let event = match moment {
        Moment::Session => shape.events.session,
        Moment::Prompt => shape.events.prompt,
    };
    event.unwrap_or_default()
}

/// Arguments with which a tool of Cline fails and changes nothing.
fn harmless(payload: &Payload) -> Value {
    let said = "echo 'not run: refused by Althing' >&2; exit 1";
    match payload.tool() {
        Some("run_commands") => json!({ "commands": [said] }),
        Some("execute_command") => json!({ "command": said }),
        Some("apply_patch") => {
            json!({ "patch": "refused by Althing", "input": "refused by Althing" })
        }
        _ => json!({
            "path": "/dev/null/refused-by-althing",
            "old_text": "refused", "new_text": "refused", "content": "refused", "diff": "refused",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_shapes::{Agent, SHAPES};

    fn payload(agent: Agent) -> Payload {
        Payload::read(agent, b"{}").unwrap()
    }

    #[test]
    fn every_agent_is_refused_with_the_reason_and_never_with_exit_code_1() {
        for shape in SHAPES {
            for asks in [false, true] {
                let answer = Answer::refusal(&payload(shape.agent), "held by bob", asks);
                let said = format!("{:?}{:?}", answer.out, answer.err);
                assert!(said.contains("held by bob"), "{}: {answer:?}", shape.name);
                assert!(answer.code == 0 || answer.code == 2, "{}", shape.name);
                let is_exit = shape.refusal == RefusalForm::Exit;
                assert_eq!(answer.code == 2, is_exit, "{}: JSON goes with exit code 0", shape.name);
            }
        }
    }

    #[test]
    fn texts_are_in_the_form_of_the_event() {
        let answer = Answer::context(&payload(Agent::Gemini), Moment::Prompt, "news");
        assert!(answer.out.unwrap().contains("BeforeAgent"));
        let named = Payload::read(Agent::Claude, br#"{"hook_event_name":"PostToolUse"}"#).unwrap();
        let answer = Answer::context(&named, Moment::Prompt, "news");
        assert!(answer.out.unwrap().contains("PostToolUse"));
        for shape in SHAPES {
            let answer = Answer::context(&payload(shape.agent), Moment::Session, "news");
            assert!(answer.out.unwrap().contains("news"), "{}", shape.name);
            let answer = Answer::block(&payload(shape.agent), "wait");
            assert_eq!(answer.out.is_some(), shape.block != BlockForm::None, "{}", shape.name);
        }
    }

    #[test]
    fn cline_gets_arguments_that_fail_instead_of_an_end() {
        let call = br#"{"tool_call":{"name":"run_commands","input":{"commands":["rm a"]}}}"#;
        let payload = Payload::read(Agent::Cline, call).unwrap();
        let out = Answer::refusal(&payload, "held", false).out.unwrap();
        let value: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value["cancel"], false);
        assert!(value["overrideInput"]["commands"][0].as_str().unwrap().contains("exit 1"));
    }
}
