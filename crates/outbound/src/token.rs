//! The exchange of a code for a token, and its errors.

use http::StatusCode;
use lodge_domain::Error;
use oauth2::{RequestTokenError, basic::BasicErrorResponse};
use openidconnect::{HttpRequest, HttpResponse};
use serde_json::Value;

use crate::{
    log_text,
    web::{HttpClient, RequestError},
};

/// The error for a code that was not accepted; it does not say whether the code was used, expired or forged.
pub(crate) const SIGN_IN_NOT_CONFIRMED: Error =
    Error::forbidden("the provider did not confirm this sign-in; start again");

/// Requests a token. Some providers, GitHub for one, answer errors with status 200; these become 400.
pub(crate) async fn ask(
    web: HttpClient,
    request: HttpRequest,
) -> Result<HttpResponse, RequestError> {
    web.send(request).await.map(as_meant)
}

fn as_meant(mut response: HttpResponse) -> HttpResponse {
    if response.status() == StatusCode::OK && is_refusal(response.body()) {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    response
}

fn is_refusal(body: &[u8]) -> bool {
    let said = serde_json::from_slice::<Value>(body);
    said.is_ok_and(|said| said.get("error").is_some_and(Value::is_string))
}

/// Converts the error of a token request.
pub(crate) fn refused(
    issuer: &str,
    error: RequestTokenError<RequestError, BasicErrorResponse>,
) -> Error {
    match error {
        RequestTokenError::ServerResponse(answer) => match answer.error().as_ref() {
            "invalid_grant" | "bad_verification_code" => SIGN_IN_NOT_CONFIRMED,
            "invalid_request" => {
                tracing::warn!(issuer, "a provider answered invalid_request to a visitor's code");
                SIGN_IN_NOT_CONFIRMED
            }
            // Other errors are about our configuration, not about the visitor.
            "incorrect_client_credentials" => client_refused(issuer, "invalid_client"),
            kind => client_refused(issuer, kind),
        },
        RequestTokenError::Request(error) => Error::unavailable(log_text::chain(&error)),
        // An unreadable response may contain a token, so it is not logged.
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            Error::unavailable(format!("{issuer} answered without a token"))
        }
    }
}

fn client_refused(issuer: &str, kind: &str) -> Error {
    Error::internal(format!("{issuer} refuses our client: {}", log_text::cut(kind)))
}

#[cfg(test)]
mod tests {
    use http::Response;
    use serde_json::json;

    use super::*;

    fn answered(status: u16, body: &Value) -> HttpResponse {
        Response::builder().status(status).body(body.to_string().into_bytes()).unwrap()
    }

    /// The error after a provider's refusal of this kind.
    fn refused_as(kind: &str) -> Error {
        let answer = serde_json::from_value(json!({ "error": kind })).unwrap();
        refused("https://id.example.org", RequestTokenError::ServerResponse(answer))
    }

    /// The cause that is logged for an error.
    fn cause(error: &Error) -> String {
        std::error::Error::source(error).unwrap().to_string()
    }

    #[test]
    fn an_error_with_status_200_is_a_refusal() {
        for (status, body, meant) in [
            (200, json!({ "error": "bad_verification_code" }), 400),
            (200, json!({ "error": "x", "access_token": "y" }), 400),
            (200, json!({ "access_token": "y", "error": null }), 200),
            (200, json!({ "access_token": "y" }), 200),
            (200, json!(["error"]), 200),
            (200, json!("error"), 200),
            (500, json!({ "error": "x" }), 500),
        ] {
            assert_eq!(as_meant(answered(status, &body)).status(), meant, "{body}");
        }
        let no_json = Response::new(b"error=bad_verification_code".to_vec());
        assert_eq!(as_meant(no_json).status(), 200);
    }

    #[test]
    fn a_wrong_code_is_forbidden_and_a_wrong_client_an_internal_error() {
        for kind in ["invalid_grant", "bad_verification_code", "invalid_request"] {
            assert!(matches!(refused_as(kind), Error::Forbidden(_)), "{kind}");
        }
        for (kind, said) in [
            ("invalid_client", "refuses our client: invalid_client"),
            ("incorrect_client_credentials", "refuses our client: invalid_client"),
            ("redirect_uri_mismatch", "refuses our client: redirect_uri_mismatch"),
        ] {
            let error = refused_as(kind);
            assert!(matches!(error, Error::Internal(_)), "{kind}");
            assert!(cause(&error).ends_with(said), "{kind}");
        }
    }

    #[test]
    fn a_providers_errors_are_cut_short_in_the_log() {
        let error = cause(&refused_as(&format!("x\n{}", "y".repeat(100_000))));
        assert!(error.len() < 300 && !error.contains('\n'), "{error}");
    }
}
