//! A graph for other programs to draw: Graphviz and Mermaid.

use std::collections::BTreeSet;

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
    let escaped = |text: &String| text.replace('\\', "\\\\").replace('"', "\\\"");
    for Node { id, label, colour, .. } in nodes {
        let label = label.iter().map(escaped).collect::<Vec<_>>().join("\\n");
        lines.push(format!("  \"{id}\" [label=\"{label}\", fillcolor=\"{colour}\"];"));
    }
    for Node { id, depends_on, .. } in nodes {
        lines.extend(depends_on.iter().map(|before| format!("  \"{before}\" -> \"{id}\";")));
    }
    lines.push("}".to_owned());
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
    fn names_cannot_end_their_quotes() {
        assert!(dot(&graph()).contains(r#"label="a \"quoted\" \\ name\ndraft""#));
        assert!(mermaid(&graph()).contains("a #34;quoted#34; #92; name<br/>draft"));
    }
}
