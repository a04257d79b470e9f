//! Tables of what surfaces mean, and properties checked against brute force.
//!
//! The oracle below knows nothing of the crate's parser: it matches one path against the text
//! of a surface, character by character, and overlap is "some path of a small universe is
//! matched by both".

use super::*;
use crate::values::id::LeaseId;
use crate::values::principal::Principal;
use index::SurfaceIndex;
use proptest::prelude::*;

mod oracle {
    //! An oracle for coverage, written straight from the definition.

    fn expand(text: &str) -> Vec<String> {
        let Some(open) = text.find('{') else {
            return vec![text.to_owned()];
        };
        let close = open + text[open..].find('}').unwrap();
        let choices = text[open + 1..close].split(',');
        let around = |choice: &str| format!("{}{choice}{}", &text[..open], &text[close + 1..]);
        choices.flat_map(|choice| expand(&around(choice))).collect()
    }

    fn name_matches(pattern: &[char], name: &[char]) -> bool {
        match pattern {
            [] => name.is_empty(),
            ['*', rest @ ..] => (0..=name.len()).any(|n| name_matches(rest, &name[n..])),
            ['?', rest @ ..] => !name.is_empty() && name_matches(rest, &name[1..]),
            ['[', rest @ ..] => {
                let end = rest.iter().position(|c| *c == ']').unwrap();
                let (body, rest) = (&rest[..end], &rest[end + 1..]);
                let negated = body[0] == '!';
                let body = if negated { &body[1..] } else { body };
                let member = |c: char| match body {
                    [low, '-', high] => (*low..=*high).contains(&c),
                    _ => body.contains(&c),
                };
                !name.is_empty() && member(name[0]) != negated && name_matches(rest, &name[1..])
            }
            [c, rest @ ..] => name.first() == Some(c) && name_matches(rest, &name[1..]),
        }
    }

    fn path_matches(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern, path) {
            ([], _) => path.is_empty(),
            (["**", rest @ ..], _) => (0..=path.len()).any(|n| path_matches(rest, &path[n..])),
            ([first, rest @ ..], [name, names @ ..]) => {
                let first: Vec<char> = first.chars().collect();
                let name: Vec<char> = name.chars().collect();
                name_matches(&first, &name) && path_matches(rest, names)
            }
            _ => false,
        }
    }

    /// A class of one character is that character; none of the letters used here is special.
    fn unescape(text: &str) -> String {
        let mut plain = text.to_owned();
        for letter in ["a", "b"] {
            plain = plain.replace(&format!("[{letter}]"), letter);
        }
        plain
    }

    pub(super) fn covers(surface: &str, path: &str) -> bool {
        let surface = unescape(surface);
        let path: Vec<&str> = path.split('/').collect();
        if !surface.contains(['*', '?', '[', '{']) {
            let surface: Vec<&str> = surface.split('/').collect();
            return surface == ["."] || path.starts_with(&surface);
        }
        expand(&surface).iter().any(|alternative| {
            let pattern: Vec<&str> = alternative.split('/').collect();
            path_matches(&pattern, &path)
        })
    }

    /// Every path of up to `depth` segments whose names are 1 or 2 characters of `a b .`, without
    /// `.` and `..`.
    pub(super) fn universe(depth: usize) -> Vec<String> {
        let letters = ["a", "b", "."];
        let mut names: Vec<String> = letters.iter().map(ToString::to_string).collect();
        for first in letters {
            names.extend(letters.iter().map(|second| format!("{first}{second}")));
        }
        names.retain(|name| name != "." && name != "..");
        let mut level: Vec<String> = names.clone();
        let mut all = level.clone();
        for _ in 1..depth {
            level = level
                .iter()
                .flat_map(|path| names.iter().map(move |name| format!("{path}/{name}")))
                .collect();
            all.extend(level.clone());
        }
        all
    }
}

