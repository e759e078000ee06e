//! Where somebody may be written to, if they like; never who they are.

use crate::{Error, Result, text::parsed_text};
use email_address::{EmailAddress, Options};

parsed_text! {
    /// An address of electronic mail (RFC 5321 and 5322), without a name beside it. Nobody has shown that it
    /// is theirs.
    #[derive(Debug)]
    pub struct Email(Box<str>);
}

impl Email {
    /// Takes an address as somebody typed it.
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
    fn an_address_alone_is_taken() {
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
