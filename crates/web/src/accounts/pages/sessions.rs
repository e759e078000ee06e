//! Ends sessions.

use axum::extract::State;
use lodge_domain::{Error, accounts::SessionId};

use super::me::Me;
use crate::{
    accounts::app::AccountsApp, error::HttpResult, pages::redirect_to, request::PathParam, sign_in,
};

/// `POST /account/sessions/{id}`.
pub(super) async fn end(
    State(app): State<AccountsApp>,
    PathParam(segment): PathParam,
    me: Me,
) -> HttpResult {
    let id = segment.parse().map(SessionId);
    let id = id.map_err(|_| Error::not_found("there is no such session"))?;
    match app.accounts.sign_out(me.session, Some(id)).await {
        // A second click on the same button.
        Ok(()) | Err(Error::NotFound(_)) if id == me.signed_in.session.id => {
            sign_in::signed_out(&me.asked, "/login")
        }
        Ok(()) | Err(Error::NotFound(_)) => redirect_to("/account?ended"),
        Err(error) => Err(error.into()),
    }
}

/// `POST /account/sessions`: ends all sessions, this one included.
pub(super) async fn end_all(State(app): State<AccountsApp>, me: Me) -> HttpResult {
    app.accounts.sign_out_everywhere(me.session).await?;
    sign_in::signed_out(&me.asked, "/login")
}
