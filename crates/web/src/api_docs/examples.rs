//! Examples of requests and responses, from the examples of the document.

use serde_json::{Map, Value, json};

use super::{
    outline::{Reader, schema_of, text},
    schemas::{is_required, non_null, properties},
};

/// The length of JSON that is printed on one line, in bytes.
const LINE_BYTES_MAX: usize = 60;

impl<'a> Reader<'a> {
    /// Returns a curl command with the examples of the document.
    pub(super) fn curl(&self, path: &str, method: &str, base_url: &str) -> String {
        let flags = match method {
            "get" if path.starts_with("/api/") => String::new(),
            "get" => " -i".to_owned(),
            _ => format!(" -X {}", method.to_uppercase()),
        };
        let key = self.key().map(|key| format!(" \\\n  -H 'Authorization: Bearer {key}'"));
        format!(
            "curl{flags} '{base_url}{}{}'{}{}",
            self.filled(path),
            self.query(),
            key.unwrap_or_default(),
            self.example_body()
        )
    }

    /// Replaces the path parameters by their examples.
    fn filled(&self, path: &str) -> String {
        let parameters = self.all_parameters().filter(|parameter| parameter["in"] == "path");
        parameters.fold(path.to_owned(), |path, parameter| {
            let Some(example) = written(&parameter["example"]) else { return path };
            path.replace(&format!("{{{}}}", text(&parameter["name"])), &example)
        })
    }

    fn query(&self) -> String {
        let parameters = self.all_parameters().filter(|parameter| parameter["in"] == "query");
        let pairs: Vec<_> = parameters
            .filter_map(|parameter| {
                Some(format!("{}={}", text(&parameter["name"]), written(&parameter["example"])?))
            })
            .collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }

    /// Returns a placeholder for the required key, or for an optional gate key that is listed first.
    fn key(&self) -> Option<&'static str> {
        if self.operation["security"][0].get("gate").is_some() {
            return Some("lodge_gate_…");
        }
        match self.ways(["manage_key", "api_key", "session"]) {
            (true, _) => None,
            (_, [true, ..]) => Some("manage_…"),
            (_, [_, true, _]) => Some("lodge_…"),
            (_, [.., true]) => Some("session_…"),
            _ => None,
        }
    }

    fn example_body(&self) -> String {
        let content = self.operation["requestBody"]["content"].as_object().into_iter().flatten();
        let Some((kind, media)) = content.into_iter().next() else { return String::new() };
        let header = format!(" \\\n  -H 'Content-Type: {kind}' \\\n ");
        match (kind.as_str(), media["example"].as_str()) {
            ("application/octet-stream", _) => " \\\n  --data-binary @FILE".to_owned(),
            // -d strips newlines when it reads a file.
            (_, Some(lines)) => format!("{header} --data-binary @- <<'END'\n{lines}END"),
            (_, None) => {
                let schema = &media["schema"];
                format!("{header} -d '{}'", self.printed(&self.example(schema), schema))
            }
        }
    }

    /// Returns an example of a body of JSON, of a line of JSON, or of an event.
    pub(super) fn example_response(&self, response: &'a Value) -> Option<String> {
        let (kind, media) = response["content"].as_object()?.iter().next()?;
        let schema = schema_of(response)?;
        let example = media.get("example").cloned().unwrap_or_else(|| self.example(schema));
        Some(match kind.as_str() {
            "application/json" => self.printed(&example, schema),
            "application/x-ndjson" => example.to_string(),
            "text/event-stream" => format!("data: {example}\n\n"),
            _ => return None,
        })
    }

    /// Returns a value of a schema. An object has the properties that are required or have an example.
    fn example(&self, schema: &'a Value) -> Value {
        let schema = non_null(schema);
        let schema =
            if schema.get("example").is_some() { schema } else { self.schemas.resolve(schema) };
        if let Some(given) = schema.get("example").or(schema["examples"].get(0)) {
            return given.clone();
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.example(part));
            let fields = parts.filter_map(|part| part.as_object().cloned()).flatten();
            return Value::Object(fields.collect());
        }
        if let Some(first) = schema["oneOf"].get(0) {
            return self.example(first);
        }
        if let Some(first) = schema["enum"].get(0) {
            return first.clone();
        }
        let kind = schema["type"].as_str().or(schema["type"][0].as_str()).unwrap_or("object");
        match (kind, schema["format"].as_str()) {
            ("array", _) => json!([self.example(&schema["items"])]),
            ("boolean", _) => json!(false),
            ("integer", _) => json!(1),
            ("string", Some("date-time")) => json!("2026-01-31T12:00:00Z"),
            ("string", _) => json!("…"),
            _ => Value::Object(self.example_fields(schema)),
        }
    }

    fn example_fields(&self, schema: &'a Value) -> Map<String, Value> {
        let shown = properties(schema).into_iter().filter(|(name, property)| {
            is_required(schema, name)
                || property.get("example").is_some()
                || property["items"]["$ref"].is_string() && property["type"] == "array"
        });
        shown.map(|(name, property)| (name.clone(), self.example(property))).collect()
    }

    /// Formats a value of a schema, with the fields of objects in the order of the schema.
    fn printed(&self, value: &Value, schema: &'a Value) -> String {
        match value {
            Value::Array(items) => {
                let item = &self.schemas.resolve(non_null(schema))["items"];
                let parts: Vec<_> = items.iter().map(|value| self.printed(value, item)).collect();
                block('[', &parts, ']')
            }
            Value::Object(fields) => {
                let members = self.schemas.members(schema).into_iter();
                let parts = members.filter_map(|(name, property)| {
                    Some(format!("\"{name}\": {}", self.printed(fields.get(name)?, property)))
                });
                block('{', &parts.collect::<Vec<_>>(), '}')
            }
            other => other.to_string(),
        }
    }
}

/// Formats an array or an object; on one line if it is short.
fn block(open: char, parts: &[String], close: char) -> String {
    let line = format!("{open}{}{close}", parts.join(", "));
    if line.len() <= LINE_BYTES_MAX && !line.contains('\n') {
        return line;
    }
    let lines = parts.join(",\n").replace('\n', "\n  ");
    format!("{open}\n  {lines}\n{close}")
}

/// Formats a value for a URL; a list is joined with commas.
pub(super) fn written(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => {
            Some(values.iter().filter_map(written).collect::<Vec<_>>().join(","))
        }
        other => Some(other.to_string()),
    }
}
