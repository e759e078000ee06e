//! Extractors: the authenticated caller, and the message in a path.

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use lodge_domain::board::{Actor, EventId, Slug};

use super::{
    app::{BoardApp, message_id, slug},
    caller::BoardCaller,
};
use crate::{
    error::Problem,
    request::{PathParam, RequestContext},
};

impl<S: Send + Sync> FromRequestParts<S> for BoardCaller
where
    BoardApp: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let app = BoardApp::from_ref(state);
        let asked = RequestContext::from_request_parts(parts, &app).await?;
        Ok(app.authenticate(&asked).await?)
    }
}

/// The caller, authenticated by a session token or a bot key.
pub(super) struct CallingActor(pub(super) Actor);

impl<S: Send + Sync> FromRequestParts<S> for CallingActor
where
    BoardApp: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        BoardCaller::from_request_parts(parts, state).await.map(|visitor| Self(visitor.actor))
    }
}

/// The caller of a write, counted against its rate limit before the body is read.
pub(super) struct RateLimitedActor(pub(super) Actor);

impl FromRequestParts<BoardApp> for RateLimitedActor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &BoardApp) -> Result<Self, Problem> {
        let CallingActor(by) = CallingActor::from_request_parts(parts, app).await?;
        app.check_rate(&by)?;
        Ok(Self(by))
    }
}

/// The channel and the message in a path.
pub(super) struct MessagePath(pub(super) Slug, pub(super) EventId);

impl<S: Send + Sync> FromRequestParts<S> for MessagePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let PathParam((channel, id)) =
            PathParam::<(String, String)>::from_request_parts(parts, state).await?;
        Ok(Self(slug(&channel)?, message_id(&id)?))
    }
}
