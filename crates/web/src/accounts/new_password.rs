//! New passwords, as typed on this site.

use lodge_domain::{
    Result,
    accounts::{NewPassword, PasswordContext},
};

use crate::brand;

/// Parses a new password for an account on this site.
pub(super) fn new_password<'a>(
    field: &'static str,
    typed: String,
    account: impl Into<PasswordContext<'a>>,
) -> Result<NewPassword> {
    let context = PasswordContext { site: &brand::current().name, ..account.into() };
    NewPassword::parse(field, typed, context)
}