fn surface(text: &str) -> Surface {
    Surface::new(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn surfaces_are_normalised() {
    for (written, normal) in [
        ("src/main.rs", "src/main.rs"),
        ("./src/main.rs", "src/main.rs"),
        ("src/", "src"),
        ("src//deep/./x/", "src/deep/x"),
        (r"src\win\x.rs", "src/win/x.rs"),
        (".", "."),
        ("./", "."),
        ("src/**/**/x", "src/**/x"),
        ("src/*/", "src/*"),
        ("a.rs#Foo::bar", "a.rs#Foo::bar"),
        ("app/[[]id]/page.tsx", "app/[[]id]/page.tsx"),
        ("./[c]:x", "[c]:x"),
        ("./{a,b}/", "{a,b}"),
        ("x/./{a,b}//c/.", "x/{a,b}/c"),
    ] {
        assert_eq!(surface(written).as_str(), normal, "{written}");
        assert_eq!(surface(normal).as_str(), normal, "normal form is stable: {normal}");
    }
}

#[test]
fn what_is_not_a_surface_is_refused_with_the_reason() {
    for (written, reason) in [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        (r"C:\x", "absolute"),
        ("c:x", "absolute"),
        ("./c:x", "absolute"),
        ("//c:x", "absolute"),
        ("{c:x,a}", "absolute"),
        ("{/etc,a}", "absolute"),
        (r"\\server\share", "absolute"),
        ("../x", "`..`"),
        ("a/../b", "`..`"),
        ("a/[.][.]/b", "matches no name"),
        ("{..,a}/b", "`..`"),
        ("a/[", "never closed"),
        ("a/[]", "never closed"),
        ("a/[b", "never closed"),
        ("a/[z-a]", "backwards"),
        ("a/[b/c]", "never closed"),
        ("a/{b", "pair up"),
        ("a/b}", "pair up"),
        ("a/x**", "stand alone"),
        ("a/***", "stand alone"),
        ("{a,}", "names no path"),
        ("a#", "symbol"),
        ("a#b..c", "symbol"),
        ("#x", "names no file"),
        ("a\nb", "control"),
        ("a\0b", "control"),
        (&"x".repeat(1025), "1024"),
        (&"x".repeat(256), "255"),
        (&"a/".repeat(129), "128"),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "32"),
        (&format!("a#{}", "x".repeat(257)), "256"),
    ] {
        let error = Surface::new(written).unwrap_err().to_string();
        assert!(error.contains(reason), "{written:?}: {error}");
    }
}

#[test]
fn overlap_is_real_intersection() {
    let cases = [
        // plain paths: the file, or everything below the directory
        ("src/a.rs", "src/a.rs", true),
        ("src", "src/a.rs", true),
        ("src", "srcs", false),
        ("src/a", "src/ab", false),
        ("src/A.rs", "src/a.rs", false),
        (".", "anything/at/all", true),
        // globs cover exactly what they match
        ("src/*", "src/a", true),
        ("src/*", "src/a/b", false),
        ("src/*", "src", true),
        ("src/**", "src", true),
        ("src/**", "src/a/b/c", true),
        ("src/**", "lib", false),
        ("src/**/*.rs", "src/*.rs", true),
        ("**/Cargo.toml", "crates/*/Cargo.toml", true),
        ("**/x", "**/y", false),
        ("**/x", "**/x/y", false),
        ("a/**/b", "a/b", true),
        ("a/*/b", "a/b", true),
        ("a/*/b", "a/[!b]", false),
        ("*.rs", "*.toml", false),
        ("a*", "*b", true),
        ("[a-m]*", "[n-z]*", false),
        ("[a-m]*", "[!a-l]*", true),
        ("?", "é", true),
        ("{a,b}/x", "b/*", true),
        ("{a,b}/x", "c/*", false),
        ("{a,b}", "a/x", false),
        (".[a-z]*", "[!.]*", false),
        ("?", ".*", false),
        // a literal may be a directory, so a deep glob can always reach below it
        ("**/x.rs", "src/main.rs", true),
        // escapes
        ("app/[[]id]", "app/[[]id]/page.tsx", true),
        ("app/[id]", "app/[[]id]", false),
        // symbols
        ("a.rs#f", "a.rs#g", false),
        ("a.rs#f", "a.rs#f", true),
        ("a.rs#f", "a.rs", true),
        ("a.rs#f", "*.rs", true),
        ("a.rs#f", "b.rs#f", false),
        ("a.rs#Foo", "a.rs#Foo::bar", true),
        ("a.rs#Foo.bar", "a.rs#Foo::bar", true),
        ("a.rs#Foo", "a.rs#Foobar", false),
        ("src", "src/a.rs#f", true),
    ];
    for (a, b, expected) in cases {
        let (a, b) = (surface(a), surface(b));
        assert_eq!(a.common_path(&b).is_some(), expected, "{a} and {b}");
        assert_eq!(b.common_path(&a).is_some(), expected, "{b} and {a}");
        assert_eq!(found_by_index(&[(1, &a)], &b), if expected { vec![1] } else { vec![] });
        assert_eq!(found_by_index(&[(1, &b)], &a), if expected { vec![1] } else { vec![] });
    }
}

#[test]
fn a_literal_surface_stands_for_itself() {
    for path in ["app/[id]/page.tsx", "a*b", "what?", "c#/x", "{x}", "plain/path"] {
        let literal = Surface::new(&Surface::escape(path)).unwrap();
        assert!(!literal.is_glob(), "{path}");
        assert_eq!(literal.common_path(&literal).as_deref(), Some(path));
    }
    assert!(surface("app/[id]/page.tsx").is_glob());
}

fn found_by_index(held: &[(usize, &Surface)], wanted: &Surface) -> Vec<usize> {
    let mut index = SurfaceIndex::default();
    let holder = Principal::System;
    for (n, surface) in held {
        let lease = LeaseId::new(&format!("l{n}")).unwrap();
        index.insert(&lease, &holder, &[(*surface).clone()]);
    }
    let found = index.meeting(std::slice::from_ref(wanted), usize::MAX, &|_, _| true);
    let mut numbers: Vec<usize> =
        found.iter().map(|lease| lease.as_str()[1..].parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]\\.?|\\.[ab]|[ab]{1,2}",
        2 => "[ab.]?\\*[ab.]?",
        1 => Just("?".to_owned()),
        1 => Just("??".to_owned()),
        1 => "\\[[ab]\\][ab]?",
        1 => "\\[![ab]\\]",
        1 => Just("[a-b]*".to_owned()),
        2 => Just("**".to_owned()),
        1 => "\\{[ab],[ab]{2}\\}",
        1 => "\\{[ab],\\*b\\}",
    ]
    .prop_filter("a real name", |text| {
        !matches!(text.as_str(), "." | "..") && Surface::new(text).is_ok()
    })
}

