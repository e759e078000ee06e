//! The picture in the README, of a real page: `cargo test -p lodge --test browser readme`.

use std::path::Path;

use serde_json::json;

use crate::{engine::Scripts, scene::Scene, server::Lodge};

/// The clicks on the link of the picture.
const CLICKS: u64 = 248;

/// The picture, which is copied to `docs/links.png` if it is good.
const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/links.png");

#[tokio::test]
async fn the_picture_shows_the_page_of_a_link() {
    let lodge = Lodge::new().with("LODGE_PUBLIC_URL", "http://go.example");
    let scene = Scene::begin_on(lodge, Scripts::On).await;
    let (browser, server) = (&scene.browser, &scene.server);
    let link = server.create(&json!({
        "short": "lifts",
        "target": "https://www.example.com/the-mountain/lifts-open-today?from=tower-4",
        "tags": ["tower 4", "winter"],
    }));
    for _ in 0..CLICKS {
        server.ask("GET", "/lifts").browser().send();
    }
    let look = async || match server.clicks(&link, "day")["total"].as_u64() {
        Some(CLICKS) => Ok(()),
        clicks => Err(format!("{clicks:?} clicks")),
    };
    browser.eventually("all clicks", look).await;

    browser.set_size(1280, 800).await;
    scene.open("/links/lifts").await;
    browser.fill("manage_key", link["manage_key"].as_str().unwrap()).await;
    browser.press_and_wait("Open", "248").await;
    browser.save_picture(Path::new(PICTURE)).await;
    scene.end().await;
}
