//! A visit of a link, of which only the referring site and the kind of device are stored: no address, no identity.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::names::names;

/// The maximum length of a stored referrer host, in bytes: that of a DNS name.
const HOST_BYTES_MAX: usize = 253;

/// The maximum length of a `Referer` that is parsed, in bytes.
const REFERRER_BYTES_MAX: usize = 4 * 1024;

/// The headers of a request that follows a link.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visit<'a> {
    /// The `Referer` header.
    pub referrer: Option<&'a str>,
    /// The `User-Agent` header.
    pub user_agent: Option<&'a str>,
    /// The `Host` header; this server's own pages do not count as referrers.
    pub own_host: Option<&'a str>,
}

/// The kind of a visitor's device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// A desktop computer or laptop.
    Desktop,
    /// A telephone.
    Mobile,
    /// A tablet.
    Tablet,
    /// A program that identifies itself as one: a crawler, a preview fetcher.
    Bot,
    /// Any other client, such as a command-line tool.
    Other,
}

// In display order.
names!(Device {
    Desktop = "desktop",
    Mobile = "mobile",
    Tablet = "tablet",
    Other = "other",
    Bot = "bot",
});

/// Substrings of a User-Agent, the most specific first: of several matches the lowest index decides.
const MARKS: [(&str, Device); 30] = [
    ("bot", Device::Bot),
    ("crawl", Device::Bot),
    ("spider", Device::Bot),
    ("slurp", Device::Bot),
    ("facebookexternalhit", Device::Bot),
    ("embedly", Device::Bot),
    ("whatsapp", Device::Bot),
    ("skypeuripreview", Device::Bot),
    ("mediapartners", Device::Bot),
    ("lighthouse", Device::Bot),
    ("headlesschrome-crawler", Device::Bot),
    ("feedfetcher", Device::Bot),
    ("bingpreview", Device::Bot),
    ("google-read-aloud", Device::Bot),
    ("pinterest/", Device::Bot),
    ("vkshare", Device::Bot),
    ("uptime", Device::Bot),
    ("monitor", Device::Bot),
    ("ipad", Device::Tablet),
    ("tablet", Device::Tablet),
    ("kindle", Device::Tablet),
    ("silk/", Device::Tablet),
    ("mobile", Device::Mobile),
    ("iphone", Device::Mobile),
    ("ipod", Device::Mobile),
    ("android", Device::Tablet), // Android without "Mobile" is a tablet, as its makers define it.
    ("windows nt", Device::Desktop),
    ("macintosh", Device::Desktop),
    ("x11", Device::Desktop),
    ("cros ", Device::Desktop),
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .build(MARKS.iter().map(|(mark, _)| *mark))
        .ok()
});

impl Visit<'_> {
    /// Returns the kind of device, from the `User-Agent`.
    pub fn device(&self) -> Device {
        let (Some(agent), Some(finder)) = (self.user_agent, FINDER.as_ref()) else {
            return Device::Other;
        };
        let agent = agent.get(..512).unwrap_or(agent);
        let found =
            finder.find_overlapping_iter(agent).map(|found| found.pattern().as_usize()).min();
        found.map_or(Device::Other, |index| MARKS[index].1)
    }

    /// Returns the host of the referrer, lower-case and without port.
    pub fn referrer_host(&self) -> Option<Box<str>> {
        let referrer = self.referrer.filter(|referrer| referrer.len() <= REFERRER_BYTES_MAX)?;
        let url = Url::parse(referrer).ok()?;
        let host = url.host_str()?;
        if self.own_host.is_some_and(|own| own == url.authority()) {
            return None;
        }
        (matches!(url.scheme(), "http" | "https") && host.len() <= HOST_BYTES_MAX)
            .then(|| host.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(user_agent: &str) -> Device {
        Visit { user_agent: Some(user_agent), ..Visit::default() }.device()
    }

    #[test]
    fn devices_are_classified() {
        use Device::{Bot, Desktop, Mobile, Other, Tablet};
        for (known, rest) in [
            (
                Desktop,
                "(Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36",
            ),
            (Mobile, "(iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148 Safari/604.1"),
            (Mobile, "(Linux; Android 14; Pixel 8) Chrome/130.0 Mobile Safari/537.36"),
            (Tablet, "(Linux; Android 14; SM-X910) Chrome/130.0 Safari/537.36"),
            (Bot, "(compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
            (Bot, "(Linux; Android 6.0.1) Mobile (compatible; Googlebot/2.1)"),
        ] {
            assert_eq!(device(&format!("Mozilla/5.0 {rest}")), known, "{rest}");
        }
        assert_eq!(device("curl/8.5.0"), Other);
        assert_eq!(Visit::default().device(), Device::Other);
    }

    #[test]
    fn only_the_host_of_a_referrer_is_kept() {
        let host = |referrer| {
            Visit {
                referrer: Some(referrer),
                own_host: Some("go.example:8080"),
                ..Visit::default()
            }
            .referrer_host()
        };
        assert_eq!(host("https://News.example:8443/a?secret=1").as_deref(), Some("news.example"));
        assert_eq!(host("http://go.example:8080/gg+"), None, "our own page");
        assert_eq!(host("about:blank"), None);
        assert_eq!(host("nonsense"), None);
    }
}
