//! The `OpenAPI` document as apps with groups of operations, each with its fields and examples, for the page.

use std::collections::{BTreeMap, HashSet};

use http::StatusCode;
use serde_json::Value;

use super::{
    examples::written,
    schemas::{Field, Schemas},
};
use crate::routes::TAG_APP;

/// The extension with the schema of one line, for bodies of lines; the schema of the body does not describe it.
pub(crate) const LINE_SCHEMA: &str = "x-line-schema";

/// The groups of one app.
pub(super) struct App {
    /// The anchor on the page.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) groups: Vec<Group>,
}

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
    /// In lower case.
    pub(super) method: String,
    pub(super) path: String,
    pub(super) title: String,
    /// Paragraphs.
    pub(super) about: Vec<String>,
    /// The accepted keys, in words.
    pub(super) keys: &'static str,
    pub(super) parameters: Vec<Field>,
    pub(super) body: Vec<Field>,
    pub(super) answers: Vec<Answer>,
    pub(super) curl: String,
    /// A response that reports success.
    pub(super) example: Option<String>,
}

/// A response.
pub(super) struct Answer {
    pub(super) status: String,
    /// The reason phrase.
    pub(super) reason: &'static str,
    /// Empty if it says no more than the reason phrase.
    pub(super) about: String,
    /// The schema of the body that has an entry.
    pub(super) schema: Option<String>,
    pub(super) fields: Vec<Field>,
}

/// Returns the names of the security schemes in use.
pub(super) fn keys_used(document: &Value) -> HashSet<&str> {
    let ways =
        operations(document).filter_map(|(.., found)| found["security"].as_array()).flatten();
    ways.flat_map(|way| way.as_object().into_iter().flatten()).map(|(name, _)| &**name).collect()
}

/// Returns the descriptions of the security schemes.
pub(super) fn keys(document: &Value) -> Vec<String> {
    let schemes = document["components"]["securitySchemes"].as_object().into_iter().flatten();
    schemes.map(|(_, scheme)| text(&scheme["description"])).collect()
}

/// Returns the statuses in use, with their reason phrases and meanings.
pub(super) fn statuses(document: &Value) -> BTreeMap<&str, (&'static str, &'static str)> {
    let answers = operations(document).filter_map(|(.., found)| found["responses"].as_object());
    let statuses = answers.flat_map(serde_json::Map::keys);
    statuses.map(|status| (status.as_str(), (reason(status), meaning(status)))).collect()
}

/// Returns the meaning of a status in all operations.
fn meaning(status: &str) -> &'static str {
    match status {
        "200" => "The request succeeded.",
        "201" => "Created and stored.",
        "204" => "The request succeeded, and the response has no body.",
        "307" => "The target is in the header `Location`.",
        "400" => "The request is invalid. The error names the wrong field.",
        "401" => "A key or a session is missing, unknown, expired or revoked.",
        "403" => "The key or the session does not permit this.",
        "404" => "The resource does not exist.",
        "408" => "The body took too long to arrive.",
        "409" => "A name is taken, or a limit is reached.",
        "410" => "The resource was deleted or has expired.",
        "412" => "The version in `If-Match` is out of date.",
        "413" => "The body is too large.",
        "415" => "The body has the wrong type.",
        "422" => "The `Idempotency-Key` or `client_id` was used for another request.",
        "429" => "Too many requests. Wait for the time in `Retry-After`.",
        "500" => "The server failed. Its log has the cause, under the id of the request.",
        "503" => {
            "Temporarily unavailable. Send the same request again after the time in `Retry-After`."
        }
        _ => "",
    }
}

fn reason(status: &str) -> &'static str {
    let status = status.parse::<StatusCode>().ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or_default()
}

/// Returns the apps in tag order, with their operations in path order.
pub(super) fn apps(document: &Value, schemas: &Schemas<'_>, base_url: &str) -> Vec<App> {
    let tags = document["tags"].as_array().map_or(&[][..], Vec::as_slice);
    let group = |tag: &Value| Group {
        name: text(&tag["name"]),
        about: text(&tag["description"]),
        operations: operations(document)
            .filter(|(.., found)| {
                found["tags"].as_array().is_some_and(|tags| tags.contains(&tag["name"]))
            })
            .map(|(path, method, operation)| {
                Reader { schemas, operation }.operation(path, method, base_url)
            })
            .collect(),
    };
    let apps = tags.chunk_by(|tag, next| tag[TAG_APP] == next[TAG_APP]);
    let app = |tags: &[Value]| {
        let name = text(&tags[0][TAG_APP]);
        let id = name.to_lowercase().replace(' ', "-");
        App { id, name, groups: tags.iter().map(group).collect() }
    };
    apps.map(app).collect()
}

