//! The `OpenAPI` document as groups of operations, each with its fields and an example, for the page.

use std::{collections::HashSet, iter};

use serde_json::Value;

/// The extension with the schema of one line, for bodies of lines; the schema of the body does not describe it.
pub(crate) const LINE_SCHEMA: &str = "x-line-schema";

/// The operations of one tag.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) operations: Vec<Operation>,
}

/// An operation: method and path.
pub(super) struct Operation {
    /// The anchor on the page.
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) title: String,
    pub(super) about: String,
    /// The accepted keys, in words.
    pub(super) keys: &'static str,
    pub(super) parameters: Vec<Field>,
    pub(super) body: Vec<Field>,
    pub(super) answers: Vec<Answer>,
    pub(super) curl: String,
}

/// A parameter, or a field of a body.
pub(super) struct Field {
    pub(super) name: String,
    /// The location of a parameter, or the type of a field.
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) about: String,
}

/// A response.
pub(super) struct Answer {
    pub(super) status: String,
    pub(super) about: String,
    pub(super) fields: Vec<Field>,
}

/// Returns the names of the security schemes in use.
pub(super) fn keys_used(document: &Value) -> HashSet<&str> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(_, methods)| methods.as_object().into_iter().flatten());
    let ways = operations.filter_map(|(_, operation)| operation["security"].as_array()).flatten();
    ways.flat_map(|way| way.as_object().into_iter().flatten()).map(|(name, _)| &**name).collect()
}

/// Returns the descriptions of the security schemes.
pub(super) fn keys(document: &Value) -> Vec<String> {
    let schemes = document["components"]["securitySchemes"].as_object().into_iter().flatten();
    schemes.map(|(_, scheme)| text(&scheme["description"])).collect()
}

/// Returns the groups in tag order, with their operations in path order.
pub(super) fn groups(document: &Value, base_url: &str) -> Vec<Group> {
    let tags = document["tags"].as_array().map_or(&[][..], Vec::as_slice);
    let groups = tags.iter().map(|tag| Group {
        name: text(&tag["name"]),
        about: text(&tag["description"]),
        operations: operations(document, &tag["name"], base_url),
    });
    groups.collect()
}

fn operations(document: &Value, tag: &Value, base_url: &str) -> Vec<Operation> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, methods)| {
        methods
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(method, operation)| (path, method, operation))
    });
    let tagged = all.filter(|(_, _, operation)| {
        operation["tags"].as_array().is_some_and(|tags| tags.contains(tag))
    });
    tagged
        .map(|(path, method, operation)| {
            Reader { document, operation }.operation(path, method, base_url)
        })
        .collect()
}

struct Reader<'a> {
    document: &'a Value,
    operation: &'a Value,
}

impl<'a> Reader<'a> {
    fn operation(&self, path: &str, method: &str, base_url: &str) -> Operation {
        let body = self.schema_of(&self.operation["requestBody"]);
        Operation {
            id: text(&self.operation["operationId"]),
            method: method.to_uppercase(),
            path: path.to_owned(),
            title: text(&self.operation["summary"]).trim_end_matches('.').to_owned(),
            about: text(&self.operation["description"]),
            keys: self.keys(method),
            parameters: self.parameters(),
            body: self.fields(body),
            answers: self.answers(),
            curl: self.curl(path, method, base_url),
        }
    }

    /// Returns whether no key is needed, and whether each of the schemes `names` is accepted.
    fn ways<const N: usize>(&self, names: [&str; N]) -> (bool, [bool; N]) {
        let Some(ways) = self.operation["security"].as_array() else { return (true, [false; N]) };
        let open = ways.iter().any(|way| way.as_object().is_some_and(serde_json::Map::is_empty));
        (open, names.map(|name| ways.iter().any(|way| way.get(name).is_some())))
    }

