//! Budgets: limits for the length of an answer, whatever is stored.
//!
//! Lists are cut from their end, so the most important items come first; the number of items left
//! out is given, and a page says where to continue. Texts are cut and marked as cut; if that is not
//! enough, nested parts are removed as a whole.

use serde_json::{Map, Value};

use crate::frugal::tokens::count;

/// Default limit of an answer, in characters.
pub const CHARS_DEFAULT: usize = 40_000;
/// Smallest possible budget, in tokens.
pub const TOKENS_MIN: u64 = 300;
/// Characters to keep free for additions to an answer on its way out.
const CHARS_SPARE: usize = 400;
const TOKENS_SPARE: u64 = 100;
/// Shortest length that a text is cut to, in bytes.
const TEXT_MIN: usize = 80;

/// The limits of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    chars: usize,
    tokens: Option<u64>,
}

/// A page of items.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The items that fit.
    pub items: Vec<Value>,
    /// Number of items that did not fit.
    pub omitted: usize,
}

impl Budget {
    /// A budget of characters, and optionally of tokens.
    pub fn new(chars: usize, tokens: Option<u64>) -> Result<Self, String> {
        match tokens {
            Some(few) if few < TOKENS_MIN => {
                Err(format!("'budget_tokens' must be at least {TOKENS_MIN}"))
            }
            _ => Ok(Budget { chars: chars.min(CHARS_DEFAULT), tokens }),
        }
    }

    /// Whether a value is within the limits.
    pub fn fits(&self, value: &Value) -> bool {
        self.over(value) == 0
    }

    /// Estimate of the excess length, in bytes.
    fn over(&self, value: &Value) -> usize {
        let text = value.to_string();
        let over = (text.len() + CHARS_SPARE).saturating_sub(self.chars);
        let Some(tokens) = self.tokens.map(|tokens| tokens - TOKENS_SPARE) else { return over };
        // No token is shorter than a byte.
        if u64::try_from(text.len()).is_ok_and(|most| most <= tokens) {
            return over;
        }
        let counted = count(&text);
        let too_many = usize::try_from(counted.saturating_sub(tokens)).unwrap_or(usize::MAX);
        let each = text.len().div_ceil(usize::try_from(counted).unwrap_or(1).max(1));
        over.max(too_many.saturating_mul(each))
    }

    /// As many items as fit beside the rest of an answer; at least one, cut if necessary.
    pub fn page(&self, rest: &Value, items: Vec<Value>) -> Page {
        let asked = items.len();
        let answer = |items: &[Value]| {
            let mut whole = rest.clone();
            whole["items"] = items.into();
            whole
        };
        let mut kept = items;
        while kept.len() > 1 {
            let over = self.over(&answer(&kept));
            if over == 0 {
                break;
            }
            drop_tail(&mut kept, over);
        }
        if let [only] = kept.as_slice()
            && !self.fits(&answer(&kept))
        {
            let room = self.beside(rest);
            kept = vec![room.shorten(only.clone())];
        }
        Page { omitted: asked - kept.len(), items: kept }
    }

    /// The remaining budget beside a value.
    fn beside(&self, rest: &Value) -> Budget {
        let text = rest.to_string();
        let tokens = self.tokens.map(|own| own.saturating_sub(count(&text)).max(TOKENS_MIN));
        Budget { chars: self.chars.saturating_sub(text.len()).max(CHARS_SPARE * 2), tokens }
    }

    /// Cuts a value until it fits: the longest list or text first.
    pub fn shorten(&self, value: Value) -> Value {
        let mut value = value;
        loop {
            let over = self.over(&value);
            if over == 0 {
                return value;
            }
            match largest(&value) {
                Some((_, path)) => cut(&mut value, &path, over),
                None if drop_part(&mut value) => {}
                None => return value,
            }
        }
    }
}

/// Removes the largest nested part. Returns whether there was one.
fn drop_part(value: &mut Value) -> bool {
    let Value::Object(own) = value else { return false };
    let size = |part: &Value| match part {
        Value::Object(inner) if !inner.is_empty() => part.to_string().len(),
        Value::Array(list) if !list.is_empty() => part.to_string().len(),
        _ => 0,
    };
    let largest = own.iter().map(|(key, part)| (size(part), key.clone())).max();
    let Some((_, key)) = largest.filter(|(size, _)| *size > 0) else { return false };
    match own.get_mut(&key) {
        Some(Value::Array(list)) => list.clear(),
        Some(Value::Object(inner)) => {
            let inside = inner.iter().map(|(key, part)| (part.to_string().len(), key.clone()));
            if let Some((_, key)) = inside.max() {
                inner.remove(&key);
            }
        }
        _ => return false,
    }
    own.insert("parts_omitted".to_owned(), true.into());
    true
}

/// Removes items from the end until about so many bytes are gone, but leaves one.
fn drop_tail(items: &mut Vec<Value>, over: usize) -> usize {
    let (mut gone, mut dropped) = (0, 0);
    while gone < over && items.len() > 1 {
        gone += items.pop().map_or(0, |item| item.to_string().len() + 1);
        dropped += 1;
    }
    dropped
}

