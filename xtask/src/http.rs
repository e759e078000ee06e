//! An HTTP client.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    time::Duration,
};

use serde_json::Value;
use ureq::{
    Agent,
    http::{Request, request::Builder},
};

/// Timeout of an answer: longer than any process takes to refuse a request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout of connecting.
const CONNECT: Duration = Duration::from_secs(2);

/// Buffer size in bytes for a request, and for an answer's head.
const BUFFER: usize = 8 * 1_024;

/// A client that follows no redirects and does not retry.
#[derive(Clone)]
pub(crate) struct Http(Agent);

/// The body of a request.
pub(crate) struct Body {
    /// Its media type.
    pub(crate) kind: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl Body {
    /// Fields of a form, encoded.
    pub(crate) fn form(fields: &str) -> Self {
        Self { kind: "application/x-www-form-urlencoded", bytes: fields.as_bytes().to_vec() }
    }
}

/// A complete answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    /// Whether the body begins and ends as a JPEG does.
    pub(crate) is_jpeg: bool,
}

impl Http {
    /// A client with a new connection for each request, so that a connection that broke while it was idle
    /// does not look like a missing answer.
    pub(crate) fn new() -> Self {
        Self::with_idle(0)
    }

    /// A client that keeps its connection, for measurements of latency.
    pub(crate) fn keep_alive() -> Self {
        Self::with_idle(1)
    }

    fn with_idle(connections: usize) -> Self {
        let settings = Agent::config_builder()
            .proxy(None)
            .timeout_global(Some(ANSWER_TIMEOUT))
            .timeout_connect(Some(CONNECT))
            .max_idle_connections(connections)
            // Allocated for each connection.
            .input_buffer_size(BUFFER)
            .output_buffer_size(BUFFER)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false);
        Self(settings.build().into())
    }

    /// Sends a request without body and headers; returns `None` if no answer came.
    pub(crate) fn send(&self, method: &str, at: SocketAddr, path: &str) -> Option<Answer> {
        self.send_with(method, at, path, &[], None)
    }

    /// Sends a request with headers, and a JSON body if there is one.
    pub(crate) fn send_with(
        &self,
        method: &str,
        at: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Option<Answer> {
        let body =
            body.map(|body| Body { kind: "application/json", bytes: body.to_string().into() });
        self.run(request(method, at, path, headers), body).ok()
    }

    /// Sends a request with headers and a body.
    pub(crate) fn send_body(
        &self,
        method: &str,
        at: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Option<Answer> {
        self.run(request(method, at, path, headers), Some(body)).ok()
    }

    /// Passes the lines of a streamed answer to `take` until it returns false.
    pub(crate) fn lines(
        &self,
        at: SocketAddr,
        path: &str,
        (name, value): (&str, &str),
        mut take: impl FnMut(&str) -> bool,
    ) -> anyhow::Result<()> {
        let request = Request::builder().uri(format!("http://{at}{path}")).header(name, value);
        let answer = self.0.run(request.body(())?)?;
        anyhow::ensure!(answer.status() == 200, "{path} answers {}", answer.status());
        for line in BufReader::new(answer.into_body().into_reader()).lines() {
            if !take(&line?) {
                return Ok(());
            }
        }
        anyhow::bail!("{path} ended")
    }

    fn run(&self, request: Builder, body: Option<Body>) -> Result<Answer, ureq::Error> {
        let mut answer = match body {
            None => self.0.run(request.body(())?)?,
            Some(body) => {
                self.0.run(request.header("Content-Type", body.kind).body(body.bytes)?)?
            }
        };
        let bytes = answer.body_mut().read_to_vec()?;
        let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
        Ok(Answer {
            status: answer.status().as_u16(),
            location: location.map(str::to_owned),
            is_jpeg: bytes.starts_with(b"\xff\xd8") && bytes.ends_with(b"\xff\xd9"),
            body: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }
}

fn request(method: &str, at: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Builder {
    let request = Request::builder().method(method).uri(format!("http://{at}{path}"));
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

impl Answer {
    /// A string field of the JSON body.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let body: Value = serde_json::from_str(&self.body).ok()?;
        body[name].as_str().map(str::to_owned)
    }

    /// Whether the answer redirects to one of `targets`.
    pub(crate) fn leads_to(&self, targets: &[String]) -> bool {
        self.status == 307 && self.location.as_ref().is_some_and(|place| targets.contains(place))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Write},
        net::TcpListener,
        thread,
    };

    use super::*;

    #[test]
    fn a_keeping_client_sends_two_requests_on_one_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            for line in BufReader::new(&stream).lines().map_while(Result::ok) {
                if line.is_empty() {
                    (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
                }
            }
        });
        let http = Http::keep_alive();
        for _ in 0..2 {
            assert_eq!(http.send("GET", at, "/").unwrap().body, "ok");
        }
    }
}
