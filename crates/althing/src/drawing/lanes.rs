//! A graph without cycles, one node a line, each below everything it depends on.
//!
//! A node that others wait for owns a lane: a line downwards from it to the last of them. Where a
//! lane is used by a node beside it, it turns off there; where another line only crosses it, it
//! is drawn through and the other one is interrupted. So each line can be followed with a finger.

use std::collections::BTreeSet;

/// A line of the drawing: the lanes, and the node that stands on it, if one does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) lanes: String,
    pub(crate) node: Option<usize>,
}

/// Draws nodes by what each depends on. `mark` is what stands for a node in its lane.
pub(crate) fn draw(depends_on: &[Vec<usize>], mark: impl Fn(usize) -> char) -> Vec<Line> {
    let order = order(depends_on);
    let mut users: Vec<usize> = vec![0; depends_on.len()];
    for dependency in depends_on.iter().flat_map(|list| unique(list)) {
        users[dependency] += 1;
    }
    let mut drawing = Drawing { lanes: Vec::new(), left: users, below: None, lines: Vec::new() };
    for node in order {
        drawing.place(node, &depends_on[node], mark(node));
    }
    drawing.lines
}

fn unique(dependencies: &[usize]) -> BTreeSet<usize> {
    dependencies.iter().copied().collect()
}

/// Each node after what it depends on, and as soon after it as can be: of all that could come
/// next, the one that waited for the newest node comes first.
fn order(depends_on: &[Vec<usize>]) -> Vec<usize> {
    let mut placed: Vec<Option<usize>> = vec![None; depends_on.len()];
    let mut order = Vec::with_capacity(depends_on.len());
    while order.len() < depends_on.len() {
        let newest = |node: usize| depends_on[node].iter().filter_map(|other| placed[*other]).max();
        let free = |node: &usize| {
            placed[*node].is_none() && depends_on[*node].iter().all(|on| placed[*on].is_some())
        };
        let free = (0..depends_on.len()).filter(free);
        let next = free.max_by_key(|node| (newest(*node), std::cmp::Reverse(*node)));
        // The kernel lets no cycle in; without one there is always a next node.
        let Some(next) = next else { break };
        placed[next] = Some(order.len());
        order.push(next);
    }
    order
}

struct Drawing {
    /// Whose line runs in which lane.
    lanes: Vec<Option<usize>>,
    /// How many still wait for each node.
    left: Vec<usize>,
    /// The lane of the last node.
    below: Option<usize>,
    lines: Vec<Line>,
}

impl Drawing {
    fn place(&mut self, node: usize, depends_on: &[usize], mark: char) {
        let used = unique(depends_on);
        for dependency in &used {
            self.left[*dependency] -= 1;
        }
        let joins: BTreeSet<usize> = (0..self.lanes.len())
            .filter(|at| self.owner(*at).is_some_and(|own| used.contains(&own)))
            .collect();
        let ends =
            |own: &Drawing, at: usize| own.owner(at).is_some_and(|own_by| own.left[own_by] == 0);
        let inherited = joins.iter().copied().find(|at| ends(self, *at));
        let column = inherited.unwrap_or_else(|| self.free_lane());
        let straight = joins.len() == 1 && inherited.is_some();
        if !joins.is_empty() && !straight {
            let lanes = self.connector(&joins, column);
            self.lines.push(Line { lanes, node: None });
        }
        if joins.is_empty() && self.below == Some(column) {
            // Right below a node it would look as if it came from there.
            let lanes = self.row(|own, at| if own.owner(at).is_some() { '│' } else { ' ' });
            self.lines.push(Line { lanes, node: None });
        }
        for at in joins {
            if ends(self, at) {
                self.lanes[at] = None;
            }
        }
        let lanes = self.row(|own, at| match own.owner(at) {
            _ if at == column => mark,
            Some(_) => '│',
            None => ' ',
        });
        self.lines.push(Line { lanes, node: Some(node) });
        self.below = Some(column);
        self.lanes[column] = (self.left[node] > 0).then_some(node);
        while self.lanes.last() == Some(&None) {
            self.lanes.pop();
        }
    }

    fn owner(&self, at: usize) -> Option<usize> {
        self.lanes.get(at).copied().flatten()
    }

    /// A lane nobody uses, made if there is none.
    fn free_lane(&mut self) -> usize {
        let free = self.lanes.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.lanes.push(None);
            self.lanes.len() - 1
        })
    }

    fn row(&self, sign: impl Fn(&Self, usize) -> char) -> String {
        let mut row = String::new();
        for at in 0..self.lanes.len() {
            row.push(sign(self, at));
            row.push(' ');
        }
        row.trim_end().to_owned()
    }

    /// The line above a node, on which lanes turn off to it.
    fn connector(&self, joins: &BTreeSet<usize>, column: usize) -> String {
        let first = joins.first().map_or(column, |at| column.min(*at));
        let last = joins.last().map_or(column, |at| column.max(*at));
        let mut row = String::new();
        for at in 0..self.lanes.len() {
            let above = self.owner(at).is_some();
            let below = at == column || self.owner(at).is_some_and(|own| self.left[own] > 0);
            let (left, right) = (first < at && at <= last, first <= at && at < last);
            let touched = at == column || joins.contains(&at);
            row.push(if touched {
                joint((above, below), (left, right))
            } else {
                crossing(above, left)
            });
            row.push(if first <= at && at < last { '─' } else { ' ' });
        }
        row.trim_end().to_owned()
    }
}

