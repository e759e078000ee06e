//! Password-protected links.

use crate::{engine::Scripts, scene::Scene, target::arrived, with_scripts_and_without};

with_scripts_and_without!(a_protected_link_opens_only_with_its_password);

async fn a_protected_link_opens_only_with_its_password(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.open("/").await;
    browser.fill_in(&[("target", &scene.target.url("/secret")), ("short", "secret")]).await;
    browser.press("More options").await;
    browser.fill("password", "open sesame").await;
    browser.press_and_wait("Create link", "Your link is ready.").await;

    scene.open("/secret").await;
    assert_eq!(browser.text("h1").await, "This link needs a password");
    assert!(!browser.page().await.contains(&scene.target.url("")), "the target is not revealed");
    let said = browser.is_refused(&[("password", "open barley")], "Continue", "password").await;
    assert!(said.contains("password"), "{said}");
    assert_eq!(browser.value("password").await, "", "a password is never sent back");

    // The form-action policy of this page, unlike of others, must allow a redirect to another origin.
    browser.fill("password", "open sesame").await;
    browser.press_and_wait("Continue", &arrived("/secret")).await;
    scene.end().await;
}
