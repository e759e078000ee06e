//! What Lodge promises to people, tried on the real binary with a real browser, with scripts and
//! without. It needs Chromium and its driver, and fails without them.

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
mod log;
mod scene;
mod target;
mod tour;

mod account;
mod ask;
mod board;
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
                super::$promise(crate::browser::Scripts::On).await;
            }

            #[tokio::test]
            async fn without_scripts() {
                super::$promise(crate::browser::Scripts::Off).await;
            }
        }
    )+};
}
use with_scripts_and_without;
