//! Any text: an accepted short is one path segment, unchanged by a URL parser.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lodge_domain::links::{Short, Target};

fuzz_target!(|text: &str| {
    let Ok(short) = Short::parse(text) else { return };
    assert_eq!(short.as_str(), text);
    assert!((1..=128).contains(&text.len()));
    let url = format!("https://go.example.org/{short}");
    assert_eq!(Target::parse(&url).ok().map(|target| target.to_string()), Some(url));
});
