//! Hosts to which no link may lead.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::RwLock;

use super::target::Target;

/// A set of hosts; each stands for its subdomains too. It can be replaced while it is in use.
#[derive(Debug, Default)]
pub struct Blocklist {
    hosts: RwLock<Arc<HashSet<Box<str>>>>,
    /// Whether there is any, so that where there is none no redirect takes the lock.
    in_use: AtomicBool,
}

impl Blocklist {
    /// Replaces the list by what `text` says: a host a line, `#` starts a comment; lines in the form
    /// of a hosts file (`0.0.0.0 host`) are taken too. Returns how many hosts it names.
    pub fn replace(&self, text: &str) -> usize {
        let hosts: HashSet<Box<str>> = text.lines().filter_map(host_of_line).collect();
        let count = hosts.len();
        let mut place = self.hosts.write();
        self.in_use.store(count > 0, Ordering::Release);
        *place = Arc::new(hosts);
        count
    }

    /// Whether the target's host, or a domain above it, is listed.
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

fn host_of_line(line: &str) -> Option<Box<str>> {
    let host = line.split('#').next()?.split_whitespace().last()?;
    // Through the URL parser, so that an internationalised name is in the form that targets have.
    Target::parse(&format!("http://{host}/")).ok().map(|target| target.host().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_host_blocks_itself_and_what_is_under_it() {
        let list = Blocklist::default();
        assert_eq!(list.replace("# a comment\nevil.example\n0.0.0.0 bücher.example # why\n\n"), 2);
        let blocks = |text: &str| Target::parse(text).is_ok_and(|target| list.blocks(&target));
        assert!(blocks("https://evil.example/x"));
        assert!(blocks("https://EVIL.example./x"));
        assert!(blocks("http://a.b.evil.example:81/"));
        assert!(blocks("http://bücher.example"));
        assert!(!blocks("https://notevil.example/"));
        assert!(!blocks("https://example/"));
        list.replace("");
        assert!(!blocks("https://evil.example/x"));
    }
}
