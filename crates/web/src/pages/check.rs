//! Checks of rendered pages, for tests.

use std::collections::HashSet;

use askama::Template;

use super::Navigation;
use crate::{accounts, board, links, rides};

/// The navigation of a site with all apps.
pub(crate) const EVERYTHING: Navigation =
    Navigation([Some(links::MENU), Some(board::MENU), Some(rides::MENU), Some(accounts::MENU)]);

/// The size limit of a page with its assets, in bytes.
pub(crate) const BYTES_MAX: usize = 50_000;

/// Hostile input.
pub(crate) const HOSTILE_INPUT: &str = "\"><script>alert(1)</script><b onclick='x'>";

/// Renders a page, checks it, and checks that hostile input is escaped.
pub(crate) fn rendered(page: &impl Template) -> String {
    rendered_within(page, BYTES_MAX)
}

/// The same with another size limit.
pub(crate) fn rendered_within(page: &impl Template, bytes_max: usize) -> String {
    let html = super::rendered(page, EVERYTHING).unwrap();
    sound_within(&html, bytes_max);
    assert!(!html.contains("<script>") && !html.contains("<b onclick"), "not escaped: {html}");
    html
}

/// Panics if a page violates the rules for all pages.
pub(crate) fn sound(html: &str) {
    sound_within(html, BYTES_MAX);
}

/// The same with another size limit.
pub(crate) fn sound_within(html: &str, bytes_max: usize) {
    assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"), "{html}");
    assert_eq!(html.matches("<h1").count(), 1, "one h1: {html}");
    assert_eq!(html.matches("<main").count(), 1, "one main");
    assert!(html.contains("href=\"#main\"") && html.contains("id=\"main\""), "a skip link");
    let loads = |name: &&str| html.contains(&format!("\"/assets/{name}?"));
    let assets = [
        "lodge.css",
        "lodge.js",
        "account.js",
        "admin.css",
        "admin.js",
        "rides.js",
        "rides.css",
        "board.js",
        "board_more.js",
        "board.css",
        "icon.svg",
    ];
    let assets = assets.into_iter().filter(loads);
    let weight = html.len() + assets.map(asset_bytes).sum::<usize>();
    assert!(weight < bytes_max, "{weight} bytes");
    headings_in_order(html);
    let tags: Vec<&str> = tags(html).collect();
    let ids: Vec<&str> = tags.iter().filter_map(|tag| attribute(tag, "id")).collect();
    let unique: HashSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "duplicate id: {ids:?}");
    for tag in &tags {
        let outside_values: String = tag.split('"').step_by(2).collect();
        let names = |start: &str| {
            outside_values
                .split_whitespace()
                .any(|word| word.starts_with(start) && word.ends_with('='))
        };
        assert!(!names("style") && !tag.starts_with("style"), "inline style: {tag}");
        assert!(!names("on"), "inline script: {tag}");
        for source in
            [attribute(tag, "src"), attribute(tag, "href").filter(|_| tag.starts_with("link"))]
                .into_iter()
                .flatten()
        {
            let is_asset = source.starts_with("/assets/") && source.contains("?v=");
            let is_picture =
                source.starts_with("/-/pictures/") || source.starts_with("/board/-/pictures/");
            assert!(is_asset || is_picture, "foreign: {tag}");
        }
        assert!(
            !tag.starts_with("script") || attribute(tag, "src").is_some(),
            "inline script: {tag}"
        );
        for name in ["aria-describedby", "aria-labelledby"] {
            for id in attribute(tag, name).into_iter().flat_map(str::split_whitespace) {
                assert!(unique.contains(id), "{name} leads nowhere: {tag}");
            }
        }
        if is_field(tag) {
            let id = attribute(tag, "id").unwrap_or_default();
            assert!(
                tags.iter()
                    .any(|other| other.starts_with("label") && attribute(other, "for") == Some(id)),
                "no label: {tag}"
            );
        }
    }
}

fn asset_bytes(name: &str) -> usize {
    std::fs::metadata(format!("{}/assets/{name}", env!("CARGO_MANIFEST_DIR")))
        .map_or(0, |file| usize::try_from(file.len()).unwrap())
}

/// Yields the content of opening tags; our pages escape a `>` in a value.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    let parts = html.split('<').skip(1).filter_map(|part| part.split_once('>')).map(|(tag, _)| tag);
    parts.filter(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

fn is_field(tag: &str) -> bool {
    let named = ["input", "select", "textarea"].iter().any(|name| tag.starts_with(name));
    named && attribute(tag, "type") != Some("hidden")
}

fn headings_in_order(html: &str) {
    let mut before = 0;
    for tag in tags(html)
        .filter(|tag| tag.starts_with('h') && tag.as_bytes().get(1).is_some_and(u8::is_ascii_digit))
    {
        let level = tag.as_bytes()[1] - b'0';
        assert!(level <= before + 1, "h{level} after h{before}");
        before = level;
    }
}
