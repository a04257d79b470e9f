//! Macros for types with a text form: validated strings, and values that are written as a string.

/// Declares a string newtype that is validated when it is constructed. `$check` refuses invalid
/// text, `$expected` names the type in errors of serde, `$pattern` is its regular expression in
/// JSON Schema. The inner type is `Arc<str>`, or one that is made from it.
macro_rules! string_newtype {
    (
        $(#[$meta:meta])*
        $name:ident($inner:ty): $check:path => $error:ty, $expected:literal, $pattern:literal
    ) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($inner);

        impl $name {
            /// Validates text.
            pub fn new(text: &str) -> Result<Self, $error> {
                $check(text).map(|()| $name(::std::sync::Arc::<str>::from(text).into()))
            }

            /// The value as text.
            pub fn as_str(&self) -> &str {
                self.0.as_ref()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                $name::new(text)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        $crate::values::string_newtype::deserialize_text!($name, $expected, $name::new);
        $crate::values::string_newtype::inline_schema!(
            $name,
            { "type": "string", "pattern": $pattern }
        );
    };
}

/// Implements `Deserialize` from a string with a parser.
macro_rules! deserialize_text {
    ($name:ident, $expected:literal, $parse:expr) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $crate::values::de::from_str(deserializer, $expected, $parse)
            }
        }
    };
}

/// Implements `Serialize` by `Display`, and `Deserialize` from a string with a parser.
macro_rules! serde_as_text {
    ($name:ident, $expected:literal, $parse:expr) => {
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        $crate::values::string_newtype::deserialize_text!($name, $expected, $parse);
    };
}

/// Implements `JsonSchema` with a schema that is inlined where the type is used.
macro_rules! inline_schema {
    ($name:ident, $schema:tt) => {
        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!($schema)
            }
        }
    };
}

pub(crate) use deserialize_text;
pub(crate) use inline_schema;
pub(crate) use serde_as_text;
pub(crate) use string_newtype;
