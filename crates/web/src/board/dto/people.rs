//! Who writes, and who is here.

use lodge_domain::{accounts::Role, board::Profile, pictures::PictureSize};
use serde::Serialize;
use utoipa::ToSchema;

use super::is_false;
use crate::pictures;

/// Who wrote something, as they are called now. Of a deleted account both names are empty.
#[derive(Default, Serialize, ToSchema)]
pub(in crate::board) struct AuthorJson {
    username: String,
    nickname: String,
    /// Whether it is a program.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    bot: bool,
    /// `moderator` or `admin`, of whoever keeps order.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
}

impl From<Profile> for AuthorJson {
    fn from(profile: Profile) -> Self {
        let (bot, role) = (profile.is_bot(), order(&profile));
        Self { username: profile.username, nickname: profile.nickname, bot, role }
    }
}

/// Somebody who is here.
#[derive(Serialize, ToSchema)]
pub(in crate::board) struct PersonJson {
    username: String,
    nickname: String,
    /// Whether it is a program.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    bot: bool,
    /// `moderator` or `admin`, of whoever keeps order.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// Where their picture is on this site.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
}

impl From<Profile> for PersonJson {
    fn from(profile: Profile) -> Self {
        Self {
            bot: profile.is_bot(),
            role: order(&profile),
            picture: profile.picture.map(|id| pictures::path(id, PictureSize::Small)),
            username: profile.username,
            nickname: profile.nickname,
        }
    }
}

/// Who is here.
#[derive(Serialize, ToSchema)]
pub(in crate::board) struct PeopleJson {
    pub(in crate::board) people: Vec<PersonJson>,
}

impl From<Vec<Profile>> for PeopleJson {
    fn from(people: Vec<Profile>) -> Self {
        Self { people: people.into_iter().map(Into::into).collect() }
    }
}

/// What somebody is called who keeps order.
fn order(profile: &Profile) -> Option<&'static str> {
    (profile.role > Role::Member).then(|| profile.role.name())
}