/// The largest list or text that can be cut, with its path.
fn largest(value: &Value) -> Option<(usize, Vec<String>)> {
    let Value::Object(own) = value else { return None };
    let best = own.iter().filter_map(|(key, child)| {
        let (size, mut path) = match child {
            Value::String(text) if text.len() > TEXT_MIN * 2 => (text.len(), Vec::new()),
            Value::Array(list) if list.len() > 1 => (child.to_string().len(), Vec::new()),
            Value::Array(list) => {
                let (size, path) = list.first().and_then(largest)?;
                (size, [vec!["0".to_owned()], path].concat())
            }
            Value::Object(_) => largest(child)?,
            _ => return None,
        };
        path.insert(0, key.clone());
        Some((size, path))
    });
    best.max_by_key(|(size, _)| *size)
}

fn cut(value: &mut Value, path: &[String], over: usize) {
    match path {
        [] => {}
        [key] => {
            if let Value::Object(own) = value {
                cut_field(own, key, over);
            }
        }
        [key, rest @ ..] => {
            let child = match value {
                Value::Object(own) => own.get_mut(key),
                Value::Array(list) => list.first_mut(),
                _ => None,
            };
            if let Some(child) = child {
                cut(child, rest, over);
            }
        }
    }
}

fn cut_field(own: &mut Map<String, Value>, key: &str, over: usize) {
    match own.get_mut(key) {
        Some(Value::String(text)) => {
            // Escaped characters are longer in the answer than in the text.
            let written = Value::from(text.as_str()).to_string().len().max(1);
            let less = (over + 32).saturating_mul(text.len()).div_ceil(written);
            let keep = text.len().saturating_sub(less).max(TEXT_MIN);
            text.truncate(text.floor_char_boundary(keep));
            text.push('…');
            own.insert(format!("{key}_truncated"), true.into());
        }
        Some(Value::Array(list)) => {
            let dropped = drop_tail(list, over);
            let name = format!("{key}_omitted");
            let before = own.get(&name).and_then(Value::as_u64).unwrap_or(0);
            own.insert(name, (before + dropped as u64).into());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn item(n: usize, chars: usize) -> Value {
        json!({ "id": format!("pln#{n}"), "text": "word ".repeat(chars / 5) })
    }

    #[test]
    fn a_page_keeps_its_budget_and_says_what_it_left_out() {
        let budget = Budget::new(CHARS_DEFAULT, None).unwrap();
        let rest = json!({ "entity": "plan", "total": 120 });
        let page = budget.page(&rest, (0..50).map(|n| item(n, 2_000)).collect());
        assert!((15..20).contains(&page.items.len()), "{}", page.items.len());
        assert_eq!(page.items.len() + page.omitted, 50);
        assert_eq!(page.items[0]["id"], "pln#0", "from the end");
        let small = budget.page(&rest, (0..50).map(|n| item(n, 20)).collect());
        assert_eq!((small.items.len(), small.omitted), (50, 0));
    }

    #[test]
    fn one_item_that_is_too_long_is_cut() {
        let budget = Budget::new(CHARS_DEFAULT, None).unwrap();
        let long = json!({ "id": "hnd#1", "diff": "+ line\n".repeat(40_000), "text": "short" });
        let page = budget.page(&json!({ "entity": "handoff" }), vec![long]);
        let only = &page.items[0];
        assert_eq!((&only["text"], &only["diff_truncated"]), (&json!("short"), &json!(true)));
        assert!(only.to_string().len() < CHARS_DEFAULT);
        assert!(only.to_string().len() > CHARS_DEFAULT / 2, "and not more than has to be");
    }

    #[test]
    fn tokens_are_counted() {
        assert!(Budget::new(CHARS_DEFAULT, Some(10)).is_err());
        let budget = Budget::new(CHARS_DEFAULT, Some(500)).unwrap();
        let page = budget.page(&json!({}), (0..50).map(|n| item(n, 200)).collect());
        assert!(!page.items.is_empty() && page.omitted > 0);
        assert!(count(&json!({ "items": page.items }).to_string()) <= 500);
        let long = budget.shorten(json!({ "text": "Ünïcödé… ".repeat(4_000), "n": 1 }));
        assert!(count(&long.to_string()) <= 500);
        assert_eq!(long["text_truncated"], true);
    }

    #[test]
    fn lists_give_way_in_deep_answers() {
        let budget = Budget::new(4_000, None).unwrap();
        let items: Vec<Value> = (0..100).map(|n| item(n, 100)).collect();
        let value = json!({ "result": { "selected": items, "plans": [item(1, 100)] } });
        let short = budget.shorten(value);
        let kept = short["result"]["selected"].as_array().unwrap().len();
        assert!(kept > 5 && short.to_string().len() <= 4_000, "{kept}");
        assert_eq!(short["result"]["selected_omitted"], 100 - kept);
    }

    #[test]
    fn shortening_always_ends() {
        let budget = Budget::new(600, Some(TOKENS_MIN)).unwrap();
        let many: Map<String, Value> = (0..500).map(|n| (format!("k{n}"), n.into())).collect();
        budget.shorten(Value::Object(many));
        let deep = (0..60).fold(json!("x".repeat(5_000)), |inner, _| json!({ "a": [inner] }));
        budget.shorten(deep);
        // A value without long texts or long lists loses nested parts.
        let parts: Map<String, Value> =
            (0..200).map(|n| (format!("k{n}"), json!({ "n": n }))).collect();
        let short = budget.shorten(json!({ "status": "ok", "result": parts }));
        assert!(short.to_string().len() <= 600, "{short}");
        assert_eq!((&short["status"], &short["parts_omitted"]), (&json!("ok"), &json!(true)));
    }
}
