//! Short links: what one is, who may change it, when it leads where.

pub mod blocklist;
pub mod caller;
pub mod clicks;
pub mod link;
pub mod service;
pub mod short;
pub mod store;
pub mod target;
pub mod transfer;
pub mod visit;

pub use blocklist::Blocklist;
pub use caller::{Caller, ManageKeys};
pub use clicks::{ClickBatch, ClickCounter, ClickReport, ClickStore, Grouping};
pub use link::{ClickLimit, Link, LinkId, Owner, RedirectCode, State, Tags};
pub use service::{Edit, Follow, Links, LinksSettings, Mode, NewLink, Put};
pub use short::Short;
pub use store::{Candidate, Claim, LinkQuery, LinkStore, Outcome, TakenClick};
pub use target::{Origin, Target};
pub use visit::{Device, Visit};
