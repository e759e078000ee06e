//! The server under test: where it listens and how requests name it.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use url::Url;

/// A server, resolved and reached once.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// For the `Host` header.
    pub(crate) host: String,
    /// The path that all requests start with, without a slash at its end.
    pub(crate) prefix: String,
}

impl Target {
    /// Resolves the host and takes the first of its addresses that accepts a connection.
    pub(crate) fn resolve(url: &str, timeout: Duration) -> Result<Self> {
        let (parsed, host) = parse(url)?;
        let addresses =
            parsed.socket_addrs(|| Some(80)).with_context(|| format!("cannot resolve {url}"))?;
        let address =
            reachable(&addresses, timeout).with_context(|| format!("no connection to {url}"))?;
        Ok(Self { address, host, prefix: parsed.path().trim_end_matches('/').to_owned() })
    }

    #[cfg(test)]
    pub(crate) fn for_tests(host: &str) -> Self {
        Self { address: ([127, 0, 0, 1], 1).into(), host: host.to_owned(), prefix: String::new() }
    }
}

/// The URL and what goes into the `Host` header.
fn parse(url: &str) -> Result<(Url, String)> {
    let parsed =
        Url::parse(url).with_context(|| format!("`{url}` is no URL; say http://host:port"))?;
    match parsed.scheme() {
        "http" => {}
        "https" => bail!(
            "https:// is not spoken yet; point --url at the plain http:// listener behind the TLS end"
        ),
        other => bail!("`{other}:` is not spoken; say http://host:port"),
    }
    ensure!(
        parsed.query().is_none() && parsed.fragment().is_none(),
        "--url takes no ? or #; use --path"
    );
    ensure!(
        parsed.username().is_empty() && parsed.password().is_none(),
        "--url takes no user; use --header 'Authorization: …'"
    );
    let name = parsed.host_str().with_context(|| format!("`{url}` names no host"))?;
    let host = parsed.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
    Ok((parsed, host))
}

fn reachable(addresses: &[SocketAddr], timeout: Duration) -> Result<SocketAddr> {
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(_) => return Ok(*address),
            Err(error) => {
                last = Some(anyhow::Error::new(error).context(format!("tried {address}")));
            }
        }
    }
    Err(last.unwrap_or_else(|| anyhow::anyhow!("the name has no address")))
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
    fn what_cannot_be_spoken_is_refused_in_words() {
        for (url, word) in [
            ("https://x", "https"),
            ("ftp://x", "ftp"),
            ("localhost:80", "spoken"),
            ("http://x?y", "--path"),
            ("http://a:b@x", "--header"),
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(error.contains(word), "{url}: {error}");
        }
    }
}
