//! What is said of passes in the `OpenAPI` document.

use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    tags((name = "passes", description = "Skiers' numbers that are one's own, by the code on the pass."))
)]
struct Document;

/// What the document says beside the routes.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
