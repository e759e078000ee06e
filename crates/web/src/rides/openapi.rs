//! What is said of operations on rides beside their routes.

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

/// The groups that they are in.
pub(super) const TAGS: [(&str, &str); 3] = [
    (
        "skiers",
        "Rides of skiers, as the course has published them. Errors are `{\"message\": …}`, whatever the path below /skiers; another method than those here is answered with 405.",
    ),
    (
        "resorts",
        "Resorts and their seasons, as the course has published them. Errors are `{\"message\": …}`, whatever the path below /resorts; another method than those here is answered with 405.",
    ),
    ("rides", "Everything else about lift rides. Errors are `{\"message\": …}`, too."),
];

/// What each line is of bodies that are lines.
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

/// What can fail with every operation, and the form in which it is told.
pub(super) fn failures(operation: &mut Operation) {
    may_fail(
        operation,
        &[("500", "Something went wrong here"), ("503", "Try again; see Retry-After")],
    );
    if operation.request_body.is_some() {
        may_fail(
            operation,
            &[
                ("403", "A page of another site sent it"),
                ("408", "The body took too long to arrive"),
                ("413", "The body is larger than is taken here"),
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
