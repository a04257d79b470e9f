//! Refusals in words that a model can act on.

use althing_dialects::frugal::haid::called;
use althing_kernel::query::Collision;
use althing_kernel::refusal::Details;
use althing_kernel::{Principal, Refusal, Rule, Timestamp};

use crate::error::Error;
use crate::native::until;

/// A refusal and the words for it.
#[derive(Debug)]
pub struct Refused {
    /// The words.
    pub reason: String,
    /// The refusal itself.
    pub error: Error,
}

impl Refused {
    /// The rule it rests on.
    pub fn rule(&self) -> Rule {
        self.error.rule()
    }
}

/// The words for a refusal of the kernel: what is refused, why, and what to do now. `me` is the name of
/// the caller.
pub(super) fn reason(refusal: &Refusal, me: &Principal, now: Timestamp) -> String {
    let name = called(me);
    let text = match (&refusal.details, refusal.rule) {
        // Any other rule that names collisions is told alike.
        (Details::Collisions(held), _) => collision(held, &name, now),
        (Details::Allowed(own), Rule::Authority) => {
            let own = if own.is_empty() { "nothing".to_owned() } else { own.join(", ") };
            format!(
                "{}. Your task may change: {own}. Leave the file as it is. If your task cannot do without it, say \
                 so: `althing blocked 'WHY' --as {name}`.",
                refusal.message
            )
        }
        (_, Rule::Ended) => format!(
            "{}. Stop here: nothing that you change from now on will be merged.",
            refusal.message
        ),
        (_, Rule::ClaimFirst) => format!(
            "{}, and this project asks for it. Claim it first, then repeat the edit: `althing claim PATH -m 'WHY' \
             --as {name}`, or the tool `claim`.",
            refusal.message
        ),
        // Any other rule has its own way out.
        _ => format!("{}. {}", refusal.message, refusal.rule.way_out()),
    };
    format!("{text} [{}]", refusal.rule)
}

/// The words for files that others hold.
pub(super) fn collision(held: &[Collision], me: &str, now: Timestamp) -> String {
    let mut lines: Vec<String> = held.iter().take(LISTED_MAX).map(|own| line(own, now)).collect();
    if held.len() > LISTED_MAX {
        lines.push(format!("and {} more", held.len() - LISTED_MAX));
    }
    let ask = match held.first().map(|own| &own.holder) {
        Some(holder @ Principal::Agent(_)) => {
            format!("ask for it: `althing send agent:{} 'TEXT' --as {me}`", called(holder))
        }
        Some(holder @ (Principal::User(_) | Principal::System)) => {
            format!("ask {}", called(holder))
        }
        None => "ask its holder".to_owned(),
    };
    format!(
        "{}. Do not change it in any other way. Work on something else, wait until it is free, or {ask}. \
         `althing claims` shows who holds what.",
        lines.join("; ")
    )
}

/// The purpose of a claim that an edit made begins with this.
pub(super) const EDITED: &str = "edited by ";

/// The most files that one refusal names.
const LISTED_MAX: usize = 5;

fn line(own: &Collision, now: Timestamp) -> String {
    let whole = if own.surface == own.wanted {
        String::new()
    } else {
        format!(" (as part of {})", own.surface)
    };
    // That it was edited says the name of the holder.
    let purpose = own.purpose.as_ref().filter(|why| !why.starts_with(EDITED));
    let purpose = purpose.map(|why| format!(" for {why:?}")).unwrap_or_default();
    let ends = match own.host_gone {
        Some(gone) => format!("its program has ended, so it is free {}", until(gone.until, now)),
        None => format!("the claim ends {} unless it is renewed", until(own.expires_at, now)),
    };
    format!("{} is held by {}{whole}{purpose}; {ends}", own.wanted, called(&own.holder))
}
