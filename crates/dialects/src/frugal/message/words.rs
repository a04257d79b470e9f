//! A message in words, for the inbox of whoever it is sent to.

use super::{Body, Message};

impl Message {
    /// The text that its receiver reads: what is asked or wrong, then what it is about. Messages
    /// for programs are shown as they are.
    pub fn words(&self) -> String {
        let (text, refs) = match &self.body {
            Body::Question(question) => (question.question.as_str().to_owned(), &question.refs),
            Body::Escalation(raised) => {
                let text = format!("{}: {}", raised.severity.as_str(), raised.reason.as_str());
                (text, &raised.refs)
            }
            Body::TaskClaim(_)
            | Body::TaskResult(_)
            | Body::GateReport(_)
            | Body::Checkpoint(_) => {
                return serde_json::to_string(self).unwrap_or_default();
            }
        };
        match refs.as_deref() {
            None | Some([]) => text,
            Some(refs) => format!("{text}\n\nabout {}", refs.join(", ")),
        }
    }

    /// The thread it belongs to: that of the message it answers, else one that begins with it.
    pub fn thread(&self) -> &str {
        self.reply_to.as_deref().unwrap_or_else(|| self.msg_id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    #[test]
    fn questions_and_escalations_read_as_sentences() {
        let read = |text: &str| read(text.as_bytes()).unwrap();
        let message = read(
            r#"{"type":"question","from":"a","msg_id":"q1","question":"Port?","refs":["F1","F2"]}"#,
        );
        assert_eq!(message.words(), "Port?\n\nabout F1, F2");
        assert_eq!(message.thread(), "q1");
        let message = read(concat!(
            r#"{"type":"escalation","from":"a","msg_id":"e1","reply_to":"q1","#,
            r#""reason":"No disk","severity":"blocker"}"#,
        ));
        assert_eq!((message.words().as_str(), message.thread()), ("blocker: No disk", "q1"));
        let message = read(r#"{"type":"task_claim","from":"a","msg_id":"t1","task":"3.2"}"#);
        let words = message.words();
        assert!(words.starts_with(r#"{"type":"task_claim""#), "{words}");
    }
}
