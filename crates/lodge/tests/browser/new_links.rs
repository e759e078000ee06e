//! Creating and following links.

use serde_json::json;

use crate::{
    browser::Browser, engine::Scripts, scene::Scene, target::arrived, with_scripts_and_without,
};

with_scripts_and_without!(
    a_person_makes_a_link_follows_it_and_sees_the_click_in_the_chart,
    wrong_input_is_explained_beside_its_field_and_nothing_is_stored,
);

async fn a_person_makes_a_link_follows_it_and_sees_the_click_in_the_chart(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.open("/").await;
    browser.fill("target", &scene.target.url("/a/long/path?with=more")).await;
    browser.press_and_wait("Create link", "Your link is ready.").await;
    let home = browser.path().await;
    assert!(browser.attribute("#url", "href").await.starts_with(&scene.origin));
    browser.reload().await;
    browser.one(".secret").await;
    assert!(!browser.page().await.contains("Your link is ready."), "the notice is shown once");

    browser.one("#url").await.click().await.unwrap();
    browser.wait_for_text(&arrived("/a/long/path?with=more")).await;

    scene.open(&home).await;
    browser.press_and_wait("Statistics", "Since the link was created").await;
    reload_until(browser, "h1", "1 click").await;
    assert_eq!(browser.text("#time").await, "Clicks by hour", "of a young link");
    let chart = browser.attribute(".chart svg", "aria-labelledby").await;
    assert_eq!(chart, "chart-title chart-text", "the chart is labelled for screen readers");
    let said = browser.text(".chart figcaption").await;
    assert!(said.starts_with("1 click from "), "{said}");
    let bars = browser.all(".chart .bar").await;
    assert_eq!(bars.len(), 1, "one hour has clicks");
    let (_, _, width, height) = bars[0].rectangle().await.unwrap();
    assert!(width > 5.0 && height > 50.0, "the bar is visible: {width} × {height}");

    let referrers = browser.text(".card:has(#referrers) .shares").await;
    assert_eq!(referrers.split_whitespace().collect::<Vec<_>>(), ["Direct", "1"]);

    browser.press("24 hours").await;
    browser.one(".tabs [aria-current][href$='period=24h']").await;
    assert_eq!(browser.all(".chart .slot").await.len(), 24);
    scene.end().await;
}

/// Reloads until the element has the text: clicks are counted asynchronously.
async fn reload_until(browser: &Browser, css: &str, wanted: &str) {
    let look = async || {
        browser.reload().await;
        if browser.text(css).await == wanted { Ok(()) } else { Err(browser.page().await) }
    };
    browser.eventually(wanted, look).await;
}

async fn wrong_input_is_explained_beside_its_field_and_nothing_is_stored(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    let tag = "x".repeat(51);
    let typed = [
        ("target", "javascript:alert(1)"),
        ("short", "api"),
        ("max_clicks", "0"),
        ("tags", tag.as_str()),
    ];
    scene.open("/").await;
    browser.press("More options").await;
    browser.fill_in(&typed).await;
    browser.press_and_wait("Create link", "There is a problem").await;
    for (field, value) in typed {
        message_is_beside(browser, field).await;
        assert_eq!(browser.value(field).await, value, "{field} keeps its value");
    }
    assert!(!browser.has("#expires_at-error").await, "an empty field is valid");
    assert_eq!(scene.server.links_stored(), 0);

    // Valid fields keep their values.
    scene.create(None, "taken", "/first", json!({}));
    let target = scene.target.url("/second");
    browser.fill_in(&[("target", &target), ("short", "taken"), ("tags", "a, b")]).await;
    browser.fill("max_clicks", "5").await;
    browser.press("Create link").await;
    browser.one("#short-error").await;
    message_is_beside(browser, "short").await;
    assert_eq!(browser.value("target").await, target);
    let taken = scene.server.get("/taken");
    assert_eq!(
        taken.location(),
        Some(scene.target.url("/first").as_str()),
        "the target is unchanged"
    );
    assert_eq!(scene.server.links_stored(), 1);

    browser.fill("short", "free").await;
    browser.press_and_wait("Create link", "Your link is ready.").await;
    browser.wait_for_text("(0 of at most 5 used)").await;
    assert_eq!(scene.server.links_stored(), 2);
    scene.end().await;
}

/// Asserts that the error is visible below its field, and associated with it for screen readers.
async fn message_is_beside(browser: &Browser, field: &str) {
    let message = browser.one(&format!(".field:has(#{field}) #{field}-error")).await;
    assert!(message.is_displayed().await.unwrap(), "the error of {field} is visible");
    assert!(!message.text().await.unwrap().is_empty());
    let (_, top, _, _) = message.rectangle().await.unwrap();
    let (_, y, _, height) = browser.one(&format!("#{field}")).await.rectangle().await.unwrap();
    let apart = top - (y + height);
    assert!((0.0..40.0).contains(&apart), "{field} and its error are {apart} px apart");
    let input = format!("#{field}[aria-invalid=true][aria-describedby~={field}-error]");
    assert!(browser.has(&input).await, "{field} is associated with its error");
}
