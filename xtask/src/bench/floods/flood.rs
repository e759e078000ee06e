//! The floods: what each connection sends, and what the server must contain before.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{bench::lodge::Lodge, http::Http};

/// The addresses that a flood comes from.
pub(super) const ADDRESSES: u8 = 3;

/// The length of an announced body: the maximum of a bulk request.
const BODY: usize = 2 << 20;
/// What is missing of it.
const MISSING: usize = 1 << 10;

/// Links with passwords of one request.
const PASSWORDS: usize = 10;

/// The links that nearly match the search, and how many one request creates.
const LOOK_ALIKES: usize = 20_000;
const BULK: usize = 1_000;
/// The length of the word that is searched for; each look-alike has one letter less.
const WORD: usize = 250;

/// A flood.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flood {
    /// Long bodies that stop before their end.
    StalledBodies,
    /// Requests that need many hashes of passwords.
    Passwords,
    /// Searches for a word that thousands of links nearly contain.
    Searches,
    /// Connections that send nothing, more than an address may have.
    SilentConnections,
}

impl Flood {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::StalledBodies => "bodies that stall",
            Self::Passwords => "links with passwords",
            Self::Searches => "searches among look-alikes",
            Self::SilentConnections => "silent connections",
        }
    }

    /// Whether its connections send their request again after each answer.
    pub(super) fn repeats(self) -> bool {
        matches!(self, Self::Passwords | Self::Searches)
    }

    /// The number of connections that it keeps, of all addresses.
    pub(super) fn connections(self) -> u32 {
        let of_an_address = match self {
            Self::StalledBodies => 16,
            Self::Passwords | Self::Searches => 8,
            Self::SilentConnections => 2_500,
        };
        u32::from(ADDRESSES) * of_an_address
    }

    /// Creates what the flood needs, for the sessions with these tokens.
    pub(super) fn prepare(self, lodge: &Lodge, tokens: &[&str]) -> Result<()> {
        if !matches!(self, Self::Searches) {
            return Ok(());
        }
        let near = "x".repeat(WORD - 1);
        let http = Http::new();
        for token in &tokens[..ADDRESSES.into()] {
            let mut numbers = 0..LOOK_ALIKES;
            while !numbers.is_empty() {
                let links: Vec<Value> = numbers
                    .by_ref()
                    .take(BULK)
                    .map(|number| json!({ "target": format!("https://example.org/{near}/{number}") }))
                    .collect();
                let bearer = format!("Bearer {token}");
                let headers = [("Authorization", bearer.as_str())];
                let body = json!({ "links": links });
                let answer = http.send_with(
                    "POST",
                    lodge.address(),
                    "/api/bulk/links",
                    &headers,
                    Some(&body),
                );
                let status = answer.context("no answer")?.status;
                ensure!(status == 200, "look-alikes: {status}");
            }
        }
        Ok(())
    }

    /// What each connection with a token sends.
    pub(super) fn request(self, token: &str) -> Vec<u8> {
        let bulk = |length: usize, body: &[u8]| {
            let head = format!(
                "POST /api/bulk/links HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                 Authorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
            );
            [head.as_bytes(), body].concat()
        };
        match self {
            Self::StalledBodies => bulk(BODY, &vec![b' '; BODY - MISSING]),
            Self::Passwords => {
                let link = json!({ "target": "example.org", "password": "a lantern in the fog" });
                let body = json!({ "links": vec![link; PASSWORDS] }).to_string();
                bulk(body.len(), body.as_bytes())
            }
            Self::Searches => {
                let word = "x".repeat(WORD);
                let head = format!(
                    "GET /api/links?search={word} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
                );
                head.into_bytes()
            }
            Self::SilentConnections => Vec::new(),
        }
    }
}
