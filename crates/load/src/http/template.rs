//! Prepares the bytes of requests: everything but the short and its target is serialised once.

use anyhow::{Result, bail, ensure};

use super::target::Target;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(Vec<u8>),
    Short,
    Long,
}

/// A request with holes for `{short}` and `{long}`.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

impl Template {
    /// A request of `method` for `path` on `target`. `extra` are whole header lines.
    pub(crate) fn new(
        method: &str,
        path: &str,
        target: &Target,
        extra: &[String],
        keep: bool,
    ) -> Result<Self> {
        let mut pieces = head(method, path, target, extra, keep)?;
        let end = if method == "PUT" { "Content-Length: 0\r\n\r\n" } else { "\r\n" };
        pieces.push(Piece::Literal(end.as_bytes().to_vec()));
        Ok(Self { pieces })
    }

    /// A GET of `path` by whoever has the token that stands in the short's place.
    pub(crate) fn with_token(
        path: &str,
        target: &Target,
        extra: &[String],
        keep: bool,
    ) -> Result<Self> {
        let mut pieces = head("GET", path, target, extra, keep)?;
        pieces.push(Piece::Literal(b"Authorization: Bearer ".to_vec()));
        pieces.push(Piece::Short);
        pieces.push(Piece::Literal(b"\r\n\r\n".to_vec()));
        Ok(Self { pieces })
    }

    /// A POST to `path` of JSON: `before`, the short, which has `short_bytes` bytes, and `after`.
    pub(crate) fn with_json(
        path: &str,
        (before, short_bytes, after): (&str, usize, &str),
        target: &Target,
        extra: &[String],
        keep: bool,
    ) -> Result<Self> {
        let mut pieces = head("POST", path, target, extra, keep)?;
        let length = before.len() + short_bytes + after.len();
        let rest =
            format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{before}");
        pieces.push(Piece::Literal(rest.into_bytes()));
        pieces.push(Piece::Short);
        pieces.push(Piece::Literal(after.as_bytes().to_vec()));
        Ok(Self { pieces })
    }

    /// Whether `{short}` is in it.
    pub(crate) fn names_short(&self) -> bool {
        self.pieces.contains(&Piece::Short)
    }

    /// Whether both `{short}` and `{long}` are in it.
    pub(crate) fn names_both(&self) -> bool {
        self.names_short() && self.pieces.contains(&Piece::Long)
    }

    /// Puts the request into `out`, whose old content goes.
    pub(crate) fn render(&self, short: &[u8], long: &[u8], out: &mut Vec<u8>) {
        out.clear();
        for piece in &self.pieces {
            out.extend_from_slice(match piece {
                Piece::Literal(bytes) => bytes,
                Piece::Short => short,
                Piece::Long => long,
            });
        }
    }
}

/// The head of a request, up to the headers that are its own.
fn head(
    method: &str,
    path: &str,
    target: &Target,
    extra: &[String],
    keep: bool,
) -> Result<Vec<Piece>> {
    ensure!(path.starts_with('/'), "the path `{path}` must start with /");
    ensure!(
        path.bytes().all(|byte| byte.is_ascii_graphic()),
        "the path `{path}` may hold only printable ASCII; percent-encode the rest"
    );
    let mut pieces = vec![Piece::Literal(format!("{method} {}", target.prefix).into_bytes())];
    push_path(&mut pieces, path)?;
    pieces.push(Piece::Literal(after_path(target, extra, keep).into_bytes()));
    Ok(pieces)
}

/// What stands behind the path: the version, and the headers that every request has.
pub(crate) fn after_path(target: &Target, extra: &[String], keep: bool) -> String {
    let mut tail = format!(
        " HTTP/1.1\r\nHost: {}\r\nUser-Agent: lodge-load/{}\r\nAccept: */*\r\n",
        target.host,
        env!("CARGO_PKG_VERSION")
    );
    if !keep {
        tail.push_str("Connection: close\r\n");
    }
    for line in extra {
        tail.push_str(line);
        tail.push_str("\r\n");
    }
    tail
}

