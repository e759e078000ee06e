//! The API documentation.

use crate::{browser::Browser, engine::Scripts, scene::Scene, with_scripts_and_without};

with_scripts_and_without!(an_operation_opens_by_its_address_and_is_found_by_a_filter);

const COPY: &str = ".op:not([hidden]) .copy";

/// Returns the text of the first visible copy button.
const SAID: &str = "return document.querySelector('.op:not([hidden]) .copy').textContent";

async fn an_operation_opens_by_its_address_and_is_found_by_a_filter(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.open("/api/docs#clicks").await;
    browser.wait_for_text("/api/links/gg/clicks'").await;
    assert!(!browser.page().await.contains("/api/links/gg/qr.svg'"), "others are closed");
    if scripts == Scripts::On {
        filtered(&scene).await;
        menu(browser).await;
    } else {
        assert!(!browser.is_shown("#filter").await, "the filter needs scripts");
    }
    scene.end().await;
}

async fn filtered(scene: &Scene) {
    let browser = &scene.browser;
    browser.fill("filter", "get /api/PROVIDERS").await;
    browser.wait_for_text("1 of ").await;
    assert!(!browser.page().await.contains("Short links\n"), "apps without a result are hidden");
    browser.press("Expand all").await;
    let curl = format!("curl '{}/api/providers'", scene.origin);
    browser.wait_for_text(&curl).await;
    browser.one(COPY).await.click().await.unwrap();
    browser.wait_for_script(SAID, "Copied").await;
    browser.one("#filter").await.clear().await.unwrap();
    browser.paste("filter").await;
    assert_eq!(browser.value("filter").await, curl);

    scene.open("/api/docs#qr_code").await;
    browser.wait_for_text("/api/links/gg/qr.svg'").await;
    assert_eq!(browser.value("filter").await, "", "an address shows an operation that is filtered");
}

/// In a narrow window the contents are a menu, which closes when an entry is chosen.
async fn menu(browser: &Browser) {
    browser.set_phone_size().await;
    assert!(!browser.is_shown("#contents").await);
    browser.press("Contents").await;
    browser.press("webhooks").await;
    browser.wait_for_script("return location.hash", "#group-webhooks").await;
    assert!(!browser.is_shown("#contents").await);
}
