//! The pages of lift rides.

use rustix::process::Signal;

use crate::{engine::Scripts, scene::Scene, with_scripts_and_without};

with_scripts_and_without!(the_mountain_leads_to_resorts_leaders_and_skiers);

async fn the_mountain_leads_to_resorts_leaders_and_skiers(scripts: Scripts) {
    let scene = Scene::begin(scripts).await;
    let browser = &scene.browser;
    scene.open("/rides").await;
    browser.wait_for_text("No rides yet.").await;
    scene.server.ride([1, 2025, 2, 7], 500, 10);
    scene.server.ride([1, 2025, 3, 7], 501, 20);
    scene.server.ride([1, 2025, 3, 8], 502, 30);
    scene.open("/").await;
    browser.press_and_wait("Rides", "All resorts on day 3").await;
    browser.press_and_wait("Mission Ridge", "2 rides; most by Lift 20: 1.").await;
    assert_eq!(browser.all("svg[role=img]").await.len(), 2);
    browser.press_and_wait("Full leaderboard", "Mission Ridge, season 2025, day 3").await;
    browser.fill("day", "").await;
    browser.press_and_wait("Show", "Mission Ridge, season 2025").await;
    browser.press("Skier 8").await;
    assert_eq!(browser.text("h1").await, "Skier 8");
    browser.press("All resorts").await;
    browser.press_and_wait("Day 2", "All resorts on day 2").await;
    browser.fill("skier", "none").await;
    let said = "The skier number must be a whole number from 1 to 100000.";
    browser.press_and_wait("Show season", said).await;
    browser.fill("skier", "7").await;
    browser.press_and_wait("Show season", "300 m; most on day 3: 200 m.").await;
    assert_eq!(browser.path().await, "/rides/skiers/7");
    scene.end().await;
}

/// Returns the counts of the overview page, and whether the page was reloaded.
const COUNTS: &str = "
    const text = (css) => document.querySelector(css)?.textContent;
    return [
        text('[data-live] [data-count=rides]'),
        text('[data-resort=\"1\"] [data-count=rides]'),
        text('[data-resort=\"1\"] [data-count=vertical]'),
        text('[data-resort=\"2\"] [data-count=skiers]'),
        window.stays,
    ].join();
";

/// Returns the rides of a resort's page, its first leader and the text of its last chart, and whether it was reloaded.
const RESORT: &str = "
    const text = (css) => document.querySelector(css).textContent;
    return [
        text('[data-live] [data-count=rides]'),
        text('.leaders tbody a'),
        text('#lift-chart figcaption'),
        window.stays,
    ].join();
";

#[tokio::test]
async fn a_ride_is_counted_on_the_page_without_loading_it_again() {
    let scene = Scene::begin(Scripts::On).await;
    let browser = &scene.browser;
    scene.server.ride([1, 2025, 3, 7], 500, 10);
    scene.open("/rides").await;
    browser.run_script("window.stays = 'same page'").await;
    browser.wait_for_script(COUNTS, "1,1,100,,same page").await;
    scene.server.ride([1, 2025, 3, 7], 501, 20);
    scene.server.ride([2, 2025, 3, 9], 501, 20);
    browser.wait_for_script(COUNTS, "3,2,300,1,same page").await;
    assert!(browser.is_shown("[data-minute]").await, "the first rides are told at once");
    browser.wait_for_text("Rides in the last minute: 2").await;
    assert!(!browser.is_shown("[data-newer]").await);
    scene.server.ride([2, 2025, 4, 9], 1, 20);
    browser.wait_for_text("A new day has started").await;
    browser.press_and_wait("A new day has started", "All resorts on day 4").await;

    scene.server.ride([1, 2025, 4, 7], 1, 20);
    scene.open("/rides/resorts/1").await;
    browser.run_script("window.stays = 'same page'").await;
    browser.wait_for_script(RESORT, "1,Skier 7,1 ride; most by Lift 20: 1.,same page").await;
    assert!(browser.is_shown("[data-connected]").await);
    browser.press("Show as table").await;
    scene.server.ride([1, 2025, 4, 9], 1, 40);
    browser.wait_for_script(RESORT, "2,Skier 9,2 rides; most by Lift 20: 1.,same page").await;
    scene.server.ride([2, 2025, 5, 9], 1, 20);
    scene.server.ride([1, 2025, 5, 9], 1, 20);
    browser.wait_for_text("A new day has started").await;
    browser.press_and_wait("A new day has started", "Season 2025, day 5").await;
    scene.end().await;
}

/// Returns whether the page shows that the connection is lost.
const IS_LOST: &str = "return String(!document.querySelector('[data-lost]').hidden)";

#[tokio::test]
async fn the_page_reconnects_to_the_server() {
    let scene = Scene::begin(Scripts::On).await;
    scene.server.ride([1, 2025, 3, 7], 500, 10);
    scene.open("/rides").await;
    let Scene { browser, server, lodge, target: _target, .. } = scene;
    browser.run_script("window.stays = 'same page'").await;
    browser.wait_for_script(COUNTS, "1,1,100,,same page").await;
    let address = server.address;
    assert_eq!(server.stop(), Some(0));
    browser.wait_for_script(IS_LOST, "true").await;
    // On another address, which the page does not know.
    let meanwhile = lodge.start();
    meanwhile.ride([1, 2025, 3, 7], 501, 20);
    assert_eq!(meanwhile.stop(), Some(0));
    let _server = lodge.start_at(address);
    browser.wait_for_script(COUNTS, "2,2,300,,same page").await;
    browser.wait_for_script(IS_LOST, "false").await;
    assert!(!browser.is_shown("[data-minute]").await, "the time of the rides is unknown");
}

#[tokio::test]
async fn a_page_without_heartbeats_says_so_and_reconnects() {
    let scene = Scene::begin(Scripts::On).await;
    let (browser, server) = (&scene.browser, &scene.server);
    server.ride([1, 2025, 3, 7], 500, 10);
    scene.open("/rides").await;
    browser.wait_for_script(COUNTS, "1,1,100,,").await;
    // From the next event on, the page's timeout is 1.25 s instead of 25 s.
    let hasty = "
        const later = window.setTimeout;
        window.setTimeout = (work, time) => later(work, time === 25000 ? 1250 : time);
        window.stays = 'same page';
    ";
    browser.run_script(hasty).await;
    server.ride([1, 2025, 3, 7], 501, 10);
    browser.wait_for_script(COUNTS, "2,2,200,,same page").await;
    server.signal(Signal::STOP);
    browser.wait_for_script(IS_LOST, "true").await;
    server.signal(Signal::CONT);
    server.ride([1, 2025, 3, 7], 502, 10);
    browser.wait_for_script(COUNTS, "3,3,300,,same page").await;
    browser.wait_for_script(IS_LOST, "false").await;
    scene.end().await;
}
