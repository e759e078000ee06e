//! Who asks for a page.

use lodge_domain::accounts::{Role, SessionDigest, SignedIn};

use crate::{
    accounts::app::AccountsApp,
    error::{HttpResult, Problem},
    pages::go_to,
    request::Asked,
    session,
};

/// Somebody who is signed in with an account, and by which session.
pub(super) struct Me {
    pub(super) session: SessionDigest,
    pub(super) signed_in: SignedIn,
}

/// Who asks; `None` of a browser on which nobody is signed in with an account.
pub(super) async fn me(app: &AccountsApp, asked: &Asked) -> Result<Option<Me>, Problem> {
    let Some(session) = session::of_account(asked) else { return Ok(None) };
    let signed_in = session::account(&app.site, session).await?;
    Ok(signed_in.map(|signed_in| Me { session, signed_in }))
}

/// Leads to signing in, and then to one's account.
pub(super) fn sign_in_first() -> HttpResult {
    go_to("/login?next=/account")
}

/// Who asks, if it is somebody of the staff; `None` of a browser on which nobody is signed in. What they
/// may do is decided where it is done.
pub(super) async fn staff(app: &AccountsApp, asked: &Asked) -> Result<Option<Me>, Problem> {
    let me = me(app, asked).await?;
    me.iter().try_for_each(|me| me.signed_in.account.check_role(Role::Moderator))?;
    Ok(me)
}

/// Leads to signing in, and then to the list.
pub(super) fn staff_sign_in_first() -> HttpResult {
    go_to("/login?next=/admin/accounts")
}
