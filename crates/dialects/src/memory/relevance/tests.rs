//! Tests of ranking.

use super::*;
use proptest::prelude::*;

fn item(id: &str, text: &str) -> Item {
    Item {
        id: id.to_owned(),
        kind: "decision".into(),
        text: text.into(),
        live: true,
        ..Item::default()
    }
}

fn ids(index: &Index, question: Question<'_>) -> Vec<String> {
    let limit = if question.limit == 0 { 10 } else { question.limit };
    index.rank(&Question { limit, ..question }).into_iter().map(|hit| hit.id).collect()
}

fn ask(index: &Index, text: &str) -> Vec<String> {
    ids(index, Question { text, ..Question::default() })
}

#[test]
fn words_are_found_in_any_form_and_rare_ones_count_more() {
    let index: Index = [
        item("a", "Leases expire on their own; renew them."),
        item("b", "The cache is emptied when a lease is renewed."),
        item("c", "LeaseOpen refuses overlapping surfaces."),
        item("d", "Nothing of the sort."),
        item("e", "租约 会过期"),
    ]
    .into_iter()
    .collect();
    assert_eq!(ask(&index, "caching?")[0], "b");
    assert_eq!(ask(&index, "why is the surface overlapped")[0], "c");
    let mut leases = ask(&index, "what about a lease");
    leases.sort();
    assert_eq!(leases, ["a", "b", "c"]);
    assert_eq!(ask(&index, "过期"), ["e"]);
    assert_eq!(ask(&index, "unheard"), [] as [&str; 0]);
}

/// Items tied to the path come before others, newer or not.
#[test]
fn ties_to_a_path_come_first_and_the_rest_fills_up() {
    let with = |id: &str, path: &str, seq: u64| Item {
        paths: vec![path.to_owned()],
        updated_seq: seq,
        ..item(id, "Something.")
    };
    let index: Index = [
        with("exact", "./src/a/x.rs", 1),
        with("folder", "src/a/**", 2),
        with("root", "src", 3),
        with("below", "src/a/x.rs/deep", 4),
        with("other", "src/ab/x.rs", 90),
        Item { live: false, ..with("over", "lib", 99) },
    ]
    .into_iter()
    .collect();
    let path = Some("src/a/x.rs");
    let tied = ids(&index, Question { path, ..Question::default() });
    assert_eq!(tied, ["exact", "folder", "root", "below"]);
    let all = ids(&index, Question { path, fill: true, ..Question::default() });
    assert_eq!(all, ["exact", "folder", "root", "below", "other", "over"]);
    let newest = ids(&index, Question { fill: true, limit: 2, ..Question::default() });
    assert_eq!(newest, ["other", "below"], "what is over comes last");
}

#[test]
fn tags_recency_and_standing_decide_between_equals() {
    let text = "Use one writer for the store.";
    let index: Index = [
        Item { updated_seq: 1, ..item("old", text) },
        Item { updated_seq: 9, ..item("new", text) },
        Item { updated_seq: 9, superseded: true, ..item("replaced", text) },
        Item { updated_seq: 9, stale_from: Some(0), ..item("stale", text) },
        Item { updated_seq: 1, tags: vec!["store".into()], ..item("tagged", text) },
    ]
    .into_iter()
    .collect();
    assert_eq!(ask(&index, "store"), ["tagged", "new", "old", "stale", "replaced"]);
    let kinds: &[&str] = &["trap"];
    assert!(
        ids(&index, Question { text: "store", kinds, fill: true, ..Question::default() })
            .is_empty()
    );
}

#[test]
fn items_are_replaced_and_removed() {
    let mut index = Index::default();
    for round in 0..40_u64 {
        for number in 0..100_u64 {
            let text = format!("round{round} common");
            let path = format!("src/{round}/x.rs");
            let id = format!("i{number}");
            index.put(&Item { updated_seq: round, paths: vec![path], ..item(&id, &text) });
        }
    }
    assert_eq!(index.len(), 100);
    assert!(index.slots.len() < 1_400, "{}", index.slots.len());
    assert!(index.words.len() < 60, "{}", index.words.len());
    assert_eq!(index.paths.len(), 1);
    assert_eq!(ask(&index, "round39").len(), 10);
    assert!(ask(&index, "round1").is_empty());
    let question = Question { text: "common", limit: 1_000, ..Question::default() };
    assert_eq!(ids(&index, question).len(), 100);
    assert!(index.remove("i7") && !index.remove("i7"));
    assert_eq!(ids(&index, question).len(), 99);
}

proptest! {
    /// Any text gets an answer, independent of the order in which items were added.
    #[test]
    fn any_text_is_a_question(text in "\\PC{0,80}", path in "\\PC{0,30}", reversed in any::<bool>()) {
        let mut items =
            vec![item("a", "x \" OR NEAR(*"), item("b", &text), item("c", "AND NOT : ^ -")];
        let index: Index = items.clone().into_iter().collect();
        let question = Question { text: &text, path: Some(&path), fill: true, ..Question::default() };
        let first = ids(&index, question);
        prop_assert_eq!(first.len(), 3);
        if reversed {
            items.reverse();
            let other: Index = items.into_iter().collect();
            let words = Question { fill: false, ..question };
            prop_assert_eq!(ids(&index, words), ids(&other, words));
        }
    }

    /// An index after insertions, replacements and removals answers like one built from the
    /// remaining items.
    #[test]
    fn an_index_that_changed_is_as_good_as_a_new_one(
        changes in proptest::collection::vec((0..12_usize, 0..6_usize, 0..6_usize, any::<bool>()), 0..80),
        text in prop::sample::select(vec!["writer store", "cache", "the queue of leases", ""]),
        path in prop::sample::select(vec![None, Some("src/a/x.rs"), Some("src")]),
    ) {
        let texts = [
            "one writer for the store", "the cache is emptied", "queue", "leases and the store",
            "cache cache cache", "nothing",
        ];
        let paths = ["src/a/x.rs", "src/a/**", "src", "lib/y.rs", "src/b", "."];
        let mut index = Index::default();
        let mut left: BTreeMap<String, Item> = BTreeMap::new();
        for (seq, (id, text, path, stays)) in changes.into_iter().enumerate() {
            let item = Item {
                paths: vec![paths[path].to_owned()],
                updated_seq: seq as u64,
                stale_from: Some(seq as u64 * 2),
                ..item(&format!("i{id}"), texts[text])
            };
            if stays {
                index.put(&item);
                left.insert(item.id.clone(), item);
            } else {
                prop_assert_eq!(index.remove(&item.id), left.remove(&item.id).is_some());
            }
        }
        let new: Index = left.into_values().collect();
        let question =
            Question { text, path, fill: true, limit: 20, now: 60, ..Question::default() };
        prop_assert_eq!(index.rank(&question), new.rank(&question));
        prop_assert_eq!(index.word_numbers.len(), new.word_numbers.len());
    }
}
