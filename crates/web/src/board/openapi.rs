//! What the app says of itself in the `OpenAPI` document.

use utoipa::{
    Modify, OpenApi,
    openapi::{self, Response},
};

#[derive(OpenApi)]
#[openapi(
    tags((name = "board", description = "The message board: channels, what people write there, and what happens, told while it does."))
)]
struct Document;

/// What the document says beside the routes.
pub(super) fn document() -> openapi::OpenApi {
    Document::openapi()
}

/// What can fail with every operation.
pub(super) struct Failures;

impl Modify for Failures {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for item in document.paths.paths.values_mut() {
            let operations =
                [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
            for operation in operations.into_iter().flatten() {
                for (status, words) in [
                    ("401", "The session or the bot's key is not known, or has ended"),
                    ("403", "You are banned from the board"),
                ] {
                    let responses = &mut operation.responses.responses;
                    responses
                        .entry(status.to_owned())
                        .or_insert_with(|| Response::new(words).into());
                }
            }
        }
    }
}
