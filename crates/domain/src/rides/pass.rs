//! Passes: an account claims a skier's number with the code printed on the pass.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    ops::RangeInclusive,
    str::FromStr,
    sync::Arc,
};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::{LeaderProfile, PassHolder, SkierId};
use crate::{
    Clock, Error, Result,
    accounts::{Account, AccountId},
    secret::InstallationSecret,
};

/// The maximum passes of an account.
pub const PASSES_MAX: usize = 10;

/// Crockford's base32, whose letters look unlike digits and each other.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The length of a code in characters of five bits. Fifty bits cannot be guessed where attempts are limited.
const CODE_LENGTH: usize = 10;

/// A code as printed on a pass: two groups of five. Parsed with or without the hyphen, with spaces or other dashes;
/// in any case, the letter O as 0, and I and L as 1.
#[derive(derive_more::Debug, Clone, PartialEq, Eq)]
#[debug("PassCode(…)")]
pub struct PassCode([u8; CODE_LENGTH]);

impl fmt::Display for PassCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, character) in self.0.iter().enumerate() {
            let hyphen = if place == CODE_LENGTH / 2 { "-" } else { "" };
            write!(f, "{hyphen}{}", char::from(*character))?;
        }
        Ok(())
    }
}

impl FromStr for PassCode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let typed = text.chars().filter(|typed| !is_between(*typed)).map(read);
        // One character too many is enough to refuse the code.
        let code: Option<Vec<u8>> = typed.take(CODE_LENGTH + 1).collect();
        code.and_then(|code| code.try_into().ok()).map(Self).ok_or_else(|| {
            Error::invalid("code", "must be the ten letters and digits printed on the pass")
        })
    }
}

/// Whether the character only separates groups: a space or a dash of any length.
fn is_between(typed: char) -> bool {
    typed.is_whitespace() || matches!(typed, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

fn read(typed: char) -> Option<u8> {
    let meant = match u8::try_from(typed).ok()?.to_ascii_uppercase() {
        b'O' => b'0',
        b'I' | b'L' => b'1',
        other => other,
    };
    ALPHABET.contains(&meant).then_some(meant)
}

/// Derives the codes: an HMAC over the skier's number, so that a lost pass can be reprinted, and over the number of
/// renewals, if any.
#[derive(Debug, Clone)]
pub struct PassCodes(InstallationSecret);

impl PassCodes {
    /// Creates codes derived from `secret`.
    pub fn new(secret: InstallationSecret) -> Self {
        Self(secret)
    }

    /// Returns the code on a skier's pass after `renewals` renewals.
    pub fn code(&self, skier: SkierId, renewals: u32) -> PassCode {
        let (skier, renewals) = (skier.0.to_be_bytes(), renewals.to_be_bytes());
        // The first code covers the number alone: it is on passes that were printed before codes could be renewed.
        let parts: &[&[u8]] = if renewals == [0; 4] { &[&skier] } else { &[&skier, &renewals] };
        let mac = self.0.sign("pass code", parts);
        let mut characters = mac.iter().map(|byte| ALPHABET[usize::from(byte & 31)]);
        PassCode(std::array::from_fn(|_| characters.next().unwrap_or(ALPHABET[0])))
    }

    /// Whether `code` is the one on this pass.
    fn fits(&self, skier: SkierId, renewals: u32, code: &PassCode) -> bool {
        self.code(skier, renewals).0.ct_eq(&code.0).into()
    }
}

/// A skier's number that an account has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The skier's number.
    pub skier: SkierId,
    /// The account.
    pub account: AccountId,
    /// Whether leaderboards omit the skier.
    pub hidden: bool,
    /// The time of the claim.
    pub claimed_at: Timestamp,
}

/// The outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassClaim {
    /// The account now has the pass; `hidden` is unchanged.
    New(Pass),
    /// The account already had the pass; nothing changed.
    Already(Pass),
    /// The account has the maximum of passes; nothing changed.
    TooMany,
    /// The code was renewed meanwhile; nothing changed.
    Renewed,
}

