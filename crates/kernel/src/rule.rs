//! Every rule Althing enforces and can cite, in one place, by its name.
//!
//! A refusal, an error on the command line and `docs/rules.md` all draw on this list, so a
//! reader who meets an id anywhere finds its meaning and the way out here.

use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($( $variant:ident $id:literal : $text:literal => $way_out:literal; )*) => {
        /// A rule that a refusal or an error rests on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Rule {
            $(
                #[doc = $text]
                #[serde(rename = $id)]
                $variant,
            )*
        }

        impl Rule {
            /// All rules, in the order of this file.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant),*];

            /// The stable id, as printed in errors and recorded in the trail.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$variant => $id),* }
            }

            /// What the rule says.
            pub fn text(self) -> &'static str {
                match self { $(Rule::$variant => $text),* }
            }

            /// What whoever met the rule can do now.
            pub fn way_out(self) -> &'static str {
                match self { $(Rule::$variant => $way_out),* }
            }
        }
    };
}

rules! {
    AgentKeyBound "A-ID-01":
        "An agent's name belongs to the key that first used it."
        => "Use another name, or the state folder that holds this agent's key.";
    PersonNeedsCredential "A-ID-02":
        "What only a person may do needs that person's own credential."
        => "Run `althing login NAME` as that person, then repeat the command with `--user NAME`.";
    UserAdmission "A-ID-03":
        "The first user of a project is admitted by signing up; every later one by a user who is already in."
        => "Ask an existing user to run `althing users add NAME KEY`.";
    UserUnique "A-ID-04":
        "A user id and its key belong to one person and are given once."
        => "Choose another user id, and a key of that person's own.";
    SystemOnly "A-ID-05":
        "This command is the runtime's own and has no door for agents or people."
        => "There is nothing to do: the runtime issues it by itself.";
    SessionOwned "A-SESS-01":
        "A command runs in an open session of the caller."
        => "Open one with `session.open`, or leave the session out to use the standing one.";
    AgentsHaveSessions "A-SESS-02":
        "Sessions belong to agents; people and the coordinator act without one."
        => "Leave the session out, or act as an agent with `--as NAME`.";
    NoOverlap "A-LEASE-01":
        "Two holders never hold overlapping surfaces at the same time."
        => "Wait for the expiry shown, ask the holder to release, or claim a surface that does not overlap.";
    LeaseLive "A-LEASE-02":
        "Only a live lease can be renewed, released or forced."
        => "Look at `althing claims` and claim again if the surface is free.";
    HolderOnly "A-LEASE-03":
        "Only the holder renews or releases a lease."
        => "Ask the holder, or have a person end it with `althing release LEASE --force --reason …`.";
    Fenced "A-LEASE-04":
        "A lease is used with the epoch it was granted under; an older one is fenced off."
        => "Claim again and carry the new epoch.";
    ForceNeedsRight "A-LEASE-05":
        "Ending somebody else's lease needs a person or the coordinator, and a reason."
        => "Have a person run `althing release LEASE --force --reason … --user NAME`.";
    LeasesPerSession "A-LEASE-06":
        "A session holds at most 1,000 leases at a time."
        => "Claim folders or globs instead of single files, or release what is done.";
    ProjectOnce "A-PROJ-01":
        "A project is created once, as the first entry of its trail."
        => "Use the existing project, or another state folder.";
    ProjectExists "A-PROJ-02":
        "A trail begins with the creation of its project."
        => "Run `althing init` first.";
    RuntimeKeyKnown "A-PROJ-03":
        "A runtime signs with the key the trail names, or records that it takes over with another."
        => "Restore `keys/runtime.key` from a backup, or run `althing doctor --rekey --reason …`.";
    Usage "A-USE-01":
        "Input that cannot be read is not carried out in part."
        => "See the command's `--help` or `althing do --schema NAME`.";
    SurfaceGrammar "A-USE-02":
        "A surface is a path inside the project, a glob, or `path#symbol`."
        => "Write a path from the project root, a glob, or `path#symbol`; see `docs/leases.md`.";
    Limits "A-USE-03":
        "Everything that comes in has a stated limit."
        => "Stay within the limit that the message names.";
    WhoAreYou "A-USE-04":
        "A command that changes something needs to know who asks."
        => "Pass `--as NAME` (or set ALTHING_AGENT) with a name of your own for each agent.";
    NotFound "A-USE-05":
        "What is asked about must exist."
        => "Check what was named; the lists (`claims`, `trail`, `rules`, `do --list`) show what there is.";
    NoProject "A-STORE-01":
        "Commands run inside a project."
        => "Run `althing init` in the project, or pass `--project DIR`.";
    StoreUnavailable "A-STORE-02":
        "Nothing is acknowledged before it is safely stored."
        => "Reads go on; repeat the command later. `althing doctor` tells what is wrong.";
    StoreNewer "A-STORE-03":
        "A state folder written by a newer version is left untouched."
        => "Use that version or a newer one.";
    StoreForeign "A-STORE-04":
        "Only a store of Althing's is opened as one."
        => "Check `--store` and `althing config`.";
    Integrity "A-TRAIL-01":
        "Every entry follows from the one before it, and every commit is covered by a signed head."
        => "Keep the store as it is, compare with a backup, and see `althing trail verify`.";
    KeptHead "A-TRAIL-02":
        "A trail contains every head anyone ever kept of it."
        => "Entries have been cut off or replaced since that head was signed; compare with a backup.";
    Conformance "A-CONF-01":
        "What the protocol asks for is shown by tests that pass."
        => "Run the tests that are named and mend what they find, then run `scripts/test` again.";
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_every_rule_has_a_text_and_a_way_out() {
        let ids: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            assert!(rule.text().ends_with('.'), "{rule}");
            assert!(rule.way_out().ends_with('.'), "{rule}");
        }
    }
}
