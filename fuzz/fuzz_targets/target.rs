//! Any text: an accepted target is an ASCII http or https URL without control characters, is its own
//! normal form, and is valid in a header.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lodge_domain::links::{Origin, Target};

fuzz_target!(|text: &str| {
    let Ok(target) = Target::parse(text) else { return };
    let url = target.as_str();
    assert!(url.starts_with("http://") || url.starts_with("https://"), "{url}");
    assert!(url.len() <= 8 * 1024);
    assert!(url.bytes().all(|byte| (0x21..0x7f).contains(&byte)), "{url:?}");
    assert!(!target.host().is_empty(), "{url}");
    assert_eq!(Target::parse(url).ok().as_ref(), Some(&target));
    target.loops_to(&Origin::from_host_header("go.example.org"));
});
