//! What the app says of itself in the `OpenAPI` document.

use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    tags(
        (name = "follow", description = "Making and following a link in one line, without JSON."),
        (name = "links", description = "Everything else about links, in JSON.")
    )
)]
struct Document;

/// What the document says beside the routes.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
