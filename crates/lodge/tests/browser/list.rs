//! The list of the links of an API key.

use serde_json::json;

use crate::{browser::Browser, engine::Scripts, scene::Scene, with_scripts_and_without};

with_scripts_and_without!(a_key_owner_signs_in_finds_their_links_and_signs_out);

/// Links per page of the list.
const PAGE: usize = 20;

async fn a_key_owner_signs_in_finds_their_links_and_signs_out(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    let (key, other) = (scene.lodge.key("Ann's laptop"), scene.lodge.key("other"));
    for number in 1..=45 {
        let tag = if number % 2 == 0 { "even" } else { "odd" };
        let path = if number == 7 { "/needle" } else { "/hay" };
        scene.create(Some(&key), &format!("link-{number}"), path, json!({"tags": [tag]}));
    }
    scene.create(Some(&other), "not-mine", "/needle", json!({"tags": ["even"]}));

    scene.open("/links").await;
    browser.wait_for_text("Sign in").await;
    assert_eq!(browser.path().await, "/login?next=/links");
    browser.press("Sign in with an API key").await;
    let wrong = [("api_key", "lodge_wrong")];
    let said = browser.is_refused(&wrong, "Sign in with the key", "api_key").await;
    assert_eq!(said, "This API key is unknown or revoked.");
    browser.fill("api_key", &key).await;
    browser.press_and_wait("Sign in with the key", "Created with the key Ann's laptop").await;

    let newest_first = |numbers: std::ops::RangeInclusive<usize>| names(numbers.rev());
    assert_eq!(shorts(browser).await, newest_first(26..=45));
    browser.press("Older").await;
    browser.one(".pager a[href='/links']").await;
    assert_eq!(shorts(browser).await, newest_first(6..=25));
    browser.press("Older").await;
    browser.one(".rows li:nth-child(5):last-child").await;
    assert_eq!(shorts(browser).await, newest_first(1..=5));
    assert!(!browser.has(".pager [rel=next]").await, "there are no older ones");
    browser.press("Newest").await;
    browser.one(".rows li:nth-child(20)").await;

    browser.fill("search", "needle").await;
    browser.press("Search").await;
    browser.one(".rows li:only-child").await;
    assert_eq!(shorts(browser).await, names([7]), "of their own links only");
    browser.press("Clear").await;
    browser.one(".rows li:nth-child(20)").await;

    browser.press("even").await;
    browser.one(".filtered").await;
    let even: Vec<_> = (2..=44).rev().step_by(2).collect();
    assert_eq!(shorts(browser).await, names(even[..PAGE].iter().copied()));
    browser.press("Older").await;
    browser.one(".rows li:nth-child(2):last-child").await;
    assert_eq!(shorts(browser).await, names([4, 2]), "the filter holds on the next page");
    browser.fill("search", "link-4").await;
    browser.press("Search").await;
    browser.one(".rows li:nth-child(4):last-child").await;
    assert_eq!(shorts(browser).await, names([44, 42, 40, 4]), "the search is within the tag");
    browser.press_and_wait("Remove filter", "link-45").await;
    browser.fill("search", "odd link-9").await;
    browser.press("Search").await;
    browser.one(".rows li:only-child").await;
    assert_eq!(shorts(browser).await, names([9]), "a search finds tags");
    browser.fill("search", "nothing").await;
    browser.press_and_wait("Search", "No links match the filter.").await;
    browser.press("Clear the filter").await;
    browser.one(".rows li:nth-child(20)").await;

    let short_url = format!("{}/link-45", scene.origin);
    assert_eq!(browser.attribute(".short", "href").await, short_url);
    if scripts == Scripts::On {
        browser.press("Copy").await;
        browser.wait_for_script(SAID, "Copied, said aloud: Copied").await;
        assert!(browser.has(".tools button svg").await, "the icon stays");
    }
    browser.press("QR code").await;
    assert_eq!(browser.text("h1").await, "Scan to open");

    // An owner manages a link without its manage key.
    scene.open("/links?search=link-4&tag=even").await;
    browser.press_and_wait("Edit", "Your short link").await;
    assert_eq!(browser.path().await, "/links/link-44#edit");

    scene.open("/links").await;
    browser.press_and_wait("Sign out", "Long address,").await;
    scene.open("/links").await;
    assert_eq!(browser.path().await, "/login?next=/links");
    scene.open("/links/link-44").await;
    assert_eq!(browser.text("h1").await, "Is this link yours?");
    scene.end().await;
}

/// Returns the text of the first copy button and of the live region for screen readers.
const SAID: &str = "
    const status = document.querySelector('p[role=status]:not(.notice)');
    return `${document.querySelector('.tools button').textContent}, said aloud: ${status.textContent}`;
";

/// Returns the shorts in the list, from top to bottom.
async fn shorts(browser: &Browser) -> Vec<String> {
    let mut shorts = Vec::new();
    for row in browser.all(".rows .short").await {
        let text = row.text().await.unwrap();
        shorts.push(text.rsplit('/').next().unwrap_or_default().to_owned());
    }
    shorts
}

fn names(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("link-{number}")).collect()
}
