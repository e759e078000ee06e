//! Styles, scripts and icons: embedded in the binary, versioned by content hash, cached for a year.

use std::{collections::HashMap, fmt::Write as _, io::Write as _, sync::LazyLock};

use axum::{
    extract::RawQuery,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use lodge_domain::Error;
use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

use crate::{
    brand::{self, BrandFile},
    conditional::Tagged,
    error::HttpResult,
    request::PathParam,
    routes::Routes,
};

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Files;

/// A file as it is served.
struct Asset {
    data: Bytes,
    /// The compressed data of a style or script, which contain no secrets that a length could leak.
    packed: Option<Bytes>,
    version: String,
    /// The URL with the version.
    url: String,
}

const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "public, max-age=0, must-revalidate";
const A_DAY: &str = "public, max-age=86400";

static ASSETS: LazyLock<HashMap<String, Asset>> = LazyLock::new(|| {
    let mut assets = HashMap::new();
    Files::iter().for_each(|name| load(&name, &mut assets));
    assets
});

/// Adds a file, after the scripts that it imports. Imports must not be circular.
fn load(name: &str, assets: &mut HashMap<String, Asset>) {
    if assets.contains_key(name) {
        return;
    }
    let Some(file) = Files::get(name) else { return };
    let is_script = kind(name).starts_with("text/javascript");
    let data = if is_script { with_versions(&file.data, assets) } else { file.data.into_owned() };
    let version = version(&data);
    let packed = kind(name).starts_with("text/").then(|| packed(&data)).flatten();
    let url = format!("/assets/{name}?v={version}");
    assets.insert(name.to_owned(), Asset { data: data.into(), packed, version, url });
}

/// Adds the versions to the names of imported scripts: `"./name.js"` becomes `"./name.js?v=0123456789abcdef"`.
fn with_versions(script: &[u8], assets: &mut HashMap<String, Asset>) -> Vec<u8> {
    let script = String::from_utf8_lossy(script);
    let mut parts = script.split("\"./");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('"').unwrap_or((part, ""));
        load(name, assets);
        let version = assets.get(name).map_or("", |asset| &asset.version);
        let _ = write!(text, "\"./{name}?v={version}\"{rest}");
    }
    text.into_bytes()
}

/// Returns the URL of an asset; empty for an unknown name.
pub(crate) fn url(name: &str) -> &'static str {
    ASSETS.get(name).map_or("", |asset| &asset.url)
}

/// The routes of assets, which need no state.
pub(crate) fn routes() -> Routes {
    Routes::default()
        .on(Method::GET, "/assets/{file}", file)
        .on(Method::GET, "/favicon.ico", favicon)
        .on(Method::GET, "/robots.txt", robots)
}

/// `GET /assets/{file}`.
async fn file(
    PathParam(name): PathParam,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HttpResult {
    if let Some(file) = brand::current().file(&name) {
        return Ok(of_brand(file, query.as_deref(), &headers));
    }
    let asset = ASSETS.get(&name).ok_or(Error::not_found("there is no such file"))?;
    let is_current =
        query.as_deref().and_then(|query| query.strip_prefix("v=")) == Some(&*asset.version);
    Ok(answer(&name, asset, if is_current { FOR_EVER } else { ASK_AGAIN }, &headers))
}

/// `GET /favicon.ico`, for clients that do not read the page.
async fn favicon(headers: HeaderMap) -> HttpResult {
    if let Some(icon) = brand::current().icon() {
        return Ok(of_brand(icon, None, &headers));
    }
    let asset = ASSETS.get("favicon.ico").ok_or(Error::not_found("there is no such file"))?;
    Ok(answer("favicon.ico", asset, A_DAY, &headers))
}

/// Search engines may follow short links but not index the pages that manage them.
async fn robots() -> Response {
    let text = "User-agent: *\nDisallow: /api/links\nDisallow: /api/bulk\nDisallow: /links\nDisallow: /login\nDisallow: /account\nDisallow: /admin\n";
    (
        [
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
            (header::CACHE_CONTROL, "public, max-age=86400"),
        ],
        text,
    )
        .into_response()
}

/// The Content-Security-Policy of files of the operator: if one is opened as a page, it runs no script and loads
/// nothing.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");

fn of_brand(file: &BrandFile, query: Option<&str>, headers: &HeaderMap) -> Response {
    let version = query.and_then(|query| query.strip_prefix("v="));
    let cached = if version == Some(&file.version) { FOR_EVER } else { ASK_AGAIN };
    let tagged = Tagged { tag: file.version.clone(), cached, kind: file.kind };
    let mut response = tagged.answer(headers, file.bytes.clone());
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
    response
}

fn answer(name: &str, asset: &Asset, cached: &'static str, headers: &HeaderMap) -> Response {
    let tagged = Tagged { tag: asset.version.clone(), cached, kind: kind(name) };
    let packed = asset.packed.as_ref().filter(|_| takes_gzip(headers));
    let Some(packed) = packed else { return varies(tagged.answer(headers, asset.data.clone())) };
    let tagged = Tagged { tag: format!("{}-gz", tagged.tag), ..tagged };
    let mut response = tagged.answer(headers, packed.clone());
    if response.status() == StatusCode::OK {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    varies(response)
}

/// Adds `Vary: accept-encoding`.
fn varies(mut response: Response) -> Response {
    let by = HeaderValue::from_static("accept-encoding");
    response.headers_mut().insert(header::VARY, by);
    response
}

fn packed(text: &[u8]) -> Option<Bytes> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(text).ok()?;
    Some(gzip.finish().ok()?.into())
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).into_iter();
    let names = lists.filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(','));
    names.map(str::trim).any(|name| name == "gzip")
}

