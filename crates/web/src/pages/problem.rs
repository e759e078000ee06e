//! The error page.

use askama::Template;
use http::StatusCode;

use super::{Navigation, rendered, words};
use crate::{
    edge::{cross_site, request_id::RequestId},
    error::Problem,
};

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

/// The app that an error page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Links,
    Board,
    Rides,
    Other,
}

/// Renders the error page, without its header.
pub(crate) fn problem(
    problem: &Problem,
    navigation: &Navigation,
    subject: Subject,
    id: &RequestId,
) -> String {
    let (title, next) = match problem.detail.as_str() {
        cross_site::REFUSED => {
            ("Request refused", "Open the form on this site and send it from there.")
        }
        _ => explain(problem.status, subject),
    };
    let way_out = match (problem.status, subject) {
        (StatusCode::UNAUTHORIZED, _) => ("/login", "Sign in"),
        (StatusCode::NOT_FOUND | StatusCode::GONE, Subject::Links) => ("/new", "Create a link"),
        // A banned account would be refused on the board again.
        (StatusCode::FORBIDDEN, Subject::Board) => ("/account", "Go to your account"),
        (_, Subject::Board) => ("/board", "Go to the board"),
        (StatusCode::NOT_FOUND, Subject::Rides) => ("/rides", "Go to the lift rides"),
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

/// Returns the title and the advice for a status.
fn explain(status: StatusCode, subject: Subject) -> (&'static str, &'static str) {
    match status {
        StatusCode::UNAUTHORIZED => ("Please sign in", "Sign in, then come back to this page."),
        StatusCode::FORBIDDEN if subject == Subject::Links => (
            "You do not have permission",
            "Sign in with an account that has permission. You can also open your link with its manage key.",
        ),
        StatusCode::FORBIDDEN if subject == Subject::Board => (
            "You do not have permission",
            "Your account page shows which account you are signed in to.",
        ),
        StatusCode::FORBIDDEN => {
            ("You do not have permission", "Sign in with an account that has permission.")
        }
        StatusCode::NOT_FOUND if subject == Subject::Links => (
            "Page not found",
            "Check the address for typing errors. Short links distinguish upper and lower case.",
        ),
        StatusCode::NOT_FOUND => ("Page not found", "Check the address for typing errors."),
        StatusCode::METHOD_NOT_ALLOWED => {
            ("Method not allowed", "Go back to the previous page and try again from there.")
        }
        StatusCode::CONFLICT if subject == Subject::Board => {
            ("Not possible", "Nothing was changed.")
        }
        StatusCode::CONFLICT => ("Already taken", "Go back and choose another name."),
        StatusCode::GONE if subject == Subject::Links => {
            ("This link no longer works", "Ask the person who shared it for a new one.")
        }
        StatusCode::GONE => ("This no longer exists", "It can no longer be opened or changed."),
        StatusCode::PRECONDITION_FAILED => {
            ("This page is out of date", "Open the page again and repeat your change.")
        }
        StatusCode::PAYLOAD_TOO_LARGE => ("Request too large", "Send less at once."),
        StatusCode::TOO_MANY_REQUESTS => {
            ("Too many requests", "Wait a moment, then try again. Nothing was changed.")
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            ("Temporarily unavailable", "Wait a few seconds, then reload the page.")
        }
        status if status.is_server_error() => (
            "Internal server error",
            "The error is on the server. If it happens again, send the request id below to the operator of this site.",
        ),
        _ => ("Request failed", "Go back, check what you entered, and try again."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edge::request_id::RequestId, pages::check};

    #[test]
    fn every_error_has_a_sound_page() {
        let id = RequestId::random();
        for status in (400..=599).filter_map(|code| StatusCode::from_u16(code).ok()) {
            let wrong = Problem::new(status, "<b>there</b> is no such link");
            for subject in [Subject::Links, Subject::Board, Subject::Rides, Subject::Other] {
                let html = problem(&wrong, &check::EVERYTHING, subject, &id);
                check::sound(&html);
                assert!(html.contains(id.as_str()) && html.contains("&#60;b&#62;"), "{html}");
            }
        }
    }

    #[test]
    fn a_board_error_page_mentions_no_links_and_leads_where_the_reader_may_go() {
        let id = RequestId::random();
        let page = |status, subject| {
            problem(&Problem::new(status, "test"), &check::EVERYTHING, subject, &id)
        };
        for status in [StatusCode::NOT_FOUND, StatusCode::GONE, StatusCode::FORBIDDEN] {
            let (of_link, of_board) = (page(status, Subject::Links), page(status, Subject::Board));
            assert!(of_link.contains("open your link") || of_link.contains("Create a link"));
            for words in ["open your link", "Short links", "This link", "Create a link"] {
                assert!(!of_board.contains(words), "{of_board}");
            }
            // Not to the board, where a banned account would be refused again.
            let way_out = if status == StatusCode::FORBIDDEN { "/account" } else { "/board" };
            let button = format!("class=\"button\" href=\"{way_out}\"");
            assert!(of_board.contains(&button), "{of_board}");
            assert!(!of_board.contains("Sign in with"), "it suggests a way around a ban");
        }
    }

    #[test]
    fn a_request_from_another_site_is_not_told_to_sign_in() {
        let refused = Problem::new(StatusCode::FORBIDDEN, cross_site::REFUSED);
        let html = problem(&refused, &check::EVERYTHING, Subject::Links, &RequestId::random());
        assert!(html.contains("Request refused") && !html.contains("Sign in with"), "{html}");
    }
}
