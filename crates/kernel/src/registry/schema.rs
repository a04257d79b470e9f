//! JSON Schemas of arguments.

use schemars::JsonSchema;

/// The JSON Schema of a type, with its help text as description.
pub(crate) fn schema_of<T: JsonSchema>(help: &str) -> schemars::Schema {
    let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    schema.insert("description".to_owned(), help.into());
    schema
}
