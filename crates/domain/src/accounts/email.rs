//! E-mail addresses: optional, and never an identity.

use crate::{Error, Result, text::parsed_text};
use email_address::{EmailAddress, Options};

parsed_text! {
    /// An e-mail address (RFC 5321 and 5322) without a display name; its ownership is not verified.
    #[derive(Debug)]
    pub struct Email(Box<str>);
}

impl Email {
    /// Parses an address as typed.
    pub fn parse(typed: &str) -> Result<Self> {
        let typed = typed.trim();
        match EmailAddress::parse_with_options(typed, Options::default().without_display_text()) {
            Ok(_) => Ok(Self(typed.into())),
            Err(_) => Err(Error::invalid("email", "must be an address such as ada@example.org")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_address_is_accepted() {
        for text in ["ada@example.org", "a.b+c@mail.example.co.uk", "ü@exämple.de", " a@b.c "] {
            assert!(Email::parse(text).is_ok(), "{text:?}");
        }
        for text in ["", "ada", "@example.org", "ada@", "a b@example.org", "Ada <ada@example.org>"]
        {
            assert!(Email::parse(text).is_err(), "{text:?}");
        }
        assert!(Email::parse(&format!("{}@example.org", "a".repeat(300))).is_err());
    }
}
