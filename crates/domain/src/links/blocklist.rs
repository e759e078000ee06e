//! The blocklist of target hosts.

use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::RwLock;

use super::target::Target;

/// A set of blocked hosts and their subdomains. It can be replaced while in use.
#[derive(Debug, Default)]
pub struct Blocklist {
    hosts: RwLock<Arc<HashSet<Box<str>>>>,
    /// Whether any host is blocked; if not, redirects need no lock.
    in_use: AtomicBool,
}

/// The result of loading a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Distinct hosts that are now blocked.
    pub hosts: usize,
    /// Entries that are no host names and block nothing.
    pub unreadable: usize,
    /// The beginning of the first unreadable entry, at most 80 characters.
    pub first_unreadable: Option<String>,
}

impl Blocklist {
    /// Replaces the list by `text`: one host per line, `#` starts a comment; lines of a hosts file (`0.0.0.0 host
    /// other-host`) are accepted too.
    pub fn replace(&self, text: &str) -> Listed {
        let (mut hosts, mut unreadable, mut first_unreadable) = (HashSet::new(), 0, None);
        for name in text.lines().flat_map(names_of_line) {
            if let Some(host) = host_of_name(name) {
                hosts.insert(host);
            } else {
                unreadable += 1;
                first_unreadable.get_or_insert_with(|| name.chars().take(80).collect());
            }
        }
        let listed = Listed { hosts: hosts.len(), unreadable, first_unreadable };
        let mut place = self.hosts.write();
        self.in_use.store(listed.hosts > 0, Ordering::Release);
        *place = Arc::new(hosts);
        listed
    }

    /// Whether the target's host or a parent domain is listed.
    pub fn blocks(&self, target: &Target) -> bool {
        if !self.in_use.load(Ordering::Acquire) {
            return false;
        }
        let hosts = Arc::clone(&self.hosts.read());
        let host = target.host();
        let above = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        std::iter::once(host).chain(above).any(|name| hosts.contains(name))
    }
}

/// Returns the host names in a line, without a comment and without a leading address.
fn names_of_line(line: &str) -> impl Iterator<Item = &str> {
    let line = line.split_once('#').map_or(line, |(before, _)| before).trim();
    let names = match line.split_once(char::is_whitespace) {
        Some((first, names)) if is_address(first) => names,
        _ => line,
    };
    names.split_whitespace()
}

fn is_address(word: &str) -> bool {
    // A hosts file may contain a zone id: `fe80::1%lo0`.
    let address = word.split_once('%').map_or(word, |(address, _)| address);
    address.parse::<IpAddr>().is_ok()
}

fn host_of_name(name: &str) -> Option<Box<str>> {
    // The URL parser accepts it, but it would match no host.
    if name.contains('*') {
        return None;
    }
    // The URL parser converts an internationalised name to the form of targets.
    Target::parse(&format!("http://{name}/")).ok().map(|target| target.host().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts and unreadable entries.
    fn replace(list: &Blocklist, text: &str) -> (usize, usize) {
        let listed = list.replace(text);
        assert_eq!(listed.first_unreadable.is_some(), listed.unreadable > 0);
        (listed.hosts, listed.unreadable)
    }

    #[test]
    fn a_listed_host_blocks_itself_and_its_subdomains() {
        let list = Blocklist::default();
        let text = "# a comment\nevil.example\n0.0.0.0 bücher.example # why\n\n";
        assert_eq!(replace(&list, text), (2, 0));
        let blocks = |text: &str| Target::parse(text).is_ok_and(|target| list.blocks(&target));
        assert!(blocks("https://evil.example/x"));
        assert!(blocks("https://EVIL.example./x"));
        assert!(blocks("http://a.b.evil.example:81/"));
        assert!(blocks("http://bücher.example"));
        assert!(!blocks("https://notevil.example/"));
        assert!(!blocks("https://example/"));
        assert_eq!(replace(&list, ""), (0, 0));
        assert!(!blocks("https://evil.example/x"));
    }

    #[test]
    fn every_name_after_an_address_is_blocked() {
        let list = Blocklist::default();
        let blocks = |text: &str| Target::parse(text).is_ok_and(|target| list.blocks(&target));
        for line in [
            "0.0.0.0 evil.example sub.worse.example\tbad.example # good.example",
            "  ::1\tevil.example  sub.worse.example bad.example#good.example",
            "fe80::1%lo0 evil.example sub.worse.example bad.example",
            "evil.example sub.worse.example bad.example",
        ] {
            assert_eq!(replace(&list, line), (3, 0), "{line}");
            for host in ["evil.example", "sub.worse.example", "bad.example"] {
                assert!(blocks(host), "{host} of {line}");
            }
            for host in ["0.0.0.0", "good.example", "worse.example"] {
                assert!(!blocks(host), "{host} of {line}");
            }
        }
        assert_eq!(replace(&list, "192.0.2.7\n"), (1, 0), "alone, it is the host");
        assert!(blocks("http://192.0.2.7/"));
    }

    #[test]
    fn entries_that_name_no_host_are_skipped_and_counted() {
        let list = Blocklist::default();
        let text = "*.evil.example\n||bad.example^\n0.0.0.0 a..b *.c.example worse.example\n\
                    http://d.example/\n# *\nworse.example\n";
        assert_eq!(replace(&list, text), (1, 5));
        let blocks = |text: &str| Target::parse(text).is_ok_and(|target| list.blocks(&target));
        assert!(blocks("https://www.worse.example/"));
        assert!(!blocks("https://evil.example/"));
        assert!(!blocks("https://a.evil.example/"));
        assert_eq!(list.replace("*").first_unreadable.as_deref(), Some("*"));
        assert!(!blocks("https://www.worse.example/"));
    }
}
