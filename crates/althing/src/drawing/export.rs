//! A graph, or messages, for other programs to draw: Graphviz and Mermaid.

use std::collections::BTreeSet;

use super::messages::Arrow;

/// A node: what it is called there, what it says, and the colour of its state.
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) label: Vec<String>,
    pub(crate) colour: &'static str,
    pub(crate) depends_on: BTreeSet<String>,
}

/// The graph in the language of Graphviz.
pub(crate) fn dot(nodes: &[Node]) -> String {
    let mut lines = vec![
        "digraph tasks {".to_owned(),
        "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];".to_owned(),
    ];
    for Node { id, label, colour, .. } in nodes {
        let label = label.iter().map(|text| escaped(text)).collect::<Vec<_>>().join("\\n");
        lines.push(format!("  \"{id}\" [label=\"{label}\", fillcolor=\"{colour}\"];"));
    }
    for Node { id, depends_on, .. } in nodes {
        lines.extend(depends_on.iter().map(|before| format!("  \"{before}\" -> \"{id}\";")));
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Text that stays within its quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Messages between workspaces in the language of Graphviz.
pub(crate) fn flow_dot(names: &[String], edges: &[(usize, usize, String)]) -> String {
    let mut lines = vec!["digraph messages {".to_owned()];
    for (n, name) in names.iter().enumerate() {
        lines.push(format!("  p{n} [label=\"{}\", shape=box];", escaped(name)));
    }
    for (from, to, label) in edges {
        lines.push(format!("  p{from} -> p{to} [label=\"{}\"];", escaped(label)));
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// Messages in order in the language of Mermaid.
pub(crate) fn flow_mermaid(names: &[String], arrows: &[Arrow]) -> String {
    let mut lines = vec!["sequenceDiagram".to_owned()];
    for (n, name) in names.iter().enumerate() {
        lines.push(format!("  participant p{n} as {}", entities(name)));
    }
    for Arrow { from, to, label, lost } in arrows {
        let arrow = if *lost { "-x" } else { "->>" };
        let to = to.unwrap_or(*from);
        lines.push(format!("  p{from}{arrow}p{to}: {}", entities(label)));
    }
    lines.join("\n")
}

/// The graph in the language of Mermaid.
pub(crate) fn mermaid(nodes: &[Node]) -> String {
    let mut lines = vec!["flowchart TD".to_owned()];
    for Node { id, label, colour, .. } in nodes {
        let label = label.iter().map(|text| entities(text)).collect::<Vec<_>>().join("<br/>");
        lines.push(format!("  {id}[\"{label}\"]"));
        lines.push(format!("  style {id} fill:{colour},color:#000"));
    }
    for Node { id, depends_on, .. } in nodes {
        lines.extend(depends_on.iter().map(|before| format!("  {before} --> {id}")));
    }
    lines.join("\n")
}

/// Text in which nothing means anything to Mermaid or to the page it is on.
fn entities(text: &str) -> String {
    let spelled = |c: char| {
        let plain = c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '_' | '-' | '/');
        if plain { c.to_string() } else { format!("#{};", u32::from(c)) }
    };
    text.chars().map(spelled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Vec<Node> {
        let node = |id: &str, label: &str, depends_on: &[&str]| Node {
            id: id.to_owned(),
            label: vec![label.to_owned(), "draft".to_owned()],
            colour: "#eeeeee",
            depends_on: depends_on.iter().map(|&on| on.to_owned()).collect(),
        };
        vec![node("task_a", "a \"quoted\" \\ name", &[]), node("task_b", "b", &["task_a"])]
    }

    #[test]
    fn edges_lead_from_what_comes_first() {
        assert!(dot(&graph()).contains("\"task_a\" -> \"task_b\";"));
        assert!(mermaid(&graph()).contains("task_a --> task_b"));
    }

    #[test]
    fn messages_are_written_for_both() {
        let names = ["a \"b\"".to_owned(), "c".to_owned()];
        let dot = flow_dot(&names, &[(0, 1, "query x2".to_owned())]);
        assert!(dot.contains(r#"p0 [label="a \"b\"", shape=box];"#), "{dot}");
        assert!(dot.contains("p0 -> p1 [label=\"query x2\"];"), "{dot}");
        let arrow = |lost| Arrow { from: 1, to: Some(0), label: "q;r".to_owned(), lost };
        let text = flow_mermaid(&names, &[arrow(false), arrow(true)]);
        assert!(text.contains("participant p0 as a #34;b#34;"), "{text}");
        assert!(text.contains("p1->>p0: q#59;r") && text.contains("p1-xp0: "), "{text}");
    }

    #[test]
    fn names_cannot_end_their_quotes() {
        assert!(dot(&graph()).contains(r#"label="a \"quoted\" \\ name\ndraft""#));
        assert!(mermaid(&graph()).contains("a #34;quoted#34; #92; name<br/>draft"));
    }
}
