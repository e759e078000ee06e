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
    let mac = URL_SAFE_NO_PAD.encode(mac(secret, account, expires_at));
    format!("{expires_at}.{mac}").into()
}

/// Whether `token` is one of the account's, and has not expired.
pub(super) fn is_known(
    secret: &InstallationSecret,
    account: &Account,
    token: &SecretText,
    now: Timestamp,
) -> bool {
    let parts = token.reveal().split_once('.');
    let Some((expires_at, shown)) = parts else { return false };
    let (Ok(expires_at), Ok(shown)) = (expires_at.parse::<i64>(), URL_SAFE_NO_PAD.decode(shown))
    else {
        return false;
    };
    let is_right = mac(secret, account, expires_at).ct_eq(&shown[..]);
    bool::from(is_right) && now.as_second() < expires_at
}

fn mac(secret: &InstallationSecret, account: &Account, expires_at: i64) -> [u8; 32] {
    let (epoch, expires_at) = (account.epoch.to_be_bytes(), expires_at.to_be_bytes());
    secret.sign("device", &[&account.id.0.to_be_bytes(), &epoch, &expires_at])
}
