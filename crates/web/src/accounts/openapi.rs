//! What the app says of itself in the `OpenAPI` document.

use utoipa::OpenApi;

use super::{api, picture, providers};

#[derive(OpenApi)]
#[openapi(
    paths(
        api::sign_up,
        api::sign_in,
        api::sign_out,
        api::reset_password,
        api::me,
        api::edit,
        api::change_password,
        api::sessions,
        api::end_session,
        api::sign_out_everywhere,
        api::export,
        api::delete,
        api::user,
        providers::api::providers,
        providers::api::mine,
        providers::api::unlink,
        picture::put,
        picture::take_away,
        picture::get
    ),
    tags((name = "accounts", description = "People: making an account, signing in, and what is one's own."))
)]
struct Document;

/// The app's part of the `OpenAPI` document.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
