//! Editing and deleting links, and who may do it.

use crate::{engine::Scripts, scene::Scene, target::arrived, with_scripts_and_without};

with_scripts_and_without!(
    an_edit_takes_effect_immediately_and_a_deleted_link_says_so,
    only_a_browser_with_the_manage_key_can_manage_a_link,
);

async fn an_edit_takes_effect_immediately_and_a_deleted_link_says_so(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.make("mine", "/before").await;
    scene.open("/mine").await;
    browser.wait_for_text(&arrived("/before")).await;

    scene.open("/links/mine").await;
    browser.fill("target", &scene.target.url("/after")).await;
    browser.press_and_wait("Save", "Saved. The change is active now.").await;
    assert_eq!(browser.value("target").await, scene.target.url("/after"));
    scene.open("/mine").await;
    browser.wait_for_text(&arrived("/after")).await;

    scene.open("/links/mine").await;
    browser.press("Delete ").await;
    browser.press_and_wait("Yes, delete it", "Link deleted").await;
    scene.open("/mine").await;
    browser.wait_for_text("Error 410").await;
    let page = browser.text("main").await;
    assert!(page.contains("deleted"), "it says why: {page}");
    assert_eq!(scene.server.get("/mine").status, 410);
    scene.end().await;
}

async fn only_a_browser_with_the_manage_key_can_manage_a_link(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    scene.make("mine", "/mine").await;
    let key = scene.browser.text(".secret").await;
    assert!(key.starts_with("manage_"), "{key}");

    let other = scene.another_browser().await;
    for page in ["/links/mine", "/links/mine/stats"] {
        other.open(page).await;
        assert_eq!(other.text("h1").await, "Is this link yours?");
        assert!(!other.has("#target").await && !other.has(".chart").await, "{page}");
        let said = other.page().await;
        assert!(!said.contains(&scene.target.url("/mine")), "the target is not revealed: {said}");
    }
    let edit = scene.server.post("/links/mine").form("target=https%3A%2F%2Fexample.org");
    assert_eq!(edit.send().status, 403, "a form without the cookie changes nothing");

    let wrong = key.replace("manage_", "manage_A");
    let said = other.is_refused(&[("manage_key", &wrong)], "Open", "manage_key").await;
    assert_eq!(said, "This is not the manage key of this link.");

    other.fill("manage_key", &key).await;
    other.press_and_wait("Open", "Your short link").await;
    assert_eq!(other.path().await, "/links/mine");
    other.fill("target", &scene.target.url("/theirs")).await;
    other.press_and_wait("Save", "Saved. The change is active now.").await;
    other.end().await;

    scene.open("/mine").await;
    scene.browser.wait_for_text(&arrived("/theirs")).await;
    scene.end().await;
}
