//! Tests of putting things into JSON with comments, and of taking them out.

use super::*;
use crate::wiring::draft::without;

const FILES: &[&str] = &[
    "{}",
    "{ }",
    "{\n}\n",
    "{\"a\":1}",
    "{\"a\":1,}",
    "{ \"hooks\": {} }",
    "{\n  \"a\": 1\n}\n",
    "{\n  \"a\": 1, // why\n}\n",
    "{\n  \"a\": 1 // why\n  /* more */\n}\n",
    "{\n\t\"hooks\": {\n\t\t\"Pre\": [\n\t\t\t{ \"x\": 1 }\n\t\t]\n\t}\n}",
    "{\r\n    \"hooks\": {\r\n        \"Pre\": []\r\n    }\r\n}\r\n",
    "\u{feff}{\n  // nothing yet\n}\n",
    "{\"hooks\":{\"Pre\":[{\"x\":\"//\"}]}}",
    "{\n  \"hooks\": {\n    \"Pre\": [\n      1,\n      2, // two\n    ],\n  },\n}\n",
];

fn added(text: &str) -> Draft {
    let mut draft = Draft::new(text);
    let value = Json::Object(vec![("command", Json::text("althing"))]);
    push(&mut draft, &["hooks"], "Pre", &value).unwrap();
    set(&mut draft, &["servers"], "althing", &value).unwrap();
    draft
}

#[test]
fn what_is_put_in_is_read_and_the_rest_stays() {
    for text in FILES {
        let draft = added(text);
        let root = parse(&draft.text).unwrap_or_else(|error| panic!("{error}: {}", draft.text));
        let pre = root.at(&["hooks", "Pre"]).unwrap().items();
        assert_eq!(pre.last().unwrap().get("command").unwrap().text(), Some("althing"), "{text}");
        assert!(root.at(&["servers", "althing", "command"]).is_some(), "{}", draft.text);
        assert_eq!(without(&draft.text, &draft.added).unwrap(), *text, "{}", draft.text);
        let crs = (text.matches("\r\n").count(), text.matches('\n').count());
        if crs.0 == crs.1 && crs.0 > 0 {
            let new = (draft.text.matches("\r\n").count(), draft.text.matches('\n').count());
            assert_eq!(new.0, new.1, "line breaks are all alike");
        }
    }
}

#[test]
fn putting_in_twice_changes_nothing_for_members() {
    let mut draft = Draft::new("{\"servers\": {\"althing\": 1}}");
    set(&mut draft, &["servers"], "althing", &Json::Number(2)).unwrap();
    assert_eq!(draft.text, "{\"servers\": {\"althing\": 1}}");
}

#[test]
fn new_lines_are_indented_like_the_others() {
    let mut draft = Draft::new("{\n    \"a\": 1\n}\n");
    set(&mut draft, &[], "b", &Json::Object(vec![("c", Json::Number(2))])).unwrap();
    assert_eq!(draft.text, "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    }\n}\n");
}

#[test]
fn items_are_taken_out_with_their_commas() {
    for (text, number, left) in [
        ("[1, 2, 3]", 0, "[ 2, 3]"),
        ("[1, 2, 3]", 2, "[1, 2]"),
        ("[1]", 0, "[]"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", 1, "{\n  \"a\": 1\n}"),
        ("{\n  \"a\": 1,\n  \"b\": 2,\n}", 1, "{\n  \"a\": 1,\n}"),
        ("{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}", 0, "{\r\n  \"b\": 2\r\n}"),
        ("{\n  \"a\": 1, // one\n  \"b\": 2\n}", 1, "{\n  \"a\": 1 // one\n}"),
    ] {
        let root = parse(text).unwrap();
        assert_eq!(take_out(text, &root, number).as_deref(), Some(left), "{text} {number}");
    }
}

#[test]
fn what_is_no_json_is_named_with_its_line() {
    for text in [
        "",
        "{",
        "{a: 1}",
        "{\"a\" 1}",
        "{\"a\": 1 \"b\": 2}",
        "[1 2]",
        "{\"a\": }",
        "{} x",
        "{\"a\": \"open}",
        "/* open",
        "{\"a\": tru}",
        "nonsense",
    ] {
        assert!(matches!(parse(text), Err(JsoncError::Syntax { .. })), "{text}");
    }
    let error = parse("{\n  \"a\": 1,\n  b\n}").unwrap_err();
    assert_eq!(error.to_string(), "line 3 is not JSON: a member has no name in quotes");
    assert!(parse(&"[".repeat(1000)).is_err());
}

#[test]
fn a_member_of_another_type_is_left_alone() {
    for (text, path) in [("[]", "hooks"), ("{\"hooks\": []}", "hooks"), ("{\"hooks\": 1}", "hooks")]
    {
        let mut draft = Draft::new(text);
        let done = push(&mut draft, &["hooks"], "Pre", &Json::Number(1));
        assert!(matches!(done, Err(JsoncError::Shape(_))), "{text} {path}");
        assert_eq!(draft.text, text);
    }
}
