//! Forms with a file in them.

use std::{collections::HashMap, convert::Infallible};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, header};
use multer::{Constraints, Multipart, SizeLimit};

/// The longest text in a form, in bytes.
const TEXT_BYTES_MAX: u64 = 32 * 1024;

/// What a form holds.
#[derive(Debug, Default)]
pub(crate) struct Form {
    /// Its fields, by name; of two that have one name, the last.
    pub(crate) texts: HashMap<&'static str, String>,
    /// Its file.
    pub(crate) file: Option<Bytes>,
}

/// Whether this is what a body says that it is.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    multer::parse_boundary(kind(headers)).is_ok()
}

fn kind(headers: &HeaderMap) -> &str {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default()
}

impl Form {
    /// Reads a form of these fields, each of 32 KiB at most, and of a file of so many bytes at most, in a body that is
    /// bounded itself.
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

    /// Takes a field out of it; nothing if it has none of that name.
    pub(crate) fn take(&mut self, name: &str) -> String {
        self.texts.remove(name).unwrap_or_default()
    }
}
