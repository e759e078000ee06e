//! How a link replaces or follows another in its row: the same rules in every store.

use jiff::Timestamp;

use super::{
    link::{Link, LinkState},
    store::Replaced,
};

/// The result of a `PUT` in replace mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// The existing link stays: it is newer, or equal.
    Stays(Replaced),
    /// The row is replaced by this link.
    Becomes(Replaced),
}

impl Link {
    /// Returns the link at the precision of the stores, whole milliseconds. A limit that arrives used up gets the
    /// time at which it was.
    #[must_use]
    pub fn storable(mut self) -> Self {
        let whole = |at: Timestamp| Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
        self.created_at = whole(self.created_at);
        self.changed_at = whole(self.changed_at);
        self.deleted_at = self.deleted_at.map(whole);
        self.expires_at = self.expires_at.map(whole);
        if let Some(limit) = &mut self.click_limit {
            let used_up = (limit.used >= limit.max).then_some(self.changed_at);
            limit.exhausted_at = limit.exhausted_at.map(whole).or(used_up);
        }
        self
    }

    /// Returns this link with the used clicks of its previous version `was`; `None` if `was` is not its previous
    /// version.
    #[must_use]
    pub fn following(mut self, was: &Self) -> Option<Self> {
        if was.id != self.id || was.version + 1 != self.version {
            return None;
        }
        if let (Some(limit), Some(was)) = (&mut self.click_limit, was.click_limit) {
            let is_over = was.used >= limit.max;
            limit.used = was.used;
            limit.exhausted_at = is_over.then(|| was.exhausted_at.unwrap_or(self.changed_at));
        }
        Some(self.storable())
    }

    /// Whether replacing this link by `link` changes nothing for visitors.
    #[must_use]
    pub fn already_leads(&self, link: &Self) -> bool {
        self.target == link.target
            && self.is_plain()
            && self.state(link.changed_at).0 == LinkState::Live
    }

    /// Returns the result of replacing `was` by this link.
    #[must_use]
    pub fn replacing(self, was: Option<Self>) -> Replacement {
        let link = self.storable();
        let Some(was) = was else {
            return Replacement::Becomes(Replaced { link, already: false });
        };
        let already = was.already_leads(&link);
        // Equal times on two machines: any order will do, as long as it is the same everywhere.
        if (was.changed_at, was.target.as_str()) > (link.changed_at, link.target.as_str()) {
            return Replacement::Stays(Replaced { link: was, already });
        }
        let same = Self { id: was.id, created_at: was.created_at, version: was.version, ..link };
        if same == was {
            return Replacement::Stays(Replaced { link: same, already });
        }
        let is = Self { version: same.version + 1, ..same };
        Replacement::Becomes(Replaced { link: is, already })
    }
}
