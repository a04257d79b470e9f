//! Forecasts about a plan: which tasks may touch the same files, and which chain of tasks decides how
//! long it takes at least.

use althing_kernel::Surface;
use althing_kernel::task::graph::Planned;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A forecast about a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Forecast {
    /// Pairs of tasks that may touch the same files and are therefore worked on one after the other.
    pub overlaps: Vec<Overlap>,
    /// Tasks that do not say what they touch; what they edit is claimed as they go.
    pub open: Vec<String>,
    /// The tasks by the earliest round in which they can be worked on.
    pub rounds: Vec<Vec<String>>,
    /// The longest chain of tasks that wait for each other.
    pub longest: Vec<String>,
}

/// Two tasks that may touch the same files although neither waits for the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// The keys of the tasks.
    pub tasks: [String; 2],
    /// What each says it touches.
    pub surfaces: [String; 2],
    /// A path that both may touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Makes the forecast. The plan has been checked: every key is there once, and nothing waits for
/// itself.
pub fn forecast(tasks: &[Planned]) -> Forecast {
    let before = waits_for(tasks);
    let (mut overlaps, mut open) = (Vec::new(), Vec::new());
    for (at, one) in tasks.iter().enumerate() {
        if touches(one).is_empty() {
            open.push(one.key.to_string());
        }
        overlaps.extend(tasks[at + 1..].iter().filter_map(|other| {
            let (a, b) = (one.key.as_str(), other.key.as_str());
            let in_order = before.get(a).is_some_and(|all| all.contains(b))
                || before.get(b).is_some_and(|all| all.contains(a));
            if in_order { None } else { overlap(one, other) }
        }));
    }
    let chains = chains(tasks);
    let longest = chains.values().max_by_key(|chain| chain.len()).cloned().unwrap_or_default();
    let mut rounds = vec![Vec::new(); longest.len()];
    for task in tasks {
        let round = chains.get(task.key.as_str()).map_or(0, |chain| chain.len().saturating_sub(1));
        if let Some(round) = rounds.get_mut(round) {
            round.push(task.key.to_string());
        }
    }
    Forecast { overlaps, open, rounds, longest }
}

fn touches(task: &Planned) -> &[Surface] {
    task.terms.as_ref().map_or(&[], |terms| terms.touches.as_slice())
}

fn overlap(one: &Planned, other: &Planned) -> Option<Overlap> {
    let pairs = touches(one).iter().flat_map(|a| touches(other).iter().map(move |b| (a, b)));
    let (a, b) = pairs.into_iter().find(|(a, b)| a.meets(b))?;
    Some(Overlap {
        tasks: [one.key.to_string(), other.key.to_string()],
        surfaces: [a.to_string(), b.to_string()],
        path: a.common_path(b),
    })
}

/// For each task, all that it waits for, also by way of others.
fn waits_for(tasks: &[Planned]) -> BTreeMap<&str, BTreeSet<&str>> {
    let direct: BTreeMap<&str, Vec<&str>> = tasks
        .iter()
        .map(|task| {
            (
                task.key.as_str(),
                task.depends_on.iter().map(althing_kernel::text::Text::as_str).collect(),
            )
        })
        .collect();
    let all = |key: &str| {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = direct.get(key).into_iter().flatten().copied().collect();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(direct.get(next).into_iter().flatten());
            }
        }
        seen
    };
    direct.keys().map(|key| (*key, all(key))).collect()
}

/// For each task, the longest chain that leads to it, itself last.
fn chains(tasks: &[Planned]) -> BTreeMap<&str, Vec<String>> {
    let mut chains: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut left: Vec<&Planned> = tasks.iter().collect();
    // Each round adds at least one task, since the plan has no cycle.
    while !left.is_empty() {
        let count = left.len();
        left.retain(|task| {
            let known = |key: &&str| tasks.iter().any(|own| own.key.as_str() == *key);
            let before =
                task.depends_on.iter().map(althing_kernel::text::Text::as_str).filter(known);
            let before: Vec<Option<&Vec<String>>> = before.map(|key| chains.get(key)).collect();
            if before.iter().any(Option::is_none) {
                return true;
            }
            let longest = before.into_iter().flatten().max_by_key(|chain| chain.len());
            let mut chain = longest.cloned().unwrap_or_default();
            chain.push(task.key.to_string());
            chains.insert(task.key.as_str(), chain);
            false
        });
        if left.len() == count {
            break;
        }
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_kernel::Content;
    use althing_kernel::records::field::Few;
    use althing_kernel::task::Priority;
    use althing_kernel::task::terms::Terms;
    use althing_kernel::text::Text;

    fn task(key: &str, depends_on: &[&str], touches: &[&str]) -> Planned {
        let touches = touches.iter().map(|path| Surface::new(path).unwrap()).collect();
        let terms = Terms { touches: Few::new(touches).unwrap(), ..Terms::default() };
        Planned {
            depends_on: depends_on.iter().map(|key| Text::lossy(key)).collect(),
            description: Content::Text("x".into()),
            estimate: None,
            key: Text::lossy(key),
            name: Text::lossy(key),
            parent: None,
            priority: Priority::Normal,
            terms: Some(Box::new(terms)),
        }
    }

    #[test]
    fn tasks_that_may_touch_the_same_files_are_named_unless_one_waits_for_the_other() {
        let tasks = [
            task("grammar", &[], &["src/grammar"]),
            task("lexer", &["grammar"], &["src/**"]),
            task("parser", &["lexer"], &["src/parser.rs"]),
            task("docs", &[], &["docs", "src/parser.rs"]),
            task("chores", &[], &[]),
        ];
        let seen = forecast(&tasks);
        let pairs: Vec<_> = seen.overlaps.iter().map(|own| own.tasks.clone()).collect();
        assert_eq!(
            pairs,
            [["lexer".to_owned(), "docs".to_owned()], ["parser".to_owned(), "docs".to_owned()]]
        );
        assert_eq!(seen.overlaps[0].path.as_deref(), Some("src/parser.rs"));
        assert_eq!(seen.open, ["chores"]);
        assert_eq!(seen.longest, ["grammar", "lexer", "parser"]);
        assert_eq!(seen.rounds[0], ["grammar", "docs", "chores"]);
    }
}
