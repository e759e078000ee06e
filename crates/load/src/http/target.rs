//! The server under test: its address, and the bytes that all requests to it share.

use std::fmt::{Arguments, Display};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use url::Url;

/// A server whose name was resolved and which accepted a connection.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// The path prefix of all requests, without a trailing slash.
    pub(super) prefix: String,
    /// The rest of the head after the path: the version, and the headers of every request.
    pub(super) after_path: String,
}

impl Target {
    /// Resolves the host and takes the first address that accepts a connection. `headers`: additional headers
    /// of every request. `keep`: connections are kept alive between requests.
    pub(crate) fn resolve(
        url: &str,
        timeout: Duration,
        headers: &[String],
        keep: bool,
    ) -> Result<Self> {
        let (parsed, host) = parse(url)?;
        let after_path = after_path(&host, headers, keep)?;
        let addresses =
            parsed.socket_addrs(|| Some(80)).with_context(|| format!("cannot resolve {url}"))?;
        let address =
            reachable(&addresses, timeout).with_context(|| format!("cannot connect to {url}"))?;
        Ok(Self { address, prefix: parsed.path().trim_end_matches('/').to_owned(), after_path })
    }

    #[cfg(test)]
    pub(crate) fn for_tests(headers: &[String], keep: bool) -> Self {
        let after_path = after_path("localhost", headers, keep).unwrap();
        Self { address: ([127, 0, 0, 1], 1).into(), prefix: String::new(), after_path }
    }

    /// Replaces `out` with a GET of `path`. `headers` are complete lines.
    pub(crate) fn get(&self, path: impl Display, headers: impl Display, out: &mut Vec<u8>) {
        out.clear();
        put(out, format_args!("GET {}{path}{}{headers}\r\n", self.prefix, self.after_path));
    }

    /// Replaces `out` with a POST of `body`. `headers` are complete lines.
    pub(crate) fn post(
        &self,
        path: impl Display,
        headers: impl Display,
        body: &[u8],
        out: &mut Vec<u8>,
    ) {
        let (prefix, after_path, length) = (&self.prefix, &self.after_path, body.len());
        let head = format_args!("POST {prefix}{path}{after_path}{headers}Content-Length: {length}");
        out.clear();
        put(out, format_args!("{head}\r\n\r\n"));
        out.extend_from_slice(body);
    }

    /// Replaces `out` with a POST of a JSON body. `headers` are complete lines.
    pub(crate) fn post_json(
        &self,
        path: impl Display,
        headers: impl Display,
        body: impl Display,
        out: &mut Vec<u8>,
    ) {
        let headers = format_args!("{headers}Content-Type: application/json\r\n");
        self.post(path, headers, body.to_string().as_bytes(), out);
    }
}

/// Appends `text` to a request. Writing to a vector cannot fail.
pub(crate) fn put(out: &mut Vec<u8>, text: Arguments<'_>) {
    drop(out.write_fmt(text));
}

fn after_path(host: &str, headers: &[String], keep: bool) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let mut tail =
        format!(" HTTP/1.1\r\nHost: {host}\r\nUser-Agent: lodge-load/{version}\r\nAccept: */*\r\n");
    if !keep {
        tail.push_str("Connection: close\r\n");
    }
    for header in headers {
        tail.push_str(&header_line(header)?);
        tail.push_str("\r\n");
    }
    Ok(tail)
}

/// Validates a "Name: value" from the command line.
pub(super) fn header_line(text: &str) -> Result<String> {
    let Some((name, value)) = text.split_once(':') else {
        bail!("--header must be \"Name: value\", not `{text}`")
    };
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    ensure!(!name.is_empty() && name.bytes().all(token), "`{name}` is not a valid header name");
    let value = value.trim();
    ensure!(
        value.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte)),
        "the value of the header `{name}` must be printable ASCII"
    );
    for own in ["host", "connection", "content-length", "transfer-encoding"] {
        ensure!(
            !name.eq_ignore_ascii_case(own),
            "the load generator sets the header `{name}` itself; leave it out"
        );
    }
    Ok(format!("{name}: {value}"))
}

/// Parses the URL. Returns it with the value of the `Host` header.
fn parse(url: &str) -> Result<(Url, String)> {
    let parsed =
        Url::parse(url).map_err(|_| anyhow!("`{url}` is not a URL like http://host:port"))?;
    match parsed.scheme() {
        "http" => {}
        "https" => bail!(
            "https:// is not supported yet; point --url at the plain http:// listener behind the TLS proxy"
        ),
        other => bail!("the URL scheme must be http, as in http://host:port, not `{other}`"),
    }
    ensure!(
        parsed.query().is_none() && parsed.fragment().is_none(),
        "--url must not contain ? or #; use --path"
    );
    ensure!(
        parsed.username().is_empty() && parsed.password().is_none(),
        "--url must not contain a user name or password; use --header 'Authorization: …'"
    );
    let name = parsed.host_str().with_context(|| format!("`{url}` has no host"))?;
    let host = parsed.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
    Ok((parsed, host))
}

fn reachable(addresses: &[SocketAddr], timeout: Duration) -> Result<SocketAddr> {
    let mut last = anyhow!("the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(_) => return Ok(*address),
            Err(error) => last = anyhow::Error::new(error).context(format!("tried {address}")),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_become_hosts() {
        let host = |url: &str| parse(url).map(|parsed| parsed.1).unwrap();
        assert_eq!(host("http://localhost:8080"), "localhost:8080");
        assert_eq!(host("http://[::1]:8080/x/"), "[::1]:8080");
        assert_eq!(host("http://example.com"), "example.com");
    }

    #[test]
    fn an_unsupported_url_is_refused_with_the_reason() {
        for (url, word) in [
            ("https://x", "https"),
            ("ftp://x", "ftp"),
            ("localhost:80", "scheme"),
            ("http://x?y", "--path"),
            ("http://a:b@x", "--header"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(word), "{url}: {error}");
        }
    }
}
