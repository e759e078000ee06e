//! Whatever somebody writes on the board: its HTML has no tag but ours, each is closed, and it is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lodge_domain::board::{Body, html};

#[path = "../../crates/domain/src/board/sound_html.rs"]
mod sound_html;

fuzz_target!(|text: &str| {
    let Ok(body) = Body::parse(text) else { return };
    let html = html(body.as_str());
    assert!(!html.is_empty());
    sound_html::check(&html);
});