    fn keys(&self, method: &str) -> &'static str {
        match (self.ways(["gate"]), method) {
            ((true, [true]), "get") => {
                return "No key needed; with a gate's key the response has more details on the events of the gate.";
            }
            ((true, [true]), _) => {
                return "With a gate's key the rides belong to the gate; whether the key is required depends on the server.";
            }
            _ => {}
        }
        match self.ways(["api_key", "manage_key", "session"]) {
            (true, [true, true, _]) => {
                "No key needed; with the link's manage key, or its owner's API key or session, the response has more fields."
            }
            (true, [true, false, _]) => {
                "With an API key or a session the link is yours; whether one is required depends on the server."
            }
            (false, [true, true, _]) => {
                "Needs the link's manage key, or its owner's API key or session."
            }
            (false, [true, false, _]) => "Needs an API key or a session.",
            (false, [false, false, true]) => "Needs a session.",
            _ => "",
        }
    }

    fn parameters(&self) -> Vec<Field> {
        let field = |parameter: &'a Value| Field {
            name: text(&parameter["name"]),
            kind: text(&parameter["in"]),
            required: parameter["required"] == true,
            about: self.about_parameter(parameter),
        };
        self.all_parameters().map(field).collect()
    }

    fn all_parameters(&self) -> impl Iterator<Item = &'a Value> {
        self.operation["parameters"].as_array().into_iter().flatten()
    }

    /// Describes a parameter and gives an example.
    fn about_parameter(&self, parameter: &'a Value) -> String {
        let example = written(&parameter["example"]).map(|example| format!("such as `{example}`"));
        let said = self.about(&parameter["description"], &parameter["schema"]);
        let parts = [Some(said).filter(|said| !said.is_empty()), example];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Returns a description with the values of an enum, if any.
    fn about(&self, said: &'a Value, schema: &'a Value) -> String {
        let schema = self.resolve(self.item(schema).unwrap_or(schema));
        let names = schema["enum"].as_array().into_iter().flatten();
        let names = names.map(|name| format!("`{}`", text(name))).collect::<Vec<_>>().join(", ");
        let said = text(said);
        match (said.trim_end_matches('.'), names.as_str()) {
            (_, "") => said,
            ("", names) => names.to_owned(),
            (said, names) => format!("{said}: {names}"),
        }
    }

    /// Returns the item schema of an array.
    fn item(&self, schema: &'a Value) -> Option<&'a Value> {
        self.resolve(schema).get("items")
    }

    fn answers(&self) -> Vec<Answer> {
        let answers = self.operation["responses"].as_object().into_iter().flatten();
        let answer = |(status, answer): (&String, &'a Value)| {
            // All failures of a group have one format, described with the group.
            let schema = self.schema_of(answer).filter(|_| status.as_str() < "400");
            let said = schema.map_or(&Value::Null, |schema| &schema["description"]);
            let media = answer["content"].as_object().and_then(|content| content.keys().next());
            let about =
                [text(&answer["description"]), text(said), media.cloned().unwrap_or_default()];
            let about = about.into_iter().find(|about| !about.is_empty()).unwrap_or_default();
            Answer { status: status.clone(), about, fields: self.fields(schema) }
        };
        answers.map(answer).collect()
    }

    /// Returns the schema of a body, or of each of its lines, for any media type.
    fn schema_of(&self, body: &'a Value) -> Option<&'a Value> {
        let media = body["content"].as_object()?.values().next()?;
        let schema = media.get(LINE_SCHEMA).or_else(|| media.get("schema"))?;
        Some(self.resolve(schema))
    }

    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let target = schema["$ref"]
            .as_str()
            .and_then(|path| self.document.pointer(path.trim_start_matches('#')));
        target.unwrap_or(schema)
    }

    /// Returns the fields of an object, including those of composed and nested schemas.
    fn fields(&self, schema: Option<&'a Value>) -> Vec<Field> {
        schema.map_or_else(Vec::new, |schema| self.fields_below("", schema))
    }

    /// The same, with the prefix `place` before the names.
    fn fields_below(&self, place: &str, schema: &'a Value) -> Vec<Field> {
        let schema = self.resolve(schema);
        let parts = ["allOf", "oneOf"].iter().filter_map(|name| schema[name].as_array()).flatten();
        let inherited = parts.flat_map(|part| self.fields_below(place, part));
        let own = properties(schema).into_iter().flat_map(|(name, property)| {
            let field = Field {
                name: format!("{place}{name}"),
                kind: self.kind(property),
                required: is_required(schema, name),
                about: self.about(&property["description"], property),
            };
            let inner = match self.item(property) {
                Some(item) => self.fields_below(&format!("{place}{name}[]."), item),
                None => self.fields_below(&format!("{place}{name}."), property),
            };
            iter::once(field).chain(inner)
        });
        inherited.chain(own).collect()
    }

    fn kind(&self, property: &'a Value) -> String {
        let property = self.resolve(property);
        let named = match &property["type"] {
            Value::String(name) => name.clone(),
            Value::Array(names) => names.iter().map(text).collect::<Vec<_>>().join(" or "),
            _ => "object".to_owned(),
        };
        if named.starts_with("array") {
            format!("array of {}s", self.kind(&property["items"]))
        } else {
            named
        }
    }

    /// Returns a curl command with the examples of the document.
    fn curl(&self, path: &str, method: &str, base_url: &str) -> String {
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
            (_, None) => format!("{header} -d '{}'", self.example(&media["schema"])),
        }
    }

    /// Returns an object of the properties that are required or have an example.
    fn example(&self, schema: &'a Value) -> String {
        let schema = self.resolve(schema);
        if schema["type"] == "array" {
            return format!("[{}]", self.example(&schema["items"]));
        }
        let example = |(name, property): (&String, &'a Value)| {
            let property = self.resolve(property);
            let given = property.get("example").or_else(|| property["examples"].get(0));
            let is_list = property["type"] == "array" && property["items"]["$ref"].is_string();
            let shown = given.map(Value::to_string);
            let shown = shown.or_else(|| is_list.then(|| self.example(property)));
            let shown = shown.or_else(|| is_required(schema, name).then(|| "\"…\"".to_owned()))?;
            Some(format!("\"{name}\":{shown}"))
        };
        let shown: Vec<_> = properties(schema).into_iter().filter_map(example).collect();
        format!("{{{}}}", shown.join(","))
    }
}

/// Returns the properties of an object, required ones first.
fn properties(schema: &Value) -> Vec<(&String, &Value)> {
    let mut properties: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| !is_required(schema, name));
    properties
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
}

/// Splits text at backticks; the flag marks code.
pub(super) fn prose(text: &str) -> Vec<(bool, &str)> {
    text.split('`').enumerate().map(|(index, part)| (index % 2 == 1, part)).collect()
}

/// Formats a value for a URL; a list is joined with commas.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => {
            Some(values.iter().filter_map(written).collect::<Vec<_>>().join(","))
        }
        other => Some(other.to_string()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
