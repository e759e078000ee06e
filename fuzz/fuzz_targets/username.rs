//! Any text: an accepted username or nickname is its own normal form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lodge_domain::accounts::{Email, Nickname, Username};

fuzz_target!(|text: &str| {
    if let Ok(name) = Username::parse(text) {
        assert!((1..=30).contains(&name.as_str().chars().count()));
        assert_eq!(Username::parse(name.as_str()).ok(), Some(name));
    }
    if let Ok(name) = Nickname::parse(text) {
        assert!((1..=30).contains(&name.as_str().chars().count()));
        assert_eq!(Nickname::parse(name.as_str()).ok(), Some(name));
    }
    if let Ok(email) = Email::parse(text) {
        assert_eq!(Email::parse(email.as_str()).ok(), Some(email));
    }
});
