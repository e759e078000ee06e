//! Somebody who may be on the board.

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use lodge_domain::{
    accounts::SessionDigest,
    board::{Actor, EventId, Slug},
    keys::KeyId,
};

use super::app::{BoardApp, message_id, slug};
use crate::{
    error::Problem,
    request::{Asked, Segment},
};

/// By what somebody is here, and as long as it opens something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Credential {
    Session(SessionDigest),
    Bot(KeyId),
}

/// Somebody who may be here.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    pub(crate) actor: Actor,
    pub(crate) credential: Credential,
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor
where
    BoardApp: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let app = BoardApp::from_ref(state);
        let asked = Asked::from_request_parts(parts, &app).await?;
        Ok(app.visitor(&asked).await?)
    }
}

/// Who asks, by the token of a session or of a bot.
pub(super) struct By(pub(super) Actor);

impl<S: Send + Sync> FromRequestParts<S> for By
where
    BoardApp: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Visitor::from_request_parts(parts, state).await.map(|visitor| Self(visitor.actor))
    }
}

/// The message that a path names, in its channel.
pub(super) struct Place(pub(super) Slug, pub(super) EventId);

impl<S: Send + Sync> FromRequestParts<S> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Segment((channel, id)) =
            Segment::<(String, String)>::from_request_parts(parts, state).await?;
        Ok(Self(slug(&channel)?, message_id(&id)?))
    }
}
