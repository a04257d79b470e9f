//! References to invariants: `path` or `path#anchor`, where the anchor is a heading's slug.

/// A parsed reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantsRef<'a> {
    /// The file, relative to the project.
    pub path: &'a str,
    /// The heading in it.
    pub anchor: Option<&'a str>,
}

/// Result of looking a reference up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The file exists, and the heading if one was named.
    Verified {
        /// Whether a heading was named.
        anchor: bool,
    },
    /// Invalid, or not found, with the reason.
    Dangling(String),
}

/// Parses a reference. `None` if the text is not one.
pub fn parse(text: &str) -> Option<InvariantsRef<'_>> {
    let (path, anchor) = match text.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (text, None),
    };
    let anchor_fits = anchor.is_none_or(|anchor| !anchor.is_empty() && !anchor.contains('#'));
    let fits = !path.trim().is_empty() && anchor_fits && !text.contains(['\n', '\r', '\0']);
    fits.then_some(InvariantsRef { path, anchor })
}

/// Looks a reference up. `read` returns the text of a file of the project, or an error.
pub fn look_up(text: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Found {
    let Some(InvariantsRef { path, anchor }) = parse(text) else {
        return Found::Dangling("MALFORMED: want <path>[#<anchor>]".to_owned());
    };
    match (read(path), anchor) {
        (Err(why), _) => Found::Dangling(why),
        (Ok(_), None) => Found::Verified { anchor: false },
        (Ok(content), Some(anchor)) if anchors(&content).iter().any(|own| own == anchor) => {
            Found::Verified { anchor: true }
        }
        (Ok(_), Some(anchor)) => Found::Dangling(format!("ANCHOR not found: #{anchor}")),
    }
}

/// The anchors of a Markdown text, in the usual form: lower case, blanks as dashes, other signs
/// removed, repeated ones numbered.
pub fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_end();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        if let Some(mark) = mark {
            fence = match fence {
                None => Some(mark),
                Some(open) if open == mark => None,
                open => open,
            };
            continue;
        }
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if fence.is_some() || !(1..=6).contains(&level) || !title.starts_with([' ', '\t']) {
            continue;
        }
        let slug = heading_slug(title.trim().trim_end_matches('#').trim_end());
        let again = (1..).map(|number| format!("{slug}-{number}"));
        let fresh = std::iter::once(slug.clone()).chain(again).find(|slug| !found.contains(slug));
        found.extend(fresh);
    }
    found
}

fn heading_slug(title: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    };
    title.to_lowercase().chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> Result<String, String> {
        match path {
            "INV.md" => {
                Ok("# Rules\n\n## No `unsafe`, ever!\n```\n## not one\n```\n## Rules\n".into())
            }
            _ => Err("no such file".into()),
        }
    }

    #[test]
    fn references_resolve_or_give_a_reason() {
        for (text, expected) in [
            ("INV.md", Found::Verified { anchor: false }),
            ("INV.md#rules", Found::Verified { anchor: true }),
            ("INV.md#rules-1", Found::Verified { anchor: true }),
            ("INV.md#no-unsafe-ever", Found::Verified { anchor: true }),
            ("INV.md#not-one", Found::Dangling("ANCHOR not found: #not-one".into())),
            ("gone.md#rules", Found::Dangling("no such file".into())),
            ("#rules", Found::Dangling("MALFORMED: want <path>[#<anchor>]".into())),
            ("INV.md#", Found::Dangling("MALFORMED: want <path>[#<anchor>]".into())),
        ] {
            assert_eq!(look_up(text, &file), expected, "{text}");
        }
    }
}