/// Returns the first 64 bits of the content's SHA-256, in hexadecimal.
fn version(data: &[u8]) -> String {
    Sha256::digest(data).iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("ico") => "image/x-icon",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    async fn get(query: Option<&str>, known: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(known) = known {
            headers.insert(header::IF_NONE_MATCH, known.parse().unwrap());
        }
        file(PathParam("lodge.css".to_owned()), RawQuery(query.map(str::to_owned)), headers)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn styles_and_scripts_are_compressed_for_clients_that_accept_gzip() {
        let asked = |accepts: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepts));
            file(PathParam("board.js".to_owned()), RawQuery(None), headers)
        };
        let (plain, packed) = (asked("br").await.unwrap(), asked("br, gzip").await.unwrap());
        assert_eq!(plain.headers().get(header::CONTENT_ENCODING), None);
        assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
        assert_ne!(plain.headers()[header::ETAG], packed.headers()[header::ETAG]);
        assert_eq!(plain.headers()[header::VARY], "accept-encoding");
        let body = axum::body::to_bytes(packed.into_body(), 1 << 20).await.unwrap();
        let mut unpacked = Vec::new();
        GzDecoder::new(&*body).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, *ASSETS["board.js"].data);
    }

    #[tokio::test]
    async fn imported_scripts_are_cached_for_a_year() {
        let mut imports = 0;
        for asset in ASSETS.values().filter(|asset| asset.url.contains(".js?")) {
            let script = std::str::from_utf8(&asset.data).unwrap();
            for import in script.split("\"./").skip(1) {
                let (name, query) = import.split_once('"').unwrap().0.split_once('?').unwrap();
                let query = RawQuery(Some(query.to_owned()));
                let answer = file(PathParam(name.to_owned()), query, HeaderMap::new());
                assert_eq!(answer.await.unwrap().headers()[header::CACHE_CONTROL], FOR_EVER);
                imports += 1;
            }
        }
        assert!(imports > 0);
    }

    #[tokio::test]
    async fn versioned_assets_are_cached_for_a_year() {
        let query = url("lodge.css").split_once('?').unwrap().1;
        let current = get(Some(query), None).await;
        assert_eq!(current.headers()[header::CACHE_CONTROL], FOR_EVER);
        assert_eq!(current.headers()[header::CONTENT_TYPE], "text/css; charset=utf-8");
        assert_eq!(get(Some("v=old"), None).await.headers()[header::CACHE_CONTROL], ASK_AGAIN);
        let tag = current.headers()[header::ETAG].to_str().unwrap();
        assert_eq!(get(None, Some(tag)).await.status(), StatusCode::NOT_MODIFIED);
        assert!(
            file(PathParam("../Cargo.toml".to_owned()), RawQuery(None), HeaderMap::new())
                .await
                .is_err()
        );
    }
}
