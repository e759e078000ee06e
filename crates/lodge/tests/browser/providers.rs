//! Sign-in with an identity provider, on its pages and on Lodge's.

use crate::{
    account::PASSWORD, axe, browser::Browser, engine::Scripts, provider::OpenIdProvider,
    scene::Scene, with_scripts_and_without,
};

with_scripts_and_without!(
    a_first_provider_sign_in_chooses_a_name_that_later_sign_ins_open,
    a_member_links_a_provider_to_their_account_and_unlinks_it,
);

/// Signs in at the provider and consents to share the profile with Lodge.
async fn consent(browser: &Browser, login: &str) {
    browser.one("[name=login]").await.send_keys(login).await.unwrap();
    browser.one("[name=password]").await.send_keys("any").await.unwrap();
    browser.press("Sign-in").await;
    browser.press("Continue").await;
}

async fn a_first_provider_sign_in_chooses_a_name_that_later_sign_ins_open(scripts: Scripts) {
    let provider = OpenIdProvider::start();
    let scene = Scene::begin_on(provider.lodge(), scripts).await;
    let browser = &scene.browser;
    scene.open("/login").await;
    browser.press("Sign in with Open").await;
    consent(browser, "grace").await;
    browser.wait_for_text("Choose a username").await;
    assert_eq!(browser.value("username").await, "grace", "the provider's username is suggested");
    if scripts == Scripts::On {
        assert_eq!(axe::violations(browser).await, [""; 0]);
        browser.set_window_size().await;
    }
    browser.fill("username", "Amazing-Grace").await;
    browser.press("Create account").await;
    browser.one("#ways").await;
    assert_eq!(browser.text("h1").await, "amazing-grace");
    browser.wait_for_text("Your only way to sign in.").await;

    browser.press_and_wait("Sign out", "Create link").await;
    scene.open("/login?next=/account").await;
    browser.press("Sign in with Open").await;
    // She is still signed in at the provider, which asks for consent again.
    browser.press("Continue").await;
    browser.one("#ways").await;
    assert_eq!(browser.text("h1").await, "amazing-grace");
    scene.end().await;
}

async fn a_member_links_a_provider_to_their_account_and_unlinks_it(scripts: Scripts) {
    let provider = OpenIdProvider::start();
    let scene = Scene::begin_on(provider.lodge(), scripts).await;
    let browser = &scene.browser;
    browser.sign_up("ada").await;
    browser.press("Link Open").await;
    browser.fill("link-open", PASSWORD).await;
    browser.one("[action='/account/providers/open'] button").await.click().await.unwrap();
    consent(browser, "augusta").await;
    browser.one("#ways").await;
    browser.wait_for_text("since").await;

    let other = scene.another_browser().await;
    other.open("/login?next=/account").await;
    other.press("Sign in with Open").await;
    consent(&other, "augusta").await;
    other.one("#ways").await;
    assert_eq!(other.text("h1").await, "ada");

    scene.open("/account").await;
    browser.press("Unlink Open").await;
    browser.fill("unlink-1", PASSWORD).await;
    browser.one("[action='/account/unlink'] button").await.click().await.unwrap();
    browser.press("Link Open").await;
    scene.end().await;
}