/// The sign where lines meet, by whether they go up and down, left and right from there.
fn joint(upright: (bool, bool), across: (bool, bool)) -> char {
    match (upright, across) {
        ((true, true), (true, true)) => '┼',
        ((true, true), (true, false)) => '┤',
        ((true, true), (false, true)) => '├',
        ((true, false), (true, true)) => '┴',
        ((false, true), (true, true)) => '┬',
        ((true, false), (true, false)) => '╯',
        ((true, false), (false, true)) => '╰',
        ((false, true), (true, false)) => '╮',
        ((false, true), (false, true)) => '╭',
        (_, (false, false)) => '│',
        ((false, false), _) => '─',
    }
}

/// The sign where lines cross without meeting: the one across is interrupted.
fn crossing(upright: bool, across: bool) -> char {
    match (upright, across) {
        (true, _) => '│',
        (false, true) => '─',
        (false, false) => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The drawing, with nodes as letters.
    fn text(depends_on: &[&[usize]]) -> String {
        let graph: Vec<Vec<usize>> = depends_on.iter().map(|list| list.to_vec()).collect();
        let letter = |node: usize| char::from(b'a' + u8::try_from(node).unwrap());
        let lines = draw(&graph, letter);
        assert_eq!(lines.iter().filter(|line| line.node.is_some()).count(), graph.len());
        lines.iter().flat_map(|line| [line.lanes.as_str(), "\n"]).collect()
    }

    #[test]
    fn a_chain_is_a_line() {
        assert_eq!(text(&[&[], &[0], &[1], &[2]]), "a\nb\nc\nd\n");
    }

    #[test]
    fn a_diamond_parts_and_meets_again() {
        assert_eq!(text(&[&[], &[0], &[0], &[1, 2]]), "a\n├─╮\n│ b\nc │\n├─╯\nd\n");
    }

    #[test]
    fn unrelated_nodes_are_drawn_apart() {
        assert_eq!(text(&[&[], &[], &[0], &[]]), "a\nc\n\nb\n\nd\n");
    }

    #[test]
    fn many_of_one_hang_on_one_line() {
        assert_eq!(text(&[&[], &[0], &[0], &[0]]), "a\n├─╮\n│ b\n├─╮\n│ c\nd\n");
    }

    #[test]
    fn one_of_many_gathers_their_lines() {
        assert_eq!(text(&[&[], &[], &[], &[0, 1, 2]]), "a\n│ b\n│ │ c\n├─┴─╯\nd\n");
    }

    #[test]
    fn a_line_that_crosses_does_not_touch() {
        let drawn = text(&[&[], &[], &[], &[0, 2], &[1, 3]]);
        assert_eq!(drawn, "a\n│ b\n│ │ c\n├─│─╯\nd │\n├─╯\ne\n");
    }

    #[test]
    fn every_node_comes_after_what_it_depends_on() {
        // Thirty nodes, each on two or three earlier ones: many diamonds and three roots.
        let graph: Vec<Vec<usize>> = (0..30_usize)
            .map(|n| if n < 3 { Vec::new() } else { vec![n - 3, n - 2, (n * 7) % (n - 1)] })
            .collect();
        let lines = draw(&graph, |_| 'o');
        let order: Vec<usize> = lines.iter().filter_map(|line| line.node).collect();
        assert_eq!(order.len(), 30);
        for (place, node) in order.iter().enumerate() {
            for dependency in &graph[*node] {
                assert!(order[..place].contains(dependency), "{node} before {dependency}");
            }
        }
        let widest = lines.iter().map(|line| line.lanes.chars().count()).max();
        assert!(widest < Some(30), "{widest:?}");
    }

    /// Follows every line of a drawing and finds exactly the edges of the graph.
    #[test]
    fn lines_lead_where_the_edges_do() {
        let graphs: [&[&[usize]]; 5] = [
            &[&[], &[0], &[0], &[1, 2], &[0, 3]],
            &[&[], &[], &[0, 1], &[0], &[1, 3], &[2, 4]],
            &[&[], &[0], &[0], &[0], &[1, 2, 3]],
            &[&[], &[], &[], &[0, 2], &[1], &[0, 4], &[3, 5]],
            &[&[], &[0], &[1], &[0, 2], &[0, 1, 3]],
        ];
        for graph in graphs {
            let edges: Vec<Vec<usize>> = graph.iter().map(|list| list.to_vec()).collect();
            let lines = draw(&edges, |_| 'o');
            let mut owner: Vec<Option<usize>> = Vec::new();
            let mut turned: BTreeSet<usize> = BTreeSet::new();
            for line in &lines {
                let signs: Vec<char> = line.lanes.chars().collect();
                let at = |lane: usize| signs.get(lane * 2).copied().unwrap_or(' ');
                let count = signs.len().div_ceil(2).max(owner.len());
                owner.resize(count, None);
                match line.node {
                    None => {
                        let joined = |sign: char| "┼┤├┴╯╰".contains(sign);
                        turned = (0..count)
                            .filter(|lane| joined(at(*lane)))
                            .filter_map(|lane| owner[lane])
                            .collect();
                        for lane in (0..count).filter(|lane| "╯╰┴".contains(at(*lane))) {
                            owner[lane] = None;
                        }
                    }
                    Some(node) => {
                        let column = (0..count).find(|lane| at(*lane) == 'o').unwrap();
                        if turned.is_empty() {
                            turned.extend(owner[column]);
                        }
                        let wanted: BTreeSet<usize> = edges[node].iter().copied().collect();
                        assert_eq!(turned, wanted, "{node} in {lines:#?}");
                        owner[column] = Some(node);
                        for lane in (0..count).filter(|lane| at(*lane) == ' ') {
                            owner[lane] = None;
                        }
                        turned.clear();
                        let used = edges.iter().any(|list| list.contains(&node));
                        if !used {
                            owner[column] = None;
                        }
                    }
                }
            }
        }
    }
}
