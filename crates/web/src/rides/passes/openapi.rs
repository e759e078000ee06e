//! What is said of passes in the `OpenAPI` document.

use utoipa::OpenApi;

use super::api;

#[derive(OpenApi)]
#[openapi(
    paths(api::list, api::claim, api::edit, api::release),
    tags((name = "passes", description = "Skiers' numbers that are one's own, by the code on the pass."))
)]
struct Document;

/// Their part of the `OpenAPI` document.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