/// A store of passes; a number belongs to one account at most. A hidden number is omitted from
/// [`RideTallies::leaders`](super::RideTallies::leaders) until an account that has it shows or releases it.
#[async_trait]
pub trait PassStore: Send + Sync {
    /// Assigns a number to an account that has fewer than [`PASSES_MAX`], taking it from a previous account, if the
    /// code was renewed `renewals` times.
    async fn claim(
        &self,
        skier: SkierId,
        account: AccountId,
        renewals: u32,
        at: Timestamp,
    ) -> Result<PassClaim>;

    /// Returns an account's passes, ordered by number.
    async fn of_account(&self, account: AccountId) -> Result<Vec<Pass>>;

    /// Hides or shows a number, if this account has it.
    async fn hide(&self, skier: SkierId, account: AccountId, hidden: bool) -> Result<Option<Pass>>;

    /// Releases a number and shows it, if this account has it; returns whether it did.
    async fn release(&self, skier: SkierId, account: AccountId) -> Result<bool>;

    /// Releases all passes of an account and removes its profile; hidden numbers stay hidden.
    async fn release_all(&self, account: AccountId) -> Result<()>;

    /// Returns accounts that have passes or a profile, ordered by number, after `after`, at most `limit`.
    async fn holders(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>>;

    /// Returns the holders of these skiers' passes, without unclaimed ones. One lookup per skier: pass at most
    /// [`LEADERS_MAX`](super::LEADERS_MAX).
    async fn holders_of(&self, skiers: Vec<SkierId>) -> Result<Vec<(SkierId, PassHolder)>>;

    /// Returns the profile that an account allows on leaderboards, if it does.
    async fn profile(&self, account: AccountId) -> Result<Option<LeaderProfile>>;

    /// Allows a profile on leaderboards; if the account has one, its `since` stays.
    async fn show_profile(&self, profile: LeaderProfile) -> Result<()>;

    /// Updates an account's profile, but adds none: the account may have withdrawn it meanwhile.
    async fn update_profile(&self, profile: LeaderProfile) -> Result<()>;

    /// Removes an account's profile. Idempotent.
    async fn hide_profile(&self, account: AccountId) -> Result<()>;

    /// Returns the renewals of these skiers' codes, ordered by number, without those never renewed.
    async fn renewals(&self, skiers: RangeInclusive<SkierId>) -> Result<Vec<(SkierId, u32)>>;

    /// Renews the codes of these skiers.
    async fn renew(&self, skiers: RangeInclusive<SkierId>) -> Result<()>;
}

/// The service that claims and releases passes.
#[derive(Clone)]
pub struct Passes {
    pub(super) store: Arc<dyn PassStore>,
    clock: Arc<dyn Clock>,
    codes: PassCodes,
}

const NOT_THEIRS: Error = Error::not_found("you have no pass with this number");
const NOT_ITS_CODE: Error = Error::forbidden("wrong code for the pass with this number");

impl Passes {
    /// Creates the service over `store`.
    pub fn new(store: Arc<dyn PassStore>, clock: Arc<dyn Clock>, codes: PassCodes) -> Self {
        Self { store, clock, codes }
    }

    /// Returns the codes of these skiers' passes, for printing, ordered by number.
    pub async fn codes(&self, skiers: RangeInclusive<SkierId>) -> Result<Vec<(SkierId, PassCode)>> {
        let renewals: BTreeMap<_, _> =
            self.store.renewals(skiers.clone()).await?.into_iter().collect();
        let code = |skier| {
            let renewals = renewals.get(&skier).copied().unwrap_or_default();
            (skier, self.codes.code(skier, renewals))
        };
        Ok((skiers.start().0..=skiers.end().0).map(SkierId).map(code).collect())
    }

    /// Renews the codes of these skiers, which invalidates the old ones. A claimed number stays with its account
    /// until another account claims it with the new code.
    pub async fn renew(&self, skiers: RangeInclusive<SkierId>) -> Result<()> {
        self.store.renew(skiers).await
    }

