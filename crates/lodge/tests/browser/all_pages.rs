//! A tour of every page: accessible, small, without requests to other sites.

use std::cmp::Reverse;

use http::Method;
use lodge_web::HttpService;
use serde_json::json;

use crate::{
    axe, browser::Browser, engine::Scripts, log::Request, scene::Scene, tour,
    with_scripts_and_without,
};

with_scripts_and_without!(
    every_page_is_accessible_fits_a_phone_is_small_and_loads_nothing_from_other_sites,
);

/// The maximum size of a page with its subresources, in bytes.
const BYTES_MAX: u64 = 50_000;

/// The same for the API documentation, which describes every route of every app.
const DOCS_BYTES_MAX: u64 = 190_000;

/// Starts of the GET routes that are no pages.
const NO_PAGES: [&str; 20] = [
    "/-/pictures/",
    "/account/export",
    // Redirects to the account page.
    "/account/password",
    "/account/picture",
    "/account/providers/",
    "/account/sessions",
    "/account/unlink",
    "/api/",
    "/assets/",
    "/board/-/names",
    "/board/-/pictures/",
    "/board/-/unread",
    "/board/{channel}/live",
    "/board/{channel}/since",
    "/favicon.ico",
    "/login/by/",
    "/resorts",
    "/robots.txt",
    "/skiers/",
    // A page that only a sign-in provider leads to; see `providers.rs`.
    "/signup/name",
];

async fn every_page_is_accessible_fits_a_phone_is_small_and_loads_nothing_from_other_sites(
    scripts: Scripts,
) {
    let scene = Scene::begin_on(tour::installation(), scripts).await;
    let browser = &scene.browser;
    browser.set_phone_size().await;
    browser.without_cache().await;
    let (mut wrong, mut pages) = (Vec::new(), Vec::new());
    tour::every_page(&scene, async |name: &str| {
        browser.wait_for_script("return document.readyState", "complete").await;
        let found = [looks(browser, scripts).await, loads(browser, scripts, &scene.origin).await];
        let mut found = found.concat();
        if scripts == Scripts::On {
            found.extend(axe::violations(browser).await);
        }
        wrong.extend(found.into_iter().map(|what| format!("{name}: {what}")));
        pages.push(browser.path().await);
    })
    .await;
    assert!(wrong.is_empty(), "of {} pages: {wrong:#?}", pages.len());
    assert_eq!(left_out(&pages), [""; 0], "pages that are not in the tour");
    scene.end().await;
}

/// Returns the routes of pages that none of these paths leads to.
fn left_out(visited: &[String]) -> Vec<String> {
    let is_page = |path: &String| !NO_PAGES.iter().any(|start| path.starts_with(start));
    let routes = HttpService::routes().into_iter().filter(|(method, _)| method == Method::GET);
    let mut pages: Vec<String> = routes.map(|(_, path)| path).filter(is_page).collect();
    // Of two routes that match a path, the one with more literal segments is taken.
    pages.sort_by_key(|route| Reverse(segments(route).filter(|part| !is_parameter(part)).count()));
    let routes: Vec<_> =
        visited.iter().map(|path| pages.iter().position(|route| leads_to(route, path))).collect();
    let seen = |index| routes.contains(&Some(index));
    pages.into_iter().enumerate().filter(|(index, _)| !seen(*index)).map(|(_, path)| path).collect()
}

fn leads_to(route: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    segments(route).count() == segments(path).count()
        && segments(route).zip(segments(path)).all(|(part, is)| is_parameter(part) || part == is)
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').skip(1)
}

fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{')
}

/// Makes labels unreadable, in the dark only.
const DIM_LABELS: &str = "
    const [sheet] = document.styleSheets;
    sheet.insertRule('@media (prefers-color-scheme: dark) { label { color: #333 } }', sheet.cssRules.length);
";

#[tokio::test]
async fn a_page_that_is_unreadable_in_the_dark_is_found() {
    let scene = Scene::begin(Scripts::On).await;
    scene.open("/login").await;
    scene.browser.run_script(DIM_LABELS).await;
    let found = axe::violations(&scene.browser).await;
    let is_expected = |line: &String| line.starts_with("dark") && line.contains("color-contrast");
    assert!(!found.is_empty() && found.iter().all(is_expected), "{found:#?}");
    scene.end().await;
}

/// Returns the problems of the page's layout.
async fn looks(browser: &Browser, scripts: Scripts) -> Vec<String> {
    let said = browser.run_script(LOOK).await;
    let buttons = if scripts == Scripts::On { "waiting" } else { "idle" };
    let promised = [
        ("width in a window of 360", &said["width"], json!(360)),
        ("number of h1", &said["headings"], json!(1)),
        ("fields without a label", &said["unnamed"], json!([])),
        ("buttons that need scripts", &said[buttons], json!([])),
    ];
    let broken = promised.into_iter().filter(|(_, is, should)| *is != should);
    broken.map(|(what, is, _)| format!("{what}: {is}; too wide: {}", said["wide"])).collect()
}

/// Returns the width of the page and its problematic elements.
const LOOK: &str = "
    const root = document.documentElement;
    const all = (css) => [...document.querySelectorAll(css)];
    const tags = (elements) => elements.map((element) => element.outerHTML.slice(0, 120));
    const fields = all('input:not([type=hidden]), select, textarea');
    const named = (field) => [...field.labels].some((label) => label.textContent.trim());
    const buttons = all('button[type=button]:not([popovertarget])');
    const right = (element) => element.getBoundingClientRect().right;
    return {
        width: Math.max(root.scrollWidth, root.clientWidth, innerWidth),
        wide: tags(all('body *').filter((element) => right(element) > innerWidth).slice(-3)),
        headings: all('h1').length,
        unnamed: tags(fields.filter((field) => !named(field))),
        idle: tags(buttons.filter((button) => !button.hidden)),
        waiting: tags(buttons.filter((button) => button.hidden)),
    };
";

/// Returns the problems of the page's requests, and the errors in the browser's log.
async fn loads(browser: &Browser, scripts: Scripts, origin: &str) -> Vec<String> {
    let most = if browser.path().await == "/api/docs" { DOCS_BYTES_MAX } else { BYTES_MAX };
    let log = browser.read_log().await;
    let mut wrong: Vec<String> = log.errors.clone();
    let page = log.newest_page();
    let bytes: u64 = page.iter().map(|asked| asked.bytes).sum();
    if !(1000..most).contains(&bytes) {
        wrong.push(format!("{bytes} bytes: {page:?}"));
    }
    let fetched = |what: &str| page.iter().any(|asked| asked.url.contains(what));
    if !fetched("lodge.css") || fetched("lodge.js") != (scripts == Scripts::On) {
        wrong.push(format!("it loads {page:?}"));
    }
    // A data URL is not requested from a server.
    let own = |asked: &Request| {
        asked.url.starts_with("data:") || asked.url.starts_with(&format!("{origin}/"))
    };
    let others = log.requests.iter().filter(|asked| !own(asked));
    wrong.extend(others.map(|asked| format!("it requests {}", asked.url)));
    wrong
}
