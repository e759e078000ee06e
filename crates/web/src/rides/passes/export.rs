//! The account's passes and its profile on leaderboards, in the export of its data.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use lodge_domain::{Error, Result, accounts::AccountId, rides::Rides};
use serde_json::{Value, json};

use super::api::PassJson;
use crate::{personal_data::PersonalData, rides::dto::LeaderProfileJson};

impl PersonalData for Arc<Rides> {
    fn name(&self) -> &'static str {
        "passes"
    }

    fn of(&self, account: AccountId) -> BoxStream<'static, Result<Vec<Value>>> {
        let rides = Arc::clone(self);
        let all = async move {
            let passes = rides.passes().of_account(account).await?.into_iter();
            let passes = passes.map(|pass| serde_json::to_value(PassJson::from(pass)));
            passes.collect::<Result<_, _>>().map_err(Error::internal)
        };
        stream::once(all).boxed()
    }
}

/// The profile on leaderboards, with the time since which the account allows it.
pub(crate) struct LeaderProfileData(pub(crate) Arc<Rides>);

impl PersonalData for LeaderProfileData {
    fn name(&self) -> &'static str {
        "leaderboard_profile"
    }

    fn of(&self, account: AccountId) -> BoxStream<'static, Result<Vec<Value>>> {
        let rides = Arc::clone(&self.0);
        let shown = async move {
            let shown = rides.passes().profile(account).await?.into_iter();
            let shown = shown.map(
                |shown| json!({ "since": shown.since, "profile": LeaderProfileJson::from(shown) }),
            );
            Ok(shown.collect())
        };
        stream::once(shown).boxed()
    }
}
