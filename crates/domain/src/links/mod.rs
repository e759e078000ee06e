//! Short links: creation, changes, redirects, clicks, import and export.

pub mod blocklist;
pub mod change;
pub mod clicks;
pub mod create;
pub mod link;
pub mod manage_key;
pub mod moving;
pub mod replacement;
pub mod service;
pub mod short;
pub mod store;
pub mod target;
pub mod transfer;
pub mod visit;

pub use blocklist::Blocklist;
pub use change::LinkChange;
pub use clicks::{ClickBatch, ClickCounter, ClickReport, ClickStore, Grouping};
pub use create::{NewLink, Put};
pub use link::{ClickLimit, Link, LinkId, LinkState, RedirectCode, Tags};
pub use manage_key::{MANAGE_PREFIX, ManageKeys};
pub use replacement::Replacement;
pub use service::{Follow, Links, LinksPorts, LinksSettings, Mode, View};
pub use short::{RESERVED, Short};
pub use store::{
    Candidate, ChangeFeed, Claim, FEED_KEPT, LinkCopies, LinkQuery, LinkStore, Refusal, Replaced,
    StoredLinkOutcome, TakenClick,
};
pub use target::{Origin, Target};
pub use visit::{Device, Visit};

pub use crate::caller::{Caller, Owner};
