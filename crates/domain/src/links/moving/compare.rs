//! The comparison of source and destination after a move.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;

use super::{Clicks, Extent, Move, MovingLink, Phase, Progress, StoredKey, carry::Watch};
use crate::{
    Result,
    links::{Link, Short},
};

/// The maximum differences that are listed; further ones are only counted.
pub const DIFFERENCES_SHOWN: usize = 20;

/// The differences between source and destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Differences {
    /// The first [`DIFFERENCES_SHOWN`], one line each. They contain no values, because some are secrets.
    pub shown: Vec<String>,
    /// The number of all differences.
    pub count: u64,
}

impl Differences {
    fn add(&mut self, difference: String) {
        self.count += 1;
        if self.shown.len() < DIFFERENCES_SHOWN {
            self.shown.push(difference);
        }
    }
}

/// One comparison.
pub(super) struct Comparison<'a> {
    of: &'a Move,
    extent: &'a Extent,
    now: Timestamp,
    watch: Watch<'a>,
    differences: Differences,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(of: &'a Move, extent: &'a Extent, now: Timestamp, watch: Watch<'a>) -> Self {
        Self { of, extent, now, watch, differences: Differences::default() }
    }

    pub(super) async fn run(mut self) -> Result<Differences> {
        self.compare_keys().await?;
        // The destination is scanned, which also finds extra links, and the source is looked up, because it is
        // near.
        let (mut after, mut found) = (None, 0);
        loop {
            self.watch(found);
            let links = self.of.read_back.links(after.take(), self.of.pace.page).await?;
            let Some(last) = links.last() else { break };
            after = Some(last.short.clone());
            found += self.compare_links(links).await?;
        }
        if found != self.extent.links {
            self.name_missing().await?;
            self.differences.add(format!(
                "total links: {} in the source, {found} of them in the destination",
                self.extent.links
            ));
        }
        let clicks = self.of.read_back.clicks_total().await?;
        if clicks != self.extent.clicks {
            self.differences.add(format!(
                "total clicks: {} in the source, {clicks} in the destination",
                self.extent.clicks
            ));
        }
        Ok(self.differences)
    }

    fn watch(&self, done: u64) {
        (self.watch)(Progress { phase: Phase::Comparing, done, of: Some(self.extent.links) });
    }

    async fn compare_keys(&mut self) -> Result<()> {
        let by_name = |keys: Vec<StoredKey>| -> BTreeMap<String, StoredKey> {
            keys.into_iter().map(|key| (key.key.name.clone(), key)).collect()
        };
        let ours = by_name(self.of.source.keys().await?);
        let mut theirs = by_name(self.of.read_back.keys().await?);
        for (name, key) in ours {
            match theirs.remove(&name) {
                None => self.differences.add(format!("API key {name}: missing")),
                Some(found) if found != key => {
                    self.differences.add(format!("API key {name}: different"));
                }
                Some(_) => {}
            }
        }
        for name in theirs.keys() {
            self.differences.add(format!("API key {name}: not in the source"));
        }
        Ok(())
    }

    /// Compares links of the destination; returns how many of them the source has.
    async fn compare_links(&mut self, links: Vec<Link>) -> Result<u64> {
        let shorts = links.iter().map(|link| link.short.clone()).collect();
        let ours = self.of.source.find(shorts).await?;
        let mut known = Vec::new();
        for (link, ours) in links.iter().zip(ours) {
            let Some(ours) = ours else {
                self.differences.add(format!("link {}: not in the source", link.short));
                continue;
            };
            let fields = different_fields(link, &ours.link);
            if !fields.is_empty() {
                let fields = fields.join(", ");
                self.differences.add(format!("link {}: different {fields}", link.short));
            }
            known.push(ours);
        }
        let found = known.len() as u64;
        // Most links were never followed; extra clicks on one of those show in the total.
        let followed = known.into_iter().filter(|link| link.clicks != Clicks::default());
        let (of, now) = (self.of, self.now);
        let compared = followed.map(|link| unlike_clicks(of, link, now));
        let mut compared = stream::iter(compared).buffer_unordered(of.pace.at_once);
        while let Some(different) = compared.try_next().await? {
            if let Some(short) = different {
                self.differences.add(format!("link {short}: different clicks"));
            }
        }
        Ok(found)
    }

    /// Scans the source for links that the destination lacks.
    async fn name_missing(&mut self) -> Result<()> {
        let (of, mut after) = (self.of, None);
        loop {
            let links = of.source.links(after.take(), of.pace.page).await?;
            let Some(last) = links.last() else { return Ok(()) };
            after = Some(last.link.short.clone());
            let looked = links.into_iter().map(async |MovingLink { link, .. }| {
                let found = of.read_back.find(&link.short).await?;
                Ok::<_, crate::Error>(found.is_none().then_some(link.short))
            });
            let mut looked = stream::iter(looked).buffered(of.pace.at_once);
            while let Some(missing) = looked.try_next().await? {
                if let Some(short) = missing {
                    self.differences.add(format!("link {short}: missing"));
                }
            }
        }
    }
}

/// Returns the short if the clicks differ.
async fn unlike_clicks(of: &Move, ours: MovingLink, now: Timestamp) -> Result<Option<Short>> {
    let theirs = of.read_back.clicks(ours.link.id).await?.at(now);
    Ok((theirs != ours.clicks.at(now)).then_some(ours.link.short))
}

/// Returns the names of the fields that differ.
fn different_fields(one: &Link, other: &Link) -> Vec<&'static str> {
    [
        ("id", one.id == other.id),
        ("target", one.target == other.target),
        ("redirect", one.redirect == other.redirect),
        ("version", one.version == other.version),
        ("key version", one.key_version == other.key_version),
        ("owner", one.owner == other.owner),
        ("creation", one.created_at == other.created_at),
        ("change", one.changed_at == other.changed_at),
        ("deletion", one.deleted_at == other.deleted_at),
        ("expiry", one.expires_at == other.expires_at),
        ("click limit", one.click_limit == other.click_limit),
        ("password", one.password == other.password),
        ("tags", one.tags == other.tags),
    ]
    .into_iter()
    .filter_map(|(name, same)| (!same).then_some(name))
    .collect()
}