/// Iterates over paths, methods and operations.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

pub(super) struct Reader<'a> {
    pub(super) schemas: &'a Schemas<'a>,
    pub(super) operation: &'a Value,
}

impl<'a> Reader<'a> {
    fn operation(&self, path: &str, method: &str, base_url: &str) -> Operation {
        let body = schema_of(&self.operation["requestBody"]);
        let about = text(&self.operation["description"]);
        Operation {
            id: text(&self.operation["operationId"]),
            method: method.to_owned(),
            path: path.to_owned(),
            title: text(&self.operation["summary"]).trim_end_matches('.').to_owned(),
            about: about.split("\n\n").filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            keys: self.keys(method),
            parameters: self.parameters(),
            body: body.map_or_else(Vec::new, |schema| self.schemas.fields(schema)),
            answers: self.responses().map(|(status, answer)| self.answer(status, answer)).collect(),
            curl: self.curl(path, method, base_url),
            example: self
                .responses()
                .filter(|(status, _)| *status < "400")
                .filter_map(|(_, answer)| self.example_response(answer))
                .last(),
        }
    }

    /// Returns whether no key is needed, and whether each of the schemes `names` is accepted.
    pub(super) fn ways<const N: usize>(&self, names: [&str; N]) -> (bool, [bool; N]) {
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
        match self.ways(["api_key", "manage_key", "session", "bot"]) {
            (true, [true, true, ..]) => {
                "No key needed; with the link's manage key, or its owner's API key or session, the response has more fields."
            }
            (true, [true, false, ..]) => {
                "With an API key or a session the link is yours; whether one is required depends on the server."
            }
            (false, [true, true, ..]) => {
                "Needs the link's manage key, or its owner's API key or session."
            }
            (false, [true, false, ..]) => "Needs an API key or a session.",
            (false, [false, false, true, true]) => "Needs a session or a bot's key.",
            (false, [false, false, true, false]) => "Needs a session.",
            _ => "",
        }
    }

    fn parameters(&self) -> Vec<Field> {
        let field = |parameter: &'a Value| Field {
            name: text(&parameter["name"]),
            kind: text(&parameter["in"]),
            schema: None,
            required: parameter["required"] == true,
            about: self.about_parameter(parameter),
        };
        self.all_parameters().map(field).collect()
    }

    pub(super) fn all_parameters(&self) -> impl Iterator<Item = &'a Value> {
        self.operation["parameters"].as_array().into_iter().flatten()
    }

    /// Describes a parameter and gives an example.
    fn about_parameter(&self, parameter: &'a Value) -> String {
        let example = written(&parameter["example"]).map(|example| format!("such as `{example}`"));
        let said = self.schemas.about(parameter);
        let parts = [Some(said).filter(|said| !said.is_empty()), example];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn responses(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let answers = self.operation["responses"].as_object().into_iter().flatten();
        answers.map(|(status, answer)| (status.as_str(), answer))
    }

    fn answer(&self, status: &str, answer: &'a Value) -> Answer {
        let media = answer["content"].as_object().and_then(|content| content.iter().next());
        // All failures have one of two formats, which the introduction describes.
        let media = media.filter(|_| status < "400");
        let schema = schema_of(answer).filter(|_| status < "400");
        let said =
            schema.map_or(&Value::Null, |schema| &self.schemas.resolve(schema)["description"]);
        let about = [
            text(&answer["description"]),
            text(said),
            media.map(|(kind, _)| kind.clone()).unwrap_or_default(),
        ];
        let reason = reason(status);
        let about = about.into_iter().find(|about| !about.is_empty() && about != reason);
        let entry = schema.and_then(|schema| self.schemas.entry(schema));
        let fields = schema.filter(|_| entry.is_none()).map(|schema| self.schemas.fields(schema));
        Answer {
            status: status.to_owned(),
            reason,
            about: about.unwrap_or_default(),
            schema: entry,
            fields: fields.unwrap_or_default(),
        }
    }
}

/// Returns the schema of a body, or of each of its lines, for any media type.
pub(super) fn schema_of(body: &Value) -> Option<&Value> {
    let media = body["content"].as_object()?.values().next()?;
    media.get(LINE_SCHEMA).or_else(|| media.get("schema"))
}

/// Splits text at backticks; the flag marks code.
pub(super) fn prose(text: &str) -> Vec<(bool, &str)> {
    text.split('`').enumerate().map(|(index, part)| (index % 2 == 1, part)).collect()
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
