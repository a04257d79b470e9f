//! JSON that is written into files of people: members stay in the order they are given in.

use std::fmt::Write as _;

/// A value to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// An object.
    Object(Vec<(&'static str, Json)>),
    /// An array.
    Array(Vec<Json>),
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// A truth value.
    Bool(bool),
}

/// How lines of a file are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// The end of a line.
    pub(super) line: &'static str,
    /// One level of indentation.
    pub(super) unit: String,
}

impl Default for Style {
    fn default() -> Self {
        Style { line: "\n", unit: "  ".to_owned() }
    }
}

impl Style {
    /// The style of a text: its first line break, and the indentation of its first indented line.
    pub(super) fn of(text: &str) -> Self {
        let line = line_break(text);
        let indent = text.lines().find_map(|own| {
            let rest = own.trim_start_matches([' ', '\t']);
            let indent = &own[..own.len() - rest.len()];
            (!indent.is_empty() && !rest.is_empty() && !rest.starts_with('*')).then_some(indent)
        });
        let unit = match indent {
            Some(indent) if indent.starts_with('\t') => "\t".to_owned(),
            Some(indent) => indent.chars().take_while(|c| *c == ' ').take(8).collect(),
            None => "  ".to_owned(),
        };
        Style { line, unit }
    }
}

/// The line break that a text uses.
pub(super) fn line_break(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

impl Json {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Json::Text(text.into())
    }

    /// The value on one line.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.put(&mut out, None, 0);
        out
    }

    /// The value on several lines, of which the first is not indented.
    pub(super) fn pretty(&self, style: &Style, base: &str) -> String {
        let mut out = String::new();
        self.put(&mut out, Some((style, base)), 0);
        out
    }

    fn put(&self, out: &mut String, style: Option<(&Style, &str)>, depth: usize) {
        match self {
            Json::Object(members) => {
                list(out, style, depth, ['{', '}'], members, |out, (key, value)| {
                    // Writing to a string does not fail.
                    let _ = write!(out, "{}: ", quoted(key));
                    value.put(out, style, depth + 1);
                });
            }
            Json::Array(items) => {
                list(out, style, depth, ['[', ']'], items, |out, item| {
                    item.put(out, style, depth + 1);
                });
            }
            Json::Text(text) => out.push_str(&quoted(text)),
            Json::Number(number) => {
                let _ = write!(out, "{number}");
            }
            Json::Bool(value) => {
                let _ = write!(out, "{value}");
            }
        }
    }
}

fn list<T>(
    out: &mut String,
    style: Option<(&Style, &str)>,
    depth: usize,
    [open, close]: [char; 2],
    items: &[T],
    put: impl Fn(&mut String, &T),
) {
    let new_line = |out: &mut String, depth: usize| {
        if let Some((style, base)) = style {
            out.push_str(style.line);
            out.push_str(base);
            out.push_str(&style.unit.repeat(depth));
        }
    };
    out.push(open);
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(',');
            if style.is_none() {
                out.push(' ');
            }
        }
        new_line(out, depth + 1);
        put(out, item);
    }
    if !items.is_empty() {
        new_line(out, depth);
    }
    out.push(close);
}

/// A text as JSON writes it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_in_the_order_given() {
        let value = Json::Object(vec![
            ("z", Json::Array(vec![Json::Number(1), Json::Bool(true)])),
            ("a", Json::text("q\"")),
        ]);
        assert_eq!(value.compact(), r#"{"z": [1, true], "a": "q\""}"#);
        let pretty = value.pretty(&Style::default(), "  ");
        assert_eq!(
            pretty,
            "{\n    \"z\": [\n      1,\n      true\n    ],\n    \"a\": \"q\\\"\"\n  }"
        );
    }

    #[test]
    fn the_style_of_a_text_is_found() {
        assert_eq!(Style::of("{\r\n\t\"a\": 1\r\n}").line, "\r\n");
        assert_eq!(Style::of("{\r\n\t\"a\": 1\r\n}").unit, "\t");
        assert_eq!(Style::of("{\n    \"a\": 1\n}").unit, "    ");
        assert_eq!(Style::of("{}"), Style::default());
    }
}
