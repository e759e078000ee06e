//! The bytes of the board's requests.

use std::io::Write;
use std::net::SocketAddr;

use super::event::Wording;
use crate::http::target::Target;
use crate::http::template::after_path;

/// Whose streams are listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Streams {
    /// Those of programs.
    Api,
    /// Those of pages, which are told what is to be seen.
    Pages,
}

impl Streams {
    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Api => "streams",
            Self::Pages => "streams of pages",
        }
    }
}

/// One server, and what all requests to it have in common.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    /// Before each path.
    prefix: String,
    /// Behind each path, up to the headers that are the request's own.
    after_path: String,
    channel: String,
    streams: Streams,
}

/// Room for a request does not end: writing into it cannot fail.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        drop(write!($out, $($text)*))
    };
}

impl Site {
    pub(crate) fn new(
        target: &Target,
        headers: &[String],
        channel: &str,
        streams: Streams,
    ) -> Self {
        Self {
            address: target.address,
            prefix: target.prefix.clone(),
            after_path: after_path(target, headers, true),
            channel: channel.to_owned(),
            streams,
        }
    }

    /// Puts a POST of a name and a password into `out`, whose old content goes.
    pub(crate) fn credentials(&self, path: &str, name: &str, password: &str, out: &mut Vec<u8>) {
        let body = serde_json::json!({ "username": name, "password": password }).to_string();
        out.clear();
        put!(
            out,
            "POST {}{path}{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.prefix,
            self.after_path,
            body.len()
        );
    }

    /// The same with a question of where the channel's newest event is.
    pub(crate) fn newest(&self, token: &str, out: &mut Vec<u8>) {
        out.clear();
        put!(
            out,
            "GET {}/api/board/{}/events?tail=1{}Authorization: Bearer {token}\r\n\r\n",
            self.prefix,
            self.channel,
            self.after_path
        );
    }

    /// The same with a message.
    pub(crate) fn post(&self, token: &str, number: u32, wording: &Wording, out: &mut Vec<u8>) {
        let (mut client_id, mut body) = (Vec::with_capacity(32), Vec::with_capacity(128));
        wording.client_id(number, &mut client_id);
        wording.body(number, &mut body);
        let frame = "{\"client_id\":\"\",\"body\":\"\"}".len();
        out.clear();
        put!(
            out,
            "POST {}/api/board/{}/messages{}Authorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.prefix,
            self.channel,
            self.after_path,
            frame + client_id.len() + body.len()
        );
        for part in [b"{\"client_id\":\"".as_slice(), &client_id, b"\",\"body\":\"", &body, b"\"}"]
        {
            out.extend_from_slice(part);
        }
    }

    /// The same with the opening of a stream: behind what its reader had last, or else behind `start`.
    pub(crate) fn stream(&self, token: &str, start: &str, last: &[u8], out: &mut Vec<u8>) {
        out.clear();
        match self.streams {
            Streams::Api => put!(out, "GET {}/api/board/{}/stream", self.prefix, self.channel),
            Streams::Pages => put!(out, "GET {}/board/{}/live", self.prefix, self.channel),
        }
        if last.is_empty() {
            put!(out, "?after={start}");
        }
        put!(out, "{}", self.after_path);
        match self.streams {
            Streams::Api => put!(out, "Authorization: Bearer {token}\r\n"),
            // The name that counts is another one where the site is reached over TLS.
            Streams::Pages => {
                put!(out, "Cookie: lodge_session={token}; __Host-lodge_session={token}\r\n");
            }
        }
        if !last.is_empty() {
            out.extend_from_slice(b"Last-Event-ID: ");
            out.extend_from_slice(last);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
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
        put(&Site::new(&Target::for_tests("localhost"), &[], "lobby", streams), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_message_is_posted_under_its_client_id_with_a_body_of_the_right_length() {
        let wording = Wording::new();
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
    fn a_stream_goes_on_from_what_was_had_and_else_from_the_start_of_the_run() {
        let first = text(|site, out| site.stream("T", "7:42,9:1", b"", out));
        assert!(first.starts_with("GET /api/board/lobby/stream?after=7:42,9:1 HTTP/1.1\r\n"));
        assert!(!first.contains("Last-Event-ID"), "{first}");
        let next = text(|site, out| site.stream("T", "7:42", b"7:43", out));
        assert!(next.starts_with("GET /api/board/lobby/stream HTTP/1.1\r\n"), "{next}");
        assert!(next.ends_with("\r\nLast-Event-ID: 7:43\r\n\r\n"), "{next}");
    }

    #[test]
    fn a_stream_of_a_page_is_opened_as_a_browser_does() {
        let of =
            |last: &[u8]| text_of(Streams::Pages, |site, out| site.stream("T", "7:42", last, out));
        let first = of(b"");
        assert!(first.starts_with("GET /board/lobby/live?after=7:42 HTTP/1.1\r\n"), "{first}");
        assert!(first.contains("\r\nCookie: lodge_session=T; __Host-lodge_session=T\r\n"));
        assert!(!first.contains("Authorization"), "{first}");
        let next = of(b"7:43");
        assert!(next.starts_with("GET /board/lobby/live HTTP/1.1\r\n"), "{next}");
        assert!(next.ends_with("\r\nLast-Event-ID: 7:43\r\n\r\n"), "{next}");
    }
}
