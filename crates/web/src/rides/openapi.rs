//! What the app says of itself in the `OpenAPI` document.

use serde_json::json;
use utoipa::{
    Modify, OpenApi, ToSchema,
    openapi::{
        self, Content, Ref, RefOr, Response,
        extensions::{Extensions, ExtensionsBuilder},
        path::Operation,
    },
};

use super::dto::{DimensionJson, EventJson, LineJson, MessageJson};
use crate::api_docs::outline::LINE_SCHEMA;

const ND_JSON: &str = "application/x-ndjson";

#[derive(OpenApi)]
#[openapi(
    components(schemas(MessageJson, DimensionJson, EventJson, LineJson)),
    tags(
        (name = "skiers", description = "Rides of skiers, as the course has published them. Errors are `{\"message\": …}`, whatever the path below /skiers; another method than those here is answered with 405."),
        (name = "resorts", description = "Resorts and their seasons, as the course has published them. Errors are `{\"message\": …}`, whatever the path below /resorts; another method than those here is answered with 405."),
        (name = "rides", description = "Everything else about lift rides. Errors are `{\"message\": …}`, too.")
    )
)]
struct Document;

/// What the document says beside the routes.
pub(super) fn document() -> openapi::OpenApi {
    Document::openapi()
}

/// What each line is of bodies that are lines.
pub(super) struct Lines;

impl Modify for Lines {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for operation in document.paths.paths.values_mut().filter_map(|item| item.post.as_mut()) {
            if let Some(RefOr::T(body)) = &mut operation.request_body
                && let Some(RefOr::T(content)) = body.content.get_mut(ND_JSON)
            {
                content.extensions = Some(each_line_is(&EventJson::name()));
            }
            for response in operation.responses.responses.values_mut() {
                if let RefOr::T(response) = response
                    && let Some(RefOr::T(content)) = response.content.get_mut(ND_JSON)
                {
                    content.extensions = Some(each_line_is(&LineJson::name()));
                }
            }
        }
    }
}

fn each_line_is(schema: &str) -> Extensions {
    let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
    ExtensionsBuilder::new().add(LINE_SCHEMA, schema).build()
}

/// What can fail with every operation, and the form in which it is told.
pub(super) struct Failures;

impl Modify for Failures {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for item in document.paths.paths.values_mut() {
            [&mut item.get, &mut item.post].into_iter().flatten().for_each(describe);
        }
    }
}

fn describe(operation: &mut Operation) {
    let responses = &mut operation.responses.responses;
    let mut also = |status: &str, words: &str| {
        responses.entry(status.to_owned()).or_insert_with(|| Response::new(words).into());
    };
    also("500", "Something went wrong here");
    also("503", "Try again; see Retry-After");
    if operation.request_body.is_some() {
        also("403", "A page of another site sent it");
        also("408", "The body took too long to arrive");
        also("413", "The body is larger than is taken here");
    }
    let failures = responses.iter_mut().filter(|(status, _)| status.as_str() >= "400");
    for response in failures.filter_map(|(_, response)| match response {
        RefOr::T(response) => Some(response),
        RefOr::Ref(_) => None,
    }) {
        let message = Content::new(Some(Ref::from_schema_name(MessageJson::name())));
        response.content.entry("application/json".to_owned()).or_insert(message.into());
    }
}
