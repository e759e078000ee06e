//! The schemas of the document as fields. A schema that several places refer to has one entry on the page, to which
//! they link; all others are shown where they are used.

use std::{
    collections::{BTreeSet, HashMap},
    iter,
};

use serde_json::Value;

use super::outline::text;

/// A parameter, or a field of a body.
pub(super) struct Field {
    pub(super) name: String,
    /// The location of a parameter, or the type of a field.
    pub(super) kind: String,
    /// The schema of the field that has an entry.
    pub(super) schema: Option<String>,
    pub(super) required: bool,
    pub(super) about: String,
}

/// A schema with an entry.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) fields: Vec<Field>,
}

/// The schemas of a document.
pub(super) struct Schemas<'a> {
    document: &'a Value,
    /// The names of schemas with an entry.
    entries: BTreeSet<&'a str>,
}

impl<'a> Schemas<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        let mut uses = HashMap::new();
        count_references(document, &mut uses);
        let named = document["components"]["schemas"].as_object().into_iter().flatten();
        let entries = named
            .filter(|(name, schema)| {
                uses.get(name.as_str()).is_none_or(|uses| *uses > 1) && schema.get("enum").is_none()
            })
            .map(|(name, _)| name.as_str());
        Self { document, entries: entries.collect() }
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        let entry = |name: &&'a str| {
            let schema = &self.document["components"]["schemas"][*name];
            let about = text(&schema["description"]);
            Entry { name: (*name).to_owned(), about, fields: self.fields(schema) }
        };
        self.entries.iter().map(entry).collect()
    }

    pub(super) fn resolve(&self, schema: &'a Value) -> &'a Value {
        let target = schema["$ref"]
            .as_str()
            .and_then(|path| self.document.pointer(path.trim_start_matches('#')));
        target.unwrap_or(schema)
    }

    /// Returns the name of a schema that has an entry.
    pub(super) fn entry(&self, schema: &Value) -> Option<String> {
        let name = schema["$ref"].as_str()?.rsplit('/').next()?;
        self.entries.contains(name).then(|| name.to_owned())
    }

    /// Returns the properties of an object, including those of composed schemas.
    pub(super) fn members(&self, schema: &'a Value) -> Vec<(&'a String, &'a Value)> {
        let schema = self.resolve(non_null(schema));
        let parts = ["allOf", "oneOf"].iter().filter_map(|name| schema[name].as_array()).flatten();
        parts.flat_map(|part| self.members(part)).chain(properties(schema)).collect()
    }

    /// Returns the fields of an object, including those of composed and nested schemas.
    pub(super) fn fields(&self, schema: &'a Value) -> Vec<Field> {
        self.fields_below("", schema)
    }

    /// The same, with the prefix `place` before the names.
    fn fields_below(&self, place: &str, schema: &'a Value) -> Vec<Field> {
        let schema = self.resolve(schema);
        let parts = ["allOf", "oneOf"].iter().filter_map(|name| schema[name].as_array()).flatten();
        let inherited = parts.flat_map(|part| self.fields_below(place, part));
        let own = properties(schema).into_iter().flat_map(|(name, property)| {
            let (inner, mark) = match property.get("items") {
                Some(item) => (item, "[]"),
                None => (non_null(property), ""),
            };
            let entry = self.entry(inner);
            let nested = match entry {
                Some(_) => Vec::new(),
                None => self.fields_below(&format!("{place}{name}{mark}."), inner),
            };
            let field = Field {
                name: format!("{place}{name}"),
                kind: self.kind(property, entry.is_some()),
                schema: entry,
                required: is_required(schema, name),
                about: self.about(property),
            };
            iter::once(field).chain(nested)
        });
        inherited.chain(own).collect()
    }

    /// Returns the description of a property or parameter, with the values of an enum, if any.
    pub(super) fn about(&self, property: &'a Value) -> String {
        let said = property.get("description").unwrap_or(&non_null(property)["description"]);
        let said = text(said);
        let schema = property.get("schema").unwrap_or(property);
        let schema = self.resolve(non_null(schema.get("items").unwrap_or(schema)));
        let names = schema["enum"].as_array().into_iter().flatten();
        let names = names.map(|name| format!("`{}`", text(name))).collect::<Vec<_>>().join(", ");
        match (said.trim_end_matches('.'), names.as_str()) {
            (_, "") => said,
            ("", names) => names.to_owned(),
            (said, names) => format!("{said}: {names}"),
        }
    }

    /// Returns the type of a property; before the name of its schema, if that `is_linked`.
    fn kind(&self, property: &'a Value, is_linked: bool) -> String {
        if let Some(item) = property.get("items") {
            let items = self.kind(item, is_linked);
            return if is_linked { "array of".to_owned() } else { format!("array of {items}s") };
        }
        let property = self.resolve(non_null(property));
        let names = match &property["type"] {
            Value::String(name) => name.clone(),
            Value::Array(names) => names.iter().map(text).collect::<Vec<_>>().join(" or "),
            _ => "object".to_owned(),
        };
        match property["format"].as_str() {
            _ if is_linked => String::new(),
            Some("date-time") => names.replace("string", "time"),
            _ => names,
        }
    }
}

/// Counts the references to each schema. A reference to a part of a composed schema shows the part's fields in place,
/// so it does not count.
fn count_references<'a>(value: &'a Value, uses: &mut HashMap<&'a str, usize>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match (key.as_str(), value) {
                    ("$ref", Value::String(path)) => {
                        *uses.entry(path.rsplit('/').next().unwrap_or(path)).or_default() += 1;
                    }
                    ("allOf", Value::Array(parts)) => {
                        for part in parts {
                            match part["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
                                Some(name) => _ = uses.entry(name).or_default(),
                                None => count_references(part, uses),
                            }
                        }
                    }
                    _ => count_references(value, uses),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| count_references(value, uses)),
        _ => {}
    }
}

/// Returns the schema of the values other than null.
pub(super) fn non_null(schema: &Value) -> &Value {
    let choices = schema["oneOf"].as_array().filter(|choices| choices.len() == 2);
    let is_null = |choice: &&Value| choice["type"] == "null";
    match choices.filter(|choices| choices.iter().any(|choice| is_null(&choice))) {
        Some(choices) => choices.iter().find(|choice| !is_null(choice)).unwrap_or(schema),
        None => schema,
    }
}

/// Returns the properties of an object: required ones in the order of their declaration, then all others.
pub(super) fn properties(schema: &Value) -> Vec<(&String, &Value)> {
    let mut properties: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| required_place(schema, name).unwrap_or(usize::MAX));
    properties
}

pub(super) fn is_required(schema: &Value, name: &str) -> bool {
    required_place(schema, name).is_some()
}

fn required_place(schema: &Value, name: &str) -> Option<usize> {
    schema["required"].as_array()?.iter().position(|required| required == name)
}
