//! The rows of leaderboards, with the names of skiers who allow them.

use lodge_domain::{
    Result,
    accounts::AccountId,
    pictures::PictureSize,
    rides::{Leader, LeaderProfile, NamedLeader, PassHolder, SkierId},
};

use crate::{pictures, request::RequestContext, rides::app::RidesApp, session};

/// A row of a leaderboard.
pub(super) struct LeaderRow {
    pub(super) skier: SkierId,
    pub(super) vertical: u64,
    /// The nickname and picture, if the holder of the pass allows them.
    pub(super) profile: Option<LeaderProfile>,
    /// Whether the pass is the viewer's.
    pub(super) is_viewer: bool,
}

impl LeaderRow {
    fn of(NamedLeader { leader, holder }: NamedLeader, viewer: Option<AccountId>) -> Self {
        let is_viewer = is_held_by(holder.as_ref(), viewer);
        let profile = holder.and_then(|holder| holder.profile);
        Self { skier: leader.skier, vertical: leader.vertical, profile, is_viewer }
    }
}

/// Returns the rows of a leaderboard for a viewer.
pub(super) async fn rows(
    app: &RidesApp,
    leaders: Vec<Leader>,
    viewer: Option<AccountId>,
) -> Result<Vec<LeaderRow>> {
    let named = app.named(leaders).await?.into_iter();
    Ok(named.map(|leader| LeaderRow::of(leader, viewer)).collect())
}

/// Returns the viewer's account, if they are signed in. These pages are public: they are shown to a viewer whose
/// session cannot be looked up, too.
pub(super) async fn viewer(app: &RidesApp, asked: &RequestContext) -> Option<AccountId> {
    let session = session::account_session(asked)?;
    let me = session::account(&app.site, session).await.ok().flatten()?;
    Some(me.account.id)
}

/// Whether a skier's pass is the viewer's.
pub(super) async fn is_viewers(
    app: &RidesApp,
    skier: SkierId,
    viewer: Option<AccountId>,
) -> Result<bool> {
    if viewer.is_none() {
        return Ok(false);
    }
    let holders = app.rides.passes().holders_of(vec![skier]).await?;
    Ok(is_held_by(holders.get(&skier), viewer))
}

fn is_held_by(holder: Option<&PassHolder>, viewer: Option<AccountId>) -> bool {
    holder.is_some_and(|holder| Some(holder.account) == viewer)
}

/// Returns the path of a profile's picture.
pub(crate) fn face(profile: &LeaderProfile) -> Option<String> {
    profile.picture.map(|id| pictures::path(id, PictureSize::Small))
}
