//! What the app says of itself in the `OpenAPI` document.

use utoipa::OpenApi;

use super::{api, put, redirect};

#[derive(OpenApi)]
#[openapi(
    paths(
        put::put,
        redirect::follow,
        api::create,
        api::list,
        api::read,
        api::edit,
        api::delete,
        api::clicks,
        api::qr_code,
        api::create_many
    ),
    tags(
        (name = "follow", description = "Making and following a link in one line, without JSON."),
        (name = "links", description = "Everything else about links, in JSON.")
    )
)]
struct Document;

/// The app's part of the `OpenAPI` document.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