fn any_surface() -> impl Strategy<Value = Surface> {
    prop::collection::vec(segment(), 1..4)
        .prop_filter_map("a surface", |segments| Surface::new(&segments.join("/")).ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn intersection_agrees_with_brute_force(a in any_surface(), b in any_surface()) {
        // Two patterns of up to three segments that meet at all meet within this universe:
        // short names over the same letters, and one level more than either has.
        thread_local! {
            static UNIVERSE: Vec<String> = oracle::universe(4);
        }
        let shared = UNIVERSE.with(|paths| {
            paths.iter().find(|path| {
                oracle::covers(a.as_str(), path) && oracle::covers(b.as_str(), path)
            }).cloned()
        });
        let witness = a.common_path(&b);
        if shared.is_some() {
            prop_assert!(witness.is_some(), "{a} and {b} share {shared:?}");
        }
        if let Some(witness) = &witness && witness != "." {
            prop_assert!(oracle::covers(a.as_str(), witness), "{a} covers {witness}");
            prop_assert!(oracle::covers(b.as_str(), witness), "{b} covers {witness}");
        }
        prop_assert_eq!(witness.is_some(), b.common_path(&a).is_some());
        prop_assert_eq!(witness.is_some(), a.meets(&b));
    }

    #[test]
    fn covering_agrees_with_brute_force(a in any_surface(), b in any_surface()) {
        thread_local! {
            static UNIVERSE: Vec<String> = oracle::universe(4);
        }
        prop_assert!(a.covers(&a));
        if a.covers(&b) {
            prop_assert!(a.meets(&b));
            let beyond = UNIVERSE.with(|paths| {
                paths.iter().find(|path| {
                    oracle::covers(b.as_str(), path)
                        && !oracle::covers(a.as_str(), path)
                }).cloned()
            });
            prop_assert_eq!(beyond, None, "{} within {}", b, a);
        }
    }

    #[test]
    fn the_index_finds_exactly_what_meets(
        held in prop::collection::vec(prop::collection::vec(any_surface(), 1..4), 0..25),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        wanted in any_surface(),
    ) {
        let mut index = SurfaceIndex::default();
        let holder = Principal::System;
        let lease = |n: usize| LeaseId::new(&format!("l{n}")).unwrap();
        for (n, surfaces) in held.iter().enumerate() {
            index.insert(&lease(n), &holder, surfaces);
        }
        let mut live: Vec<usize> = (0..held.len()).collect();
        for choice in gone {
            if !live.is_empty() {
                let n = live.remove(choice.index(live.len()));
                index.remove(&lease(n), &held[n]);
            }
        }
        let expected: std::collections::BTreeSet<LeaseId> = live
            .iter()
            .filter(|n| held[**n].iter().any(|held| held.common_path(&wanted).is_some()))
            .map(|n| lease(*n))
            .collect();
        let found = index.meeting(std::slice::from_ref(&wanted), usize::MAX, &|_, _| true);
        prop_assert_eq!(found, expected);
        let foreign = |_: &LeaseId, own: &Principal| *own != holder;
        prop_assert!(index.meeting(std::slice::from_ref(&wanted), 9, &foreign).is_empty());
        for n in live {
            index.remove(&lease(n), &held[n]);
        }
        prop_assert!(index.is_empty(), "what goes in comes out again");
    }

    #[test]
    fn no_text_panics_and_normal_forms_are_stable(text in "\\PC{0,40}|[ab/:*?\\[\\]{},.!#\\\\-]{0,24}") {
        if let Ok(surface) = Surface::new(&text) {
            let again = Surface::new(surface.as_str()).unwrap();
            prop_assert_eq!(&again, &surface);
            prop_assert!(surface.common_path(&again).is_some(), "a surface meets itself");
        }
    }
}
