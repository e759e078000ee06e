//! What a row becomes when a link is written over it: the same in every store.

use jiff::Timestamp;

use super::{
    link::{Link, State},
    store::Replaced,
};

/// What comes of a `PUT` in replace mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// What is there stays: it is newer, or it is so already.
    Stays(Replaced),
    /// The row becomes this.
    Becomes(Replaced),
}

impl Link {
    /// The link with what no store keeps taken off: parts of a millisecond. A limit that came in used
    /// up gets its time.
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

    /// This link with the clicks that its former version `was` has used; `None` if `was` is not its
    /// former version.
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

    /// Whether putting `link` here changes nothing for those who follow it.
    #[must_use]
    pub fn already_leads(&self, link: &Self) -> bool {
        self.target == link.target
            && self.is_plain()
            && self.state(link.changed_at).0 == State::Live
    }

    /// What comes of putting this link where `was` is.
    #[must_use]
    pub fn replacing(self, was: Option<Self>) -> Replacement {
        let link = self.storable();
        let Some(was) = was else {
            return Replacement::Becomes(Replaced { link, already: false });
        };
        let already = was.already_leads(&link);
        // The same time on two machines: any order will do, as long as it is the same everywhere.
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
