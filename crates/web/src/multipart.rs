//! Multipart forms with one file.

use std::{collections::HashMap, convert::Infallible};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, header};
use multer::{Constraints, Multipart, SizeLimit};

/// The longest text field of a form, in bytes.
const TEXT_BYTES_MAX: u64 = 32 * 1024;

/// A parsed form.
#[derive(Debug, Default)]
pub(crate) struct MultipartForm {
    /// The text fields by name; of repeated fields, the last.
    pub(crate) texts: HashMap<&'static str, String>,
    /// The content of the file field; of repeated files, the last.
    pub(crate) file: Option<Bytes>,
}

/// Whether `Content-Type` announces a multipart form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    multer::parse_boundary(kind(headers)).is_ok()
}

fn kind(headers: &HeaderMap) -> &str {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default()
}

impl MultipartForm {
    /// Parses a form with the text fields `texts`, each of at most 32 KiB, and the file field `file`, of at most
    /// `bytes_max`. The body is already bounded.
    pub(crate) async fn read(
        headers: &HeaderMap,
        body: Bytes,
        texts: &'static [&'static str],
        file: &'static str,
        bytes_max: usize,
    ) -> Result<Self, multer::Error> {
        let boundary = multer::parse_boundary(kind(headers))?;
        let body = stream::iter([Ok::<_, Infallible>(body)]);
        let sizes = SizeLimit::new().per_field(TEXT_BYTES_MAX).for_field(file, bytes_max as u64);
        let names = texts.iter().copied().chain([file]).collect();
        let bounds = Constraints::new().allowed_fields::<&str>(names).size_limit(sizes);
        let mut parts = Multipart::with_constraints(body, boundary, bounds);
        let mut form = Self::default();
        while let Some(field) = parts.next_field().await? {
            match texts.iter().find(|name| field.name() == Some(name)) {
                Some(name) => drop(form.texts.insert(name, field.text().await?)),
                None => form.file = Some(field.bytes().await?),
            }
        }
        Ok(form)
    }

    /// Removes and returns a text field; empty if absent.
    pub(crate) fn take(&mut self, name: &str) -> String {
        self.texts.remove(name).unwrap_or_default()
    }
}
