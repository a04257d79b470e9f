//! Hooks: what agents, editors and git ask before files are changed, and what agents are told.
//!
//! Nothing is decided here. Whether files may be changed is one command of the kernel, `lease.use`; its
//! refusal is put into words that a model can act on. Messages and news are what the inbox and the shared
//! records have for the caller, cut to a number of tokens.

mod commit;
mod edit;
mod news;
mod words;

pub use commit::{Committer, commit};
pub use edit::{Edit, Program, Verdict, edit};
pub use news::{Told, ended, prompt, session, stop};
pub use words::Refused;

/// What becomes of files that nobody holds when they are edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnEdit {
    /// They are claimed for whoever edits them.
    #[default]
    Auto,
    /// They have to be claimed first.
    Require,
    /// They are edited without a claim.
    Off,
}

/// What becomes of edits outside the authority of an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// They are refused.
    #[default]
    Refuse,
    /// The person at the agent is asked, where the agent can do that.
    Ask,
    /// They are allowed, and claimed like others; the merge still takes only what the task may change.
    Allow,
}

/// What an agent is told when Althing itself is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Broken {
    /// It may go on.
    #[default]
    Open,
    /// It is refused.
    Closed,
}

/// When an agent with something left to do is kept from ending, once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepGoing {
    /// In attempts of a run only.
    #[default]
    Attempts,
    /// Always.
    On,
    /// Never.
    Off,
}

macro_rules! words {
    ($type:ident { $( $variant:ident $word:literal ),* }) => {
        impl $type {
            /// The word for it in settings.
            pub fn word(self) -> &'static str {
                match self { $( $type::$variant => $word ),* }
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $( $word => Ok($type::$variant), )*
                    other => {
                        let words = [$( concat!("\"", $word, "\"") ),*].join(", ");
                        Err(format!("{other:?} is none of {words}"))
                    }
                }
            }
        }
    };
}

words!(OnEdit { Auto "auto", Require "require", Off "off" });
words!(Outside { Refuse "refuse", Ask "ask", Allow "allow" });
words!(Broken { Open "open", Closed "closed" });
words!(KeepGoing { Attempts "attempts", On "on", Off "off" });
