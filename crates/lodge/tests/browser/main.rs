//! Tests of the pages: the real binary with a real browser, with and without scripts, and a second browser for
//! live updates. They require Chromium, chromedriver and Lynx, and fail without them. The tests in Firefox, which
//! are ignored by default, require Firefox and geckodriver.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

#[path = "../it/client.rs"]
#[expect(dead_code, reason = "browsers send most requests of these tests")]
mod client;
#[path = "../it/installed.rs"]
mod installed;
#[path = "../it/provider.rs"]
#[expect(dead_code, reason = "browsers use the provider's pages")]
mod provider;
#[path = "../it/server.rs"]
#[expect(dead_code, reason = "these tests only start and observe servers")]
mod server;

mod axe;
mod browser;
mod driver;
mod engine;
mod log;
mod proxy;
mod scene;
mod target;
mod tour;

mod account;
mod all_pages;
mod api_docs;
mod board;
mod board_in_text;
mod board_proxied;
mod board_tabs;
mod board_writing;
mod list;
mod manage;
mod new_links;
mod pages;
mod protected_links;
mod providers;
mod readme;
mod rides;
mod scripts;

/// Defines two tests per function: with scripts and without.
macro_rules! with_scripts_and_without {
    ($($promise:ident),+ $(,)?) => {$(
        mod $promise {
            #[tokio::test]
            async fn with_scripts() {
                super::$promise(crate::engine::Scripts::On).await;
            }

            #[tokio::test]
            async fn without_scripts() {
                super::$promise(crate::engine::Scripts::Off).await;
            }
        }
    )+};
}
use with_scripts_and_without;

/// Defines two tests per function that needs scripts: in Chromium, and in Firefox for `cargo xtask nightly`.
macro_rules! in_each_browser {
    ($($promise:ident),+ $(,)?) => {$(
        mod $promise {
            #[tokio::test]
            async fn in_chromium() {
                super::$promise(crate::engine::Engine::Chromium).await;
            }

            #[tokio::test]
            #[ignore = "nightly: needs Firefox and its driver"]
            async fn in_firefox() {
                super::$promise(crate::engine::Engine::Firefox).await;
            }
        }
    )+};
}
use in_each_browser;

/// Defines one test, in Chromium, per function that needs scripts but does not depend on the kind of browser.
macro_rules! in_chromium {
    ($($promise:ident),+ $(,)?) => {$(
        mod $promise {
            #[tokio::test]
            async fn in_chromium() {
                super::$promise(crate::engine::Engine::Chromium).await;
            }
        }
    )+};
}
use in_chromium;
