//! One client that keeps its connection and looks at the clock.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::json;

/// A connection.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    pub(super) fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(Self { stream: BufReader::new(stream), address: address.to_owned() })
    }

    /// Makes an account; the status.
    pub(super) fn sign_up(&mut self, username: &str, password: &str) -> Result<u16> {
        Ok(self.post("/api/accounts", username, password)?.0)
    }

    /// Tries to sign in; the status, and how long it took until the whole answer was here, in ms.
    pub(super) fn sign_in(&mut self, username: &str, password: &str) -> Result<(u16, f64)> {
        self.post("/api/session", username, password)
    }

    fn post(&mut self, path: &str, username: &str, password: &str) -> Result<(u16, f64)> {
        let body = json!({ "username": username, "password": password }).to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let began = Instant::now();
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.answer()?;
        Ok((status, began.elapsed().as_secs_f64() * 1e3))
    }

    /// Reads an answer to its end.
    fn answer(&mut self) -> Result<u16> {
        let (mut line, mut length) = (String::new(), 0);
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.with_context(|| format!("no answer: {line:?}"))?;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(bytes) = header.strip_prefix("content-length:") {
                length = bytes.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(status)
    }
}