    /// Claims a number with its code; also returns whether the account did not have it before.
    pub async fn claim(
        &self,
        skier: SkierId,
        account: AccountId,
        code: &PassCode,
    ) -> Result<(Pass, bool)> {
        let renewals = self.store.renewals(skier..=skier).await?;
        let renewals = renewals.first().map_or(0, |(_, renewals)| *renewals);
        if !self.codes.fits(skier, renewals, code) {
            return Err(NOT_ITS_CODE);
        }
        match self.store.claim(skier, account, renewals, self.clock.now()).await? {
            PassClaim::Renewed => Err(NOT_ITS_CODE),
            PassClaim::New(pass) => Ok((pass, true)),
            PassClaim::Already(pass) => Ok((pass, false)),
            PassClaim::TooMany => {
                Err(Error::conflict("you have ten passes, which is the maximum; release one first"))
            }
        }
    }

    /// Returns an account's passes, ordered by number.
    pub async fn of_account(&self, account: AccountId) -> Result<Vec<Pass>> {
        self.store.of_account(account).await
    }

    /// Hides a number from leaderboards, or shows it.
    pub async fn hide(&self, skier: SkierId, account: AccountId, hidden: bool) -> Result<Pass> {
        self.store.hide(skier, account, hidden).await?.ok_or(NOT_THEIRS)
    }

    /// Releases a number and shows it.
    pub async fn release(&self, skier: SkierId, account: AccountId) -> Result<()> {
        if self.store.release(skier, account).await? { Ok(()) } else { Err(NOT_THEIRS) }
    }

    /// Returns the holders of these skiers' passes; unclaimed passes are absent.
    pub async fn holders_of(&self, skiers: Vec<SkierId>) -> Result<HashMap<SkierId, PassHolder>> {
        Ok(self.store.holders_of(skiers).await?.into_iter().collect())
    }

    /// Returns the profile that leaderboards show of an account, if it allows one.
    pub async fn profile(&self, account: AccountId) -> Result<Option<LeaderProfile>> {
        self.store.profile(account).await
    }

    /// The same, after an update to the account's current state: a change can be missed while no process serves rides.
    pub async fn current_profile(&self, account: &Account) -> Result<Option<LeaderProfile>> {
        let Some(shown) = self.store.profile(account.id).await? else { return Ok(None) };
        let current = LeaderProfile::of(account, shown.since);
        if current != shown {
            self.store.update_profile(current.clone()).await?;
        }
        Ok(Some(current))
    }

    /// Shows an account's nickname and picture on leaderboards, or removes them.
    pub async fn set_profile(&self, account: &Account, is_shown: bool) -> Result<()> {
        if is_shown {
            self.store.show_profile(LeaderProfile::of(account, self.clock.now())).await
        } else {
            self.store.hide_profile(account.id).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_specific_to_skier_and_installation() {
        let codes = PassCodes::new(InstallationSecret::new([7; 32]));
        let code = codes.code(SkierId(1), 0);
        assert!(codes.fits(SkierId(1), 0, &code) && !codes.fits(SkierId(2), 0, &code));
        let elsewhere = PassCodes::new(InstallationSecret::new([8; 32]));
        assert!(!elsewhere.fits(SkierId(1), 0, &code));
        let of = |skier: u32| (0..10).map(move |renewals| (SkierId(skier), renewals));
        let many: std::collections::BTreeSet<_> = (1..=100)
            .flat_map(of)
            .map(|(skier, renewals)| codes.code(skier, renewals).to_string())
            .collect();
        assert_eq!(many.len(), 1_000);
        // Codes on printed passes must not change between versions.
        assert_eq!(code.to_string(), "CA4FT-PA5XM");
    }

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code: PassCode = "0123A-BCXYZ".parse().unwrap();
        assert_eq!(code.to_string(), "0123A-BCXYZ");
        for typed in [
            "0123ABCXYZ",
            "o123a-bcxyz",
            " OL23a-BcXyZ\n",
            "0-i-2-3-a-b-c-x-y-z",
            "0123a bcxyz",
            "0123a\u{a0}\u{2013}\u{a0}bcxyz",
            "0123a\u{2011}bcx\u{2212}yz",
        ] {
            assert_eq!(typed.parse::<PassCode>().unwrap(), code, "{typed}");
        }
        for typed in
            ["", " - ", "0123A-BCXY", "0123A-BCXYZ0", "0123A_BCXYZ", "0123A-BCXYU", "0123A-BCXYé"]
        {
            assert!(typed.parse::<PassCode>().is_err(), "{typed}");
        }
    }
}
