//! The board behind a proxy that buffers, delays or cuts responses.

use crate::{
    board::{MESSAGES, SORTED_MESSAGES, stored, two_members_in, write},
    board_tabs::{ApiMember, busy},
    engine::Engine,
    in_chromium, in_each_browser,
    proxy::Treatment,
    scene::Scene,
    server::eventually_true,
};

in_each_browser!(members_chat_behind_a_proxy_that_buffers_streams);
in_chromium!(
    events_streamed_during_a_catch_up_appear_once_and_in_order,
    two_tabs_send_each_message_once_whichever_is_closed,
);

async fn members_chat_behind_a_proxy_that_buffers_streams(engine: Engine) {
    let scene = Scene::begin_behind_proxy(busy(), engine).await;
    scene.proxy().rule(&[("/live", Treatment::Buffered)]);
    let (scene, other) = two_members_in(scene).await;
    let (browser, proxy) = (&scene.browser, scene.proxy());
    write(browser, "Is anybody there?").await;
    other.wait_for_script(MESSAGES, "Is anybody there?; same page").await;
    write(&other, "Yes.").await;
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGES, "Is anybody there?,Yes.; same page").await;
        assert!(!browser.is_shown("[data-lost]").await);
    }
    // Now only the streams deliver messages.
    proxy.rule(&[("/since", Treatment::Cut)]);
    write(browser, "Good.").await;
    for browser in [browser, &other] {
        browser.wait_for_script(MESSAGES, "Is anybody there?,Yes.,Good.; same page").await;
    }
}

async fn events_streamed_during_a_catch_up_appear_once_and_in_order(engine: Engine) {
    let scene = Scene::begin_behind_proxy(busy(), engine).await;
    let (browser, proxy) = (&scene.browser, scene.proxy());
    browser.sign_up("ada").await;
    let bob = ApiMember::start(&scene.server, "bob");
    browser.press("Board").await;
    bob.write("0");
    browser.wait_for_text("bob").await;
    proxy.rule(&[("/live", Treatment::Cut), ("/since", Treatment::Held)]);
    let before = proxy.requests_with("/since");
    let count = 130;
    (1..count - 1).for_each(|number| bob.write(&number.to_string()));
    eventually_true("the page catches up", || proxy.requests_with("/since") > before);
    proxy.rule(&[("/since", Treatment::Held)]);
    browser.wait_for_script(LAST, &(count - 2).to_string()).await;
    bob.write(&(count - 1).to_string());
    proxy.rule(&[]);
    let whole = (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    browser.wait_for_script(MESSAGES, &format!("{whole}; undefined")).await;
    scene.browser.run_script("document.dispatchEvent(new Event('visibilitychange'))").await;
    browser.wait_for_script(MESSAGES, &format!("{whole}; undefined")).await;
}

const LAST: &str = "return [...document.querySelectorAll('#messages .said')].at(-1).textContent";

async fn two_tabs_send_each_message_once_whichever_is_closed(engine: Engine) {
    let scene = Scene::begin_behind_proxy(busy(), engine).await;
    let (browser, proxy) = (&scene.browser, scene.proxy());
    browser.sign_up("ada").await;
    browser.press_and_wait("Board", "#lobby").await;
    let first = browser.new_tab().await;
    scene.open("/board").await;
    proxy.rule(&[("POST /board/lobby ", Treatment::Cut)]);
    write(browser, "a").await;
    let second = browser.switch_to(first.clone()).await;
    write(browser, "b").await;
    browser.wait_for_script(SORTED_MESSAGES, "; 2; undefined").await;
    proxy.rule(&[]);
    for tab in [&second, &first] {
        browser.switch_to(tab.clone()).await;
        browser.wait_for_script(SORTED_MESSAGES, "a,b; 0; undefined").await;
    }
    // A tab with an unsent message may be closed.
    proxy.rule(&[("POST /board/lobby ", Treatment::Cut)]);
    write(browser, "c").await;
    browser.wait_for_text("Waiting to be sent").await;
    browser.close_for(second).await;
    browser.wait_for_text("Waiting to be sent").await;
    proxy.rule(&[]);
    browser.wait_for_script(SORTED_MESSAGES, "a,b,c; 0; undefined").await;
    assert_eq!(stored(&scene.lodge), 3);
}
