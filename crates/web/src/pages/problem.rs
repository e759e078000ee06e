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

/// What the page would have been about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Links,
    Board,
    Other,
}

/// The page that says what went wrong.
pub(crate) fn problem(
    problem: &Problem,
    navigation: Navigation,
    subject: Subject,
    id: &RequestId,
) -> String {
    let (title, next) = explain(problem.status, subject);
    let way_out = match (problem.status, subject) {
        (StatusCode::UNAUTHORIZED, _) => ("/login", "Sign in"),
        (StatusCode::NOT_FOUND | StatusCode::GONE, Subject::Links) => ("/new", "Make a link"),
        // Whoever is banned would be refused on the board again.
        (StatusCode::FORBIDDEN, Subject::Board) => ("/account", "Go to your account"),
        (_, Subject::Board) => ("/board", "Go to the board"),
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
fn explain(status: StatusCode, subject: Subject) -> (&'static str, &'static str) {
    match status {
        StatusCode::UNAUTHORIZED => {
            ("This is for people who are signed in", "Sign in, then come back to this page.")
        }
        StatusCode::FORBIDDEN if subject == Subject::Links => (
            "You cannot do this",
            "Sign in as somebody who may. A link of yours opens with its manage key as well.",
        ),
        StatusCode::FORBIDDEN if subject == Subject::Board => {
            ("You cannot do this", "Your account says as whom you are signed in.")
        }
        StatusCode::FORBIDDEN => ("You cannot do this", "Sign in as somebody who may."),
        StatusCode::NOT_FOUND if subject == Subject::Links => (
            "We cannot find that",
            "Check the address for a slip of the finger. In short links upper and lower case are different.",
        ),
        StatusCode::NOT_FOUND => {
            ("We cannot find that", "Check the address for a slip of the finger.")
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            ("That does not work here", "Go back to the page you came from and try from there.")
        }
        StatusCode::CONFLICT if subject == Subject::Board => {
            ("That cannot be done", "Nothing was changed.")
        }
        StatusCode::CONFLICT => ("Somebody else has it", "Go back and choose another name."),
        StatusCode::GONE if subject == Subject::Links => {
            ("This link is over", "Ask whoever gave it to you for a new one.")
        }
        StatusCode::GONE => ("This is gone", "Nothing is left of it that could be changed."),
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
            for subject in [Subject::Links, Subject::Board, Subject::Other] {
                let html = problem(&wrong, check::EVERYTHING, subject, &id);
                check::sound(&html);
                assert!(html.contains(id.as_str()) && html.contains("&#60;b&#62;"), "{html}");
            }
        }
    }

    #[test]
    fn a_page_of_the_board_does_not_speak_of_links_and_leads_where_its_reader_may_go() {
        let id = RequestIds::default().next();
        let page = |status, subject| {
            problem(&Problem::new(status, "it is so"), check::EVERYTHING, subject, &id)
        };
        for status in [StatusCode::NOT_FOUND, StatusCode::GONE, StatusCode::FORBIDDEN] {
            let (of_link, of_board) = (page(status, Subject::Links), page(status, Subject::Board));
            assert!(of_link.contains("link of yours") || of_link.contains("Make a link"));
            for words in ["link of yours", "short links", "link is over", "Make a link"] {
                assert!(!of_board.contains(words), "{of_board}");
            }
            // Not where whoever is banned would be refused again.
            let way_out = if status == StatusCode::FORBIDDEN { "/account" } else { "/board" };
            let button = format!("class=\"button\" href=\"{way_out}\"");
            assert!(of_board.contains(&button), "{of_board}");
            assert!(!of_board.contains("Sign in as somebody"), "that would be a way past a ban");
        }
    }
}
