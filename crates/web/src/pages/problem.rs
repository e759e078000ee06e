//! The page that says what went wrong.

use askama::Template;
use http::StatusCode;

use super::{Navigation, rendered, words};
use crate::{edge::request_id::RequestId, error::Problem};

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    status: u16,
    title: &'static str,
    detail: String,
    next: &'static str,
    way_out: (&'static str, &'static str),
    id: &'a str,
}

/// The page that says what went wrong.
pub(crate) fn problem(problem: &Problem, navigation: Navigation, id: &RequestId) -> String {
    let (title, next) = explain(problem.status, navigation);
    let way_out = match problem.status {
        StatusCode::UNAUTHORIZED => ("/login", "Sign in"),
        StatusCode::NOT_FOUND | StatusCode::GONE if navigation.links => ("/new", "Make a link"),
        _ => ("/", "Go to the start page"),
    };
    let page = ErrorPage {
        status: problem.status.as_u16(),
        title,
        detail: words::sentence(&problem.detail),
        next,
        way_out,
        id: id.as_str(),
    };
    rendered(&page, navigation).unwrap_or_else(|_| format!("{} {id}", problem.detail))
}

/// What a status means to a person, and what to do next.
fn explain(status: StatusCode, navigation: Navigation) -> (&'static str, &'static str) {
    match status {
        StatusCode::UNAUTHORIZED => {
            ("This is for people who are signed in", "Sign in, then come back to this page.")
        }
        StatusCode::FORBIDDEN if !navigation.links => {
            ("You cannot do this", "Sign in as somebody who may.")
        }
        StatusCode::FORBIDDEN => (
            "You cannot do this",
            "Sign in as somebody who may. A link of yours opens with its manage key as well.",
        ),
        StatusCode::NOT_FOUND if !navigation.links => {
            ("We cannot find that", "Check the address for a slip of the finger.")
        }
        StatusCode::NOT_FOUND => (
            "We cannot find that",
            "Check the address for a slip of the finger. In short links upper and lower case are different.",
        ),
        StatusCode::METHOD_NOT_ALLOWED => {
            ("That does not work here", "Go back to the page you came from and try from there.")
        }
        StatusCode::CONFLICT => ("Somebody else has it", "Go back and choose another name."),
        StatusCode::GONE => ("This link is over", "Ask whoever gave it to you for a new one."),
        StatusCode::PRECONDITION_FAILED => {
            ("It has changed meanwhile", "Open the page again and repeat what you wanted to do.")
        }
        StatusCode::PAYLOAD_TOO_LARGE => ("That is too much at once", "Send less in one go."),
        StatusCode::TOO_MANY_REQUESTS => {
            ("A little slower, please", "Wait a moment, then try again. Nothing was changed.")
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            ("Not right now", "Wait a few seconds and load the page again.")
        }
        status if status.is_server_error() => (
            "Something broke",
            "It is our fault, not yours. If it happens again, tell whoever runs this site the number below.",
        ),
        _ => ("That did not work", "Go back, check what you entered, and try again."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edge::request_id::RequestIds, pages::check};

    #[test]
    fn every_error_has_a_sound_page() {
        let id = RequestIds::default().next();
        for status in (400..=599).filter_map(|code| StatusCode::from_u16(code).ok()) {
            let wrong = Problem::new(status, "<b>there</b> is no such link");
            let html = problem(&wrong, check::EVERYTHING, &id);
            check::sound(&html);
            assert!(html.contains(id.as_str()) && html.contains("&#60;b&#62;"), "{html}");
        }
    }
}
