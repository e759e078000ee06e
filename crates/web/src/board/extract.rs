//! Extractors: the authenticated caller, and the message in a path.

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use lodge_domain::board::{Actor, EventId, Slug};

use super::{
    app::{BoardApp, message_id, slug},
    visitor::Visitor,
};
use crate::{
    error::Problem,
    request::{Asked, Segment},
};

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

/// The caller, authenticated by a session token or a bot key.
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

/// The caller of a write, counted against its rate limit before the body is read.
pub(super) struct Sender(pub(super) Actor);

impl FromRequestParts<BoardApp> for Sender {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &BoardApp) -> Result<Self, Problem> {
        let By(by) = By::from_request_parts(parts, app).await?;
        app.limit(&by)?;
        Ok(Self(by))
    }
}

/// The channel and the message in a path.
pub(super) struct Place(pub(super) Slug, pub(super) EventId);

impl<S: Send + Sync> FromRequestParts<S> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Segment((channel, id)) =
            Segment::<(String, String)>::from_request_parts(parts, state).await?;
        Ok(Self(slug(&channel)?, message_id(&id)?))
    }
}
