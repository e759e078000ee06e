//! Enhancements by scripts, and repeated submits.

use crate::{browser::Browser, engine::Scripts, scene::Scene, with_scripts_and_without};

with_scripts_and_without!(a_form_that_is_sent_twice_makes_one_link);

#[tokio::test]
async fn the_copy_button_says_that_it_copied() {
    let scene = Scene::begin(Scripts::On).await;
    let browser = &scene.browser;
    scene.make("copied", "/").await;
    browser.press("Copy").await;
    browser.wait_for_script(SAID, "Copied, said aloud: Copied").await;
    // Paste it into a field to read the clipboard.
    scene.open("/").await;
    browser.paste("target").await;
    assert_eq!(browser.value("target").await, format!("{}/copied", scene.origin));
    scene.end().await;
}

/// Returns the text of the button and of the live region for screen readers.
const SAID: &str = "
    const status = document.querySelector('p[role=status]:not(.notice)');
    return `${document.querySelector('.result button').textContent}, said aloud: ${status.textContent}`;
";

/// Submits the form twice, each time into a new window.
const SEND_TWICE: &str = "
    const form = document.querySelector('form.card');
    form.target = '_blank';
    form.requestSubmit();
    form.requestSubmit();
";

async fn a_form_that_is_sent_twice_makes_one_link(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    fill_in(&scene, browser).await;
    browser.press_twice("Create link").await;
    browser.wait_for_text("Your link is ready.").await;
    assert_eq!(scene.server.links_stored(), 1);

    // In one window a browser drops the first of two responses; in two windows it shows both.
    fill_in(&scene, browser).await;
    browser.run_script(SEND_TWICE).await;
    let made = browser.windows_at("/links/", 2).await;
    assert_eq!(made[0], made[1], "both windows show the same link");
    assert_eq!(scene.server.links_stored(), 2);
    scene.end().await;
}

async fn fill_in(scene: &Scene, browser: &Browser) {
    scene.open("/").await;
    browser.fill("target", &scene.target.url("/once")).await;
}
