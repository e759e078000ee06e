//! The requests of a board run.

use std::fmt::from_fn;

use super::event::MessageFormat;
use crate::http::target::Target;

/// Which streams are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Streams {
    /// API streams.
    Api,
    /// Page streams, whose events carry HTML.
    Pages,
}

impl Streams {
    /// Returns the name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Api => "streams",
            Self::Pages => "page streams",
        }
    }
}

/// One server, with the settings that all its requests share.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) target: Target,
    pub(crate) channel: String,
    pub(crate) streams: Streams,
}

impl Site {
    /// Replaces `out` with a POST of a name and a password.
    pub(crate) fn credentials(&self, path: &str, name: &str, password: &str, out: &mut Vec<u8>) {
        let body = serde_json::json!({ "username": name, "password": password });
        self.target.post_json(path, "", body, out);
    }

    /// Replaces `out` with a GET of the channel's newest event.
    pub(crate) fn newest(&self, token: &str, out: &mut Vec<u8>) {
        let path = format_args!("/api/board/{}/events?tail=1", self.channel);
        self.target.get(path, format_args!("Authorization: Bearer {token}\r\n"), out);
    }

    /// Replaces `out` with a POST of a message.
    pub(crate) fn post(
        &self,
        token: &str,
        number: u32,
        wording: &MessageFormat,
        out: &mut Vec<u8>,
    ) {
        let (client_id, body) = (wording.client_id(number), wording.body(number));
        self.target.post_json(
            format_args!("/api/board/{}/messages", self.channel),
            format_args!("Authorization: Bearer {token}\r\n"),
            format_args!("{{\"client_id\":\"{client_id}\",\"body\":\"{body}\"}}"),
            out,
        );
    }

    /// Replaces `out` with the GET of a stream that resumes after the cursor `last`, or else after `start`.
    pub(crate) fn stream(&self, token: &str, start: &str, last: &str, out: &mut Vec<u8>) {
        let channel = &self.channel;
        let path = from_fn(|f| {
            match self.streams {
                Streams::Api => write!(f, "/api/board/{channel}/stream")?,
                Streams::Pages => write!(f, "/board/{channel}/live")?,
            }
            if last.is_empty() { write!(f, "?after={start}") } else { Ok(()) }
        });
        let headers = from_fn(|f| {
            match self.streams {
                Streams::Api => write!(f, "Authorization: Bearer {token}\r\n")?,
                // The server reads the second name if the site is reached over TLS.
                Streams::Pages => {
                    write!(f, "Cookie: lodge_session={token}; __Host-lodge_session={token}\r\n")?;
                }
            }
            if last.is_empty() { Ok(()) } else { write!(f, "Last-Event-ID: {last}\r\n") }
        });
        self.target.get(path, headers, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl Fn(&Site, &mut Vec<u8>)) -> String {
        text_of(Streams::Api, put)
    }

    fn text_of(streams: Streams, put: impl Fn(&Site, &mut Vec<u8>)) -> String {
        let mut out = b"old".to_vec();
        let target = Target::for_tests(&[], true);
        put(&Site { target, channel: "lobby".to_owned(), streams }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_message_is_posted_under_its_client_id_with_a_body_of_the_right_length() {
        let wording = MessageFormat::new();
        let post = text(|site, out| site.post("T", 17, &wording, out));
        let (head, body) = post.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /api/board/lobby/messages HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nAuthorization: Bearer T\r\n"), "{head}");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        let json: serde_json::Value = serde_json::from_str(body).unwrap();
        let client_id = json["client_id"].as_str().unwrap();
        assert!(client_id.ends_with("-17") && json["body"].as_str().unwrap().contains(client_id));
    }

    #[test]
    fn a_stream_resumes_from_its_last_event_or_else_from_the_start_of_the_run() {
        let first = text(|site, out| site.stream("T", "7:42,9:1", "", out));
        assert!(first.starts_with("GET /api/board/lobby/stream?after=7:42,9:1 HTTP/1.1\r\n"));
        assert!(!first.contains("Last-Event-ID"), "{first}");
        let next = text(|site, out| site.stream("T", "7:42", "7:43", out));
        assert!(next.starts_with("GET /api/board/lobby/stream HTTP/1.1\r\n"), "{next}");
        assert!(next.ends_with("\r\nLast-Event-ID: 7:43\r\n\r\n"), "{next}");
    }

    #[test]
    fn a_page_stream_is_opened_as_a_browser_does() {
        let of =
            |last: &str| text_of(Streams::Pages, |site, out| site.stream("T", "7:42", last, out));
        let first = of("");
        assert!(first.starts_with("GET /board/lobby/live?after=7:42 HTTP/1.1\r\n"), "{first}");
        assert!(first.contains("\r\nCookie: lodge_session=T; __Host-lodge_session=T\r\n"));
        assert!(!first.contains("Authorization"), "{first}");
        let next = of("7:43");
        assert!(next.starts_with("GET /board/lobby/live HTTP/1.1\r\n"), "{next}");
        assert!(next.ends_with("\r\nLast-Event-ID: 7:43\r\n\r\n"), "{next}");
    }
}
