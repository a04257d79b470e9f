//! A macro for closed sets of words: enums whose variants have a name in text.

/// Declares an enum with a word for each variant: the word that serde, the JSON Schema and
/// `Display` use.
macro_rules! closed_set {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$variant_meta:meta])* $variant:ident $word:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize,
            ::serde::Deserialize, ::schemars::JsonSchema,
        )]
        pub enum $name {
            $( $(#[$variant_meta])* #[serde(rename = $word)] $variant, )*
        }

        impl $name {
            /// All values, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word for the value.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            /// The value that a word stands for.
            pub fn named(word: &str) -> Option<Self> {
                $name::ALL.iter().copied().find(|own| own.as_str() == word)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(crate) use closed_set;
