//! OpenAPI details of the rides operations that their routes do not declare.

use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{
        Content, Ref, RefOr, Response,
        extensions::{Extensions, ExtensionsBuilder},
        path::Operation,
    },
};

use super::dto::{EventJson, LineJson, MessageJson};
use crate::{api_docs::outline::LINE_SCHEMA, routes::may_fail};

const ND_JSON: &str = "application/x-ndjson";

/// The app's title in the API documentation.
pub(super) const APP: &str = "Lift rides";

/// The tags with their descriptions.
pub(super) const TAGS: [(&str, &str); 3] = [
    ("skiers", "Rides of one skier, by the course's published API."),
    ("resorts", "Resorts and their seasons, by the course's published API."),
    ("rides", "Batches, search, leaderboards, export and live counts."),
];

/// Adds the schema of a line to bodies of JSON lines.
pub(super) fn lines(operation: &mut Operation) {
    if let Some(RefOr::T(body)) = &mut operation.request_body
        && let Some(RefOr::T(content)) = body.content.get_mut(ND_JSON)
    {
        content.extensions = Some(each_line_is(&EventJson::name()));
    }
    for response in operation.responses.responses.values_mut().filter_map(inline) {
        if let Some(RefOr::T(content)) = response.content.get_mut(ND_JSON) {
            content.extensions = Some(each_line_is(&LineJson::name()));
        }
    }
}

fn each_line_is(schema: &str) -> Extensions {
    let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
    ExtensionsBuilder::new().add(LINE_SCHEMA, schema).build()
}

fn inline(response: &mut RefOr<Response>) -> Option<&mut Response> {
    match response {
        RefOr::T(response) => Some(response),
        RefOr::Ref(_) => None,
    }
}

/// Adds the failures of every operation, and the schema of errors.
pub(super) fn failures(operation: &mut Operation) {
    may_fail(operation, &[("500", "Internal error"), ("503", "Retry later; see Retry-After")]);
    if operation.request_body.is_some() {
        may_fail(
            operation,
            &[
                ("403", "A page of another site sent the request"),
                ("408", "The body took too long to arrive"),
                ("413", "The body is too large"),
            ],
        );
    }
    let responses = operation.responses.responses.iter_mut();
    let failures = responses.filter(|(status, _)| status.as_str() >= "400");
    for response in failures.filter_map(|(_, response)| inline(response)) {
        let message = Content::new(Some(Ref::from_schema_name(MessageJson::name())));
        response.content.entry("application/json".to_owned()).or_insert(message.into());
    }
}