fn push_path(pieces: &mut Vec<Piece>, path: &str) -> Result<()> {
    let mut rest = path;
    while let Some(open) = rest.find('{') {
        let (literal, hole) = rest.split_at(open);
        pieces.push(Piece::Literal(literal.as_bytes().to_vec()));
        rest = if let Some(after) = hole.strip_prefix("{short}") {
            pieces.push(Piece::Short);
            after
        } else if let Some(after) = hole.strip_prefix("{long}") {
            pieces.push(Piece::Long);
            after
        } else {
            bail!(
                "the path `{path}` has a {{ that is neither {{short}} nor {{long}}; write %7B for the character"
            );
        };
    }
    pieces.push(Piece::Literal(rest.as_bytes().to_vec()));
    Ok(())
}

/// The headers of the command line as lines.
pub(crate) fn header_lines(headers: &[String]) -> Result<Vec<String>> {
    headers.iter().map(|text| header_line(text)).collect()
}

/// A "Name: value" from the command line, checked.
fn header_line(text: &str) -> Result<String> {
    let Some((name, value)) = text.split_once(':') else {
        bail!("the header `{text}` has no colon")
    };
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    ensure!(!name.is_empty() && name.bytes().all(token), "`{name}` is no header name");
    let value = value.trim();
    ensure!(
        value.bytes().all(|byte| byte == b'\t' || (0x20..0x7f).contains(&byte)),
        "the value of `{name}` may hold only printable ASCII"
    );
    for own in ["host", "connection", "content-length", "transfer-encoding"] {
        ensure!(
            !name.eq_ignore_ascii_case(own),
            "the header `{name}` is set by the load generator itself"
        );
    }
    Ok(format!("{name}: {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_rendered_with_its_short_and_target() {
        let target = Target::for_tests("localhost:8080");
        let template = Template::new(
            "PUT",
            "/?short={short}&long={long}",
            &target,
            &["X-Key: 1".to_owned()],
            false,
        )
        .unwrap();
        let mut out = b"old".to_vec();
        template.render(b"gg", b"https://google.com/", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with(
                "PUT /?short=gg&long=https://google.com/ HTTP/1.1\r\nHost: localhost:8080\r\n"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("Connection: close\r\nX-Key: 1\r\nContent-Length: 0\r\n\r\n"),
            "{text}"
        );
        assert!(template.names_both());
    }

    #[test]
    fn tokens_go_into_a_header_and_names_into_a_body_of_the_right_length() {
        let (target, mut out) = (Target::for_tests("localhost"), Vec::new());
        let get = Template::with_token("/api/me", &target, &[], true).unwrap();
        get.render(b"session_x", b"", &mut out);
        let text = String::from_utf8(out.clone()).unwrap();
        assert!(text.starts_with("GET /api/me HTTP/1.1\r\n"), "{text}");
        assert!(text.ends_with("\r\nAuthorization: Bearer session_x\r\n\r\n"), "{text}");
        let body = ("{\"username\":\"", 3, "\"}");
        let post = Template::with_json("/api/session", body, &target, &[], true).unwrap();
        post.render(b"ada", b"", &mut out);
        let text = String::from_utf8(out).unwrap();
        let end = "Content-Length: 18\r\n\r\n{\"username\":\"ada\"}";
        assert!(text.starts_with("POST /api/session ") && text.ends_with(end), "{text}");
    }

    #[test]
    fn paths_and_headers_cannot_break_out_of_their_line() {
        let target = Target::for_tests("localhost");
        for bad in ["x", "/a b", "/a\r\nb", "/{other}", "/é"] {
            assert!(Template::new("GET", bad, &target, &[], true).is_err(), "{bad}");
        }
        for bad in ["no colon", "a b: c", ": c", "A: b\r\nC: d", "Host: x", "connection: close"] {
            assert!(header_line(bad).is_err(), "{bad}");
        }
        assert_eq!(header_line("Authorization:  Bearer x ").unwrap(), "Authorization: Bearer x");
    }
}
