//! What the app says of itself in the `OpenAPI` document.

use utoipa::OpenApi;

use super::{api, batch, course, export, live, search};

#[derive(OpenApi)]
#[openapi(
    paths(
        course::ride,
        course::skier_day,
        course::vertical,
        course::resort_day,
        course::resorts,
        course::seasons,
        batch::record,
        api::leaderboard,
        api::lifts,
        api::hours,
        search::search,
        export::season_csv,
        live::live,
        api::resorts,
        api::ledger
    ),
    tags(
        (name = "course", description = "Lift rides, as the course has published them. Errors are `{\"message\": …}`."),
        (name = "rides", description = "Everything else about lift rides. Errors are `{\"message\": …}`, too.")
    )
)]
struct Document;

/// The app's part of the `OpenAPI` document.
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
