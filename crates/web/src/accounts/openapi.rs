//! What the app says of itself in the `OpenAPI` document.

use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(
    tags((name = "accounts", description = "People: making an account, signing in, and what is one's own."))
)]
struct Document;

/// What the document says beside the routes.
pub(super) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
