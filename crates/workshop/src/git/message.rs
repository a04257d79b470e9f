//! Messages of commits: a subject, a text, and trailers that name what a commit belongs to.

/// The trailers of a commit, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers(Vec<(String, String)>);

/// A message in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    subject: String,
    body: String,
    trailers: Trailers,
}

impl Message {
    /// A message with this subject; line breaks in it become spaces.
    pub fn new(subject: &str) -> Self {
        Message { subject: one_line(subject), ..Message::default() }
    }

    /// Adds a text below the subject.
    #[must_use]
    pub fn body(mut self, text: &str) -> Self {
        text.trim().clone_into(&mut self.body);
        self
    }

    /// Adds a trailer, such as `Althing-Task: lexer`. What a key may not contain is left out, and a
    /// line break in a value becomes a space.
    #[must_use]
    pub fn trailer(mut self, key: &str, value: &str) -> Self {
        let key: String = key.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let value = one_line(value);
        if !key.is_empty() && !value.is_empty() {
            self.trailers.0.push((key, value));
        }
        self
    }

    /// The text as git stores it.
    pub fn text(&self) -> String {
        let mut text = self.subject.clone();
        if !self.body.is_empty() {
            text.push_str("\n\n");
            text.push_str(&self.body);
        }
        text.push('\n');
        if !self.trailers.0.is_empty() {
            text.push('\n');
        }
        for (key, value) in &self.trailers.0 {
            text.extend([key, ": ", value, "\n"]);
        }
        text
    }
}

impl Trailers {
    /// Reads the trailers of a message: the last paragraph, if it is not the first and every line of
    /// it is a trailer or goes on with one.
    pub fn of(message: &str) -> Self {
        let text = message.trim_end();
        let Some((_, last)) = text.rsplit_once("\n\n") else { return Trailers::default() };
        let mut found: Vec<(String, String)> = Vec::new();
        for line in last.trim_start_matches('\n').lines() {
            match (split(line), found.last_mut()) {
                (_, Some((_, value))) if line.starts_with([' ', '\t']) => {
                    value.push(' ');
                    value.push_str(line.trim());
                }
                (Some((key, value)), _) => found.push((key.to_owned(), value.to_owned())),
                (None, _) => return Trailers::default(),
            }
        }
        Trailers(found)
    }

    /// The last value under a key; upper and lower case are the same.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut own = self.0.iter().rev().filter(|(name, _)| name.eq_ignore_ascii_case(key));
        own.next().map(|(_, value)| value.as_str())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn split(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!key.is_empty() && key.chars().all(plain)).then(|| (key, value.trim()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
