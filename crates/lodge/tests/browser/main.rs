//! What Lodge promises to people, tried on the real binary with a real browser, with scripts and
//! without; what is live, in a second browser. It needs Chromium, its driver and Lynx, and fails
//! without them; tests in Firefox, which are ignored unless they are asked for, need that and its driver.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

#[path = "../it/client.rs"]
#[expect(dead_code, reason = "a browser asks for most of what these tests ask")]
mod client;
#[path = "../it/installed.rs"]
mod installed;
#[path = "../it/provider.rs"]
#[expect(dead_code, reason = "a browser goes through the provider's pages")]
mod provider;
#[path = "../it/server.rs"]
#[expect(dead_code, reason = "these tests start servers and look at them from outside")]
mod server;

mod browser;
mod driver;
mod engine;
mod log;
mod proxy;
mod scene;
mod target;
mod tour;

mod account;
mod ask;
mod board;
mod board_in_text;
mod board_proxied;
mod board_tabs;
mod list;
mod make;
mod manage;
mod pages;
mod providers;
mod rides;
mod scripts;

/// Makes two tests of one: in a browser that runs scripts, and in one that does not.
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

/// Makes two tests of one that needs scripts: in Chromium, and in Firefox, which `cargo xtask nightly` runs.
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

/// Makes a test of one that needs scripts, in Chromium alone: what each browser does in its own way is in few.
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
