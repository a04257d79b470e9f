//! Lifecycle tables: one per kind of thing. The audit checks every step against them, and the
//! documents and tests are made from them.

use crate::registry::kind::Kind;

/// One way from one state of a thing to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state before; none for a beginning.
    pub from: Option<&'static str>,
    /// The state after.
    pub to: &'static str,
    /// The event that is this step.
    pub event: Kind,
    /// Who takes it, in words.
    pub by: &'static str,
}

/// All ways of one kind of thing.
#[derive(Clone, Copy, Debug)]
pub struct Lifecycle {
    /// The kind of thing.
    pub noun: &'static str,
    /// Its edges.
    pub edges: &'static [Edge],
}

impl Lifecycle {
    /// Whether this event is a step from that state; no state is before the beginning.
    pub fn has_step(&self, from: Option<&str>, event: Kind) -> bool {
        self.edges.iter().any(|edge| edge.from == from && edge.event == event)
    }

    /// The table as a state diagram in Mermaid's notation.
    pub fn diagram(&self) -> String {
        let mut lines = vec!["stateDiagram-v2".to_owned()];
        for edge in self.edges {
            let from = edge.from.unwrap_or("[*]");
            lines.push(format!("    {from} --> {}: {} ({})", edge.to, edge.event, edge.by));
        }
        let ends = self
            .edges
            .iter()
            .map(|edge| edge.to)
            .filter(|state| self.edges.iter().all(|edge| edge.from != Some(state)));
        let ends: std::collections::BTreeSet<_> = ends.collect();
        lines.extend(ends.into_iter().map(|state| format!("    {state} --> [*]")));
        lines.join("\n")
    }
}
