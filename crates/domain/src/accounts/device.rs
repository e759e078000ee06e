//! Devices on which an account has signed in before.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;

use super::Account;
use crate::secret::{InstallationSecret, SecretText};

/// How long a device is known after a sign-in.
pub const DEVICE_LIFETIME: SignedDuration = SignedDuration::from_hours(180 * 24);

/// Returns the proof that the account has signed in on a device: `EXPIRY.MAC`. A new password, and whatever else ends
/// all sessions, makes it invalid.
pub(super) fn token(secret: &InstallationSecret, account: &Account, now: Timestamp) -> SecretText {
    let expires_at = now.saturating_add(DEVICE_LIFETIME).unwrap_or(Timestamp::MAX).as_second();
    signed(secret, account, expires_at)
}

/// Whether `token` is one of the account's, and has not expired. Each token has one spelling, because failures are
/// counted by it.
pub(super) fn is_known(
    secret: &InstallationSecret,
    account: &Account,
    token: &SecretText,
    now: Timestamp,
) -> bool {
    let expires_at = token.reveal().split_once('.').map(|(expires_at, _)| expires_at.parse());
    let Some(Ok(expires_at)) = expires_at else { return false };
    let right = signed(secret, account, expires_at);
    let is_right = right.reveal().as_bytes().ct_eq(token.reveal().as_bytes());
    bool::from(is_right) && now.as_second() < expires_at
}

fn signed(secret: &InstallationSecret, account: &Account, expires_at: i64) -> SecretText {
    let (epoch, until) = (account.epoch.to_be_bytes(), expires_at.to_be_bytes());
    let mac = secret.sign("device", &[&account.id.0.to_be_bytes(), &epoch, &until]);
    format!("{expires_at}.{}", URL_SAFE_NO_PAD.encode(mac)).into()
}
