//! Lifecycle tables, one per kind of object. The audit checks every transition against them; the
//! documents and tests are generated from them.

use crate::registry::kind::Kind;

/// A transition from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state before; `None` for a creation.
    pub from: Option<&'static str>,
    /// The state after.
    pub to: &'static str,
    /// The event that records the transition.
    pub event: Kind,
    /// The party that makes the transition, in words.
    pub by: &'static str,
}

/// All transitions of one kind of object.
#[derive(Clone, Copy, Debug)]
pub struct Lifecycle {
    /// The kind of object.
    pub noun: &'static str,
    /// The transitions.
    pub edges: &'static [Edge],
}

impl Lifecycle {
    /// Whether this event is a transition from that state; `None` is the state before creation.
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
