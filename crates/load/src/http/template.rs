//! Request templates: everything but the short and its target is serialised once.

use anyhow::{Result, bail, ensure};

use super::target::Target;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(Vec<u8>),
    Short,
    Long,
}

/// A request with placeholders for `{short}` and `{long}`.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

impl Template {
    /// A request of `method` for `path` on `target`.
    pub(crate) fn new(method: &str, path: &str, target: &Target) -> Result<Self> {
        let end = if method == "PUT" { "Content-Length: 0\r\n\r\n" } else { "\r\n" };
        Self::with_rest(method, path, target, [literal(end)])
    }

    /// A GET of `path` with a bearer token, which is rendered in place of the short.
    pub(crate) fn with_token(path: &str, target: &Target) -> Result<Self> {
        let rest = [literal("Authorization: Bearer "), Piece::Short, literal("\r\n\r\n")];
        Self::with_rest("GET", path, target, rest)
    }

    /// A POST of JSON to `path`: `before`, the short of `short_bytes` bytes, and `after`.
    pub(crate) fn with_json(
        path: &str,
        (before, short_bytes, after): (&str, usize, &str),
        target: &Target,
    ) -> Result<Self> {
        let length = before.len() + short_bytes + after.len();
        let begin =
            format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{before}");
        Self::with_rest("POST", path, target, [literal(&begin), Piece::Short, literal(after)])
    }

    /// `rest`: what follows the headers of every request.
    fn with_rest<const N: usize>(
        method: &str,
        path: &str,
        target: &Target,
        rest: [Piece; N],
    ) -> Result<Self> {
        ensure!(path.starts_with('/'), "the path `{path}` must start with /");
        ensure!(
            path.bytes().all(|byte| byte.is_ascii_graphic()),
            "the path `{path}` must be printable ASCII; percent-encode other characters"
        );
        let mut pieces = vec![literal(&format!("{method} {}", target.prefix))];
        push_path(&mut pieces, path)?;
        pieces.push(literal(&target.after_path));
        pieces.extend(rest);
        Ok(Self { pieces })
    }

    /// Returns whether the path contains `{short}`.
    pub(crate) fn names_short(&self) -> bool {
        self.pieces.contains(&Piece::Short)
    }

    /// Returns whether the path contains both `{short}` and `{long}`.
    pub(crate) fn names_both(&self) -> bool {
        self.names_short() && self.pieces.contains(&Piece::Long)
    }

    /// Replaces `out` with the request.
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

fn literal(text: &str) -> Piece {
    Piece::Literal(text.as_bytes().to_vec())
}

fn push_path(pieces: &mut Vec<Piece>, path: &str) -> Result<()> {
    let mut rest = path;
    while let Some(open) = rest.find('{') {
        let (literal, hole) = rest.split_at(open);
        pieces.push(self::literal(literal));
        rest = if let Some(after) = hole.strip_prefix("{short}") {
            pieces.push(Piece::Short);
            after
        } else if let Some(after) = hole.strip_prefix("{long}") {
            pieces.push(Piece::Long);
            after
        } else {
            bail!(
                "the path `{path}` has a {{ that starts neither {{short}} nor {{long}}; write %7B for a literal {{"
            );
        };
    }
    pieces.push(literal(rest));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::target::header_line;

    #[test]
    fn a_request_is_rendered_with_its_short_and_target() {
        let target = Target::for_tests(&["X-Key: 1".to_owned()], false);
        let template = Template::new("PUT", "/?short={short}&long={long}", &target).unwrap();
        let mut out = b"old".to_vec();
        template.render(b"gg", b"https://google.com/", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with(
                "PUT /?short=gg&long=https://google.com/ HTTP/1.1\r\nHost: localhost\r\n"
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
        let (target, mut out) = (Target::for_tests(&[], true), Vec::new());
        let get = Template::with_token("/api/me", &target).unwrap();
        get.render(b"session_x", b"", &mut out);
        let text = String::from_utf8(out.clone()).unwrap();
        assert!(text.starts_with("GET /api/me HTTP/1.1\r\n"), "{text}");
        assert!(text.ends_with("\r\nAuthorization: Bearer session_x\r\n\r\n"), "{text}");
        let body = ("{\"username\":\"", 3, "\"}");
        let post = Template::with_json("/api/session", body, &target).unwrap();
        post.render(b"ada", b"", &mut out);
        let text = String::from_utf8(out).unwrap();
        let end = "Content-Length: 18\r\n\r\n{\"username\":\"ada\"}";
        assert!(text.starts_with("POST /api/session ") && text.ends_with(end), "{text}");
    }

    #[test]
    fn paths_and_headers_cannot_break_out_of_their_line() {
        let target = Target::for_tests(&[], true);
        for bad in ["x", "/a b", "/a\r\nb", "/{other}", "/é"] {
            assert!(Template::new("GET", bad, &target).is_err(), "{bad}");
        }
        for bad in ["no colon", "a b: c", ": c", "A: b\r\nC: d", "Host: x", "connection: close"] {
            assert!(header_line(bad).is_err(), "{bad}");
        }
        assert_eq!(header_line("Authorization:  Bearer x ").unwrap(), "Authorization: Bearer x");
    }
}
