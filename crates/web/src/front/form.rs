//! The formats of an error: RFC 9457 problem details, a page, or a message.

use axum::{body::Body, response::Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::{
    edge::request_id::RequestId,
    error::{Problem, ProblemDetails},
    pages::{self, Navigation, Page, Subject},
};

/// The format of an error body.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProblemFormat {
    /// An HTML page.
    Page(Subject),
    /// RFC 9457 problem details.
    Details,
    /// `{"message": …}`, as the published API of lift rides defines it.
    Message,
}

#[derive(Serialize)]
struct Message<'a> {
    message: &'a str,
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Writes the body of an error. Headers that the route has set stay.
pub(super) fn render(
    problem: &Problem,
    response: Response,
    form: ProblemFormat,
    navigation: &Navigation,
    id: &RequestId,
) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.status = problem.status;
    if problem.status == StatusCode::UNAUTHORIZED {
        parts.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    problem.say_when(&mut parts.headers);
    let (kind, body) = match form {
        ProblemFormat::Page(subject) => {
            let html = pages::problem(problem, navigation, subject, id);
            parts.extensions.insert(Page::new(&html));
            return Response::from_parts(parts, Body::empty());
        }
        ProblemFormat::Details => (PROBLEM_JSON, details(problem, id)),
        ProblemFormat::Message => (JSON, message(problem)),
    };
    parts.headers.insert(header::CONTENT_TYPE, kind);
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, body.into())
}

fn details(problem: &Problem, id: &RequestId) -> String {
    let details = ProblemDetails {
        r#type: "about:blank",
        title: problem.title(),
        status: problem.status.as_u16(),
        detail: &problem.detail,
        field: problem.field.as_deref(),
        request_id: id.as_str(),
    };
    serde_json::to_string(&details).unwrap_or_default()
}

fn message(problem: &Problem) -> String {
    serde_json::to_string(&Message { message: &problem.detail }).unwrap_or_default()
}
