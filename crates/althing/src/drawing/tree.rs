//! A tree, one node a line, each with the lines that lead to it.

use std::collections::BTreeMap;

/// A line of the drawing: what stands before the node, and which node it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) before: String,
    pub(crate) node: usize,
}

/// Draws nodes by their parents, in the order they are given. A node whose parent is not among
/// them is a root.
pub(crate) fn draw(parents: &[Option<usize>]) -> Vec<Line> {
    let mut children: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (node, parent) in parents.iter().enumerate() {
        children.entry(*parent).or_default().push(node);
    }
    let mut lines = Vec::with_capacity(parents.len());
    // Depth first without recursion: a tree may be as deep as it likes.
    let mut open: Vec<(usize, String, String)> = Vec::new();
    let roots = children.get(&None).into_iter().flatten().rev();
    open.extend(roots.map(|root| (*root, String::new(), String::new())));
    while let Some((node, before, below)) = open.pop() {
        lines.push(Line { before, node });
        let own = children.get(&Some(node)).map_or(&[][..], Vec::as_slice);
        for (at, child) in own.iter().enumerate().rev() {
            let (arm, under) =
                if at + 1 == own.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            open.push((*child, format!("{below}{arm}"), format!("{below}{under}")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parents: &[Option<usize>]) -> String {
        let line = |line: &Line| format!("{}{}\n", line.before, line.node);
        draw(parents).iter().map(line).collect()
    }

    #[test]
    fn children_stand_below_their_parent_in_order() {
        let drawn = text(&[None, Some(0), Some(0), Some(1), Some(2), Some(2)]);
        assert_eq!(drawn, "0\n├─ 1\n│  └─ 3\n└─ 2\n   ├─ 4\n   └─ 5\n");
    }

    #[test]
    fn several_roots_stand_one_after_another() {
        assert_eq!(text(&[None, None, Some(0)]), "0\n└─ 2\n1\n");
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn depth_is_no_matter() {
        let chain: Vec<Option<usize>> = (0..5_000_usize).map(|node| node.checked_sub(1)).collect();
        assert_eq!(draw(&chain).len(), 5_000);
    }
}
