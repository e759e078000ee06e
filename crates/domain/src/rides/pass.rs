//! Passes: whose a skier's number is, by the code that is printed on the pass.

use std::{collections::BTreeMap, fmt, ops::RangeInclusive, str::FromStr, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::SkierId;
use crate::{
    Clock, Error, Result,
    accounts::{AccountId, Belongings},
    secret::InstallationSecret,
};

/// How many passes an account can have.
pub const PASSES_MAX: usize = 10;

/// Crockford's base32: no letter in it looks like a digit or like another letter.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Characters of a code, of five bits each. Fifty bits are not to be guessed where tries are limited.
const CODE_LENGTH: usize = 10;

/// A code as it is printed on a pass: two groups of five. Read with or without the hyphen, or with spaces or other
/// dashes; in capitals or not, the letter O as 0, and I and L as 1.
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
        // One too many is enough to know that it is none.
        let code: Option<Vec<u8>> = typed.take(CODE_LENGTH + 1).collect();
        code.and_then(|code| code.try_into().ok()).map(Self).ok_or_else(|| {
            Error::invalid("code", "must be the ten letters and digits that are on the pass")
        })
    }
}

/// Whether it only keeps the groups apart: a space or a dash, of any length.
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

/// Derives the codes: an HMAC over the skier's number, so that a lost pass can be printed anew; and over how
/// often the code was renewed, if it was.
#[derive(Debug, Clone)]
pub struct PassCodes(InstallationSecret);

impl PassCodes {
    /// Codes under `secret`.
    pub fn new(secret: InstallationSecret) -> Self {
        Self(secret)
    }

    /// The code on a skier's pass after so many renewals.
    pub fn code(&self, skier: SkierId, renewals: u32) -> PassCode {
        let (skier, renewals) = (skier.0.to_be_bytes(), renewals.to_be_bytes());
        // The first code is over the number alone: it is on passes that were printed before others could be.
        let parts: &[&[u8]] = if renewals == [0; 4] { &[&skier] } else { &[&skier, &renewals] };
        let mac = self.0.sign("pass code", parts);
        let mut characters = mac.iter().map(|byte| ALPHABET[usize::from(byte & 31)]);
        PassCode(std::array::from_fn(|_| characters.next().unwrap_or(ALPHABET[0])))
    }

    /// Whether it is this one.
    fn fits(&self, skier: SkierId, renewals: u32, code: &PassCode) -> bool {
        self.code(skier, renewals).0.ct_eq(&code.0).into()
    }
}

/// A skier's number that is somebody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The number.
    pub skier: SkierId,
    /// Whose it is.
    pub account: AccountId,
    /// Whether leaderboards leave it out.
    pub hidden: bool,
    /// Since when it is theirs.
    pub claimed_at: Timestamp,
}

/// What came of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// It is theirs now, and as hidden as it was.
    New(Pass),
    /// It was theirs before; nothing changed.
    Already(Pass),
    /// They have as many as they can have; nothing changed.
    TooMany,
    /// Its code was renewed meanwhile; nothing changed.
    Renewed,
}

/// Keeps whose a skier's number is: one account's at most. Whose number is hidden is left out of what
/// [`RideTallies::leaders`](super::RideTallies::leaders) answers from then on, until somebody whose it is shows it
/// or gives it back.
#[async_trait]
pub trait PassStore: Send + Sync {
    /// Gives a number to an account that has fewer than [`PASSES_MAX`], whoever had it before, if its code was
    /// renewed so often.
    async fn claim(
        &self,
        skier: SkierId,
        account: AccountId,
        renewals: u32,
        at: Timestamp,
    ) -> Result<Claimed>;

    /// An account's passes, by number.
    async fn of_account(&self, account: AccountId) -> Result<Vec<Pass>>;

    /// Hides or shows a number, if it is this account's.
    async fn hide(&self, skier: SkierId, account: AccountId, hidden: bool) -> Result<Option<Pass>>;

    /// Makes a number nobody's and shows it, if it is this account's; whether it was.
    async fn release(&self, skier: SkierId, account: AccountId) -> Result<bool>;

    /// Makes nobody's all that is an account's; what is hidden stays so.
    async fn release_all(&self, account: AccountId) -> Result<()>;

    /// Accounts that have passes, by number, those after `after`, at most `limit`.
    async fn holders(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>>;

    /// How often the codes of these skiers were renewed, where they were, by number.
    async fn renewals(&self, skiers: RangeInclusive<SkierId>) -> Result<Vec<(SkierId, u32)>>;

    /// Renews the codes of these skiers.
    async fn renew(&self, skiers: RangeInclusive<SkierId>) -> Result<()>;
}

/// Claims passes, and gives them back.
#[derive(Clone)]
pub struct Passes {
    store: Arc<dyn PassStore>,
    clock: Arc<dyn Clock>,
    codes: PassCodes,
}

const NOT_THEIRS: Error = Error::not_found("you have no pass of that number");
const NOT_ITS_CODE: Error = Error::forbidden("this is not the code on the pass of that number");

impl Passes {
    /// Passes kept in `store`.
    pub fn new(store: Arc<dyn PassStore>, clock: Arc<dyn Clock>, codes: PassCodes) -> Self {
        Self { store, clock, codes }
    }

    /// The codes on the passes of these skiers, for whoever prints passes, by number.
    pub async fn codes(&self, skiers: RangeInclusive<SkierId>) -> Result<Vec<(SkierId, PassCode)>> {
        let renewals: BTreeMap<_, _> =
            self.store.renewals(skiers.clone()).await?.into_iter().collect();
        let code = |skier| {
            let renewals = renewals.get(&skier).copied().unwrap_or_default();
            (skier, self.codes.code(skier, renewals))
        };
        Ok((skiers.start().0..=skiers.end().0).map(SkierId).map(code).collect())
    }

    /// Makes the codes of these skiers void, for others. Whose a number is, it stays, until somebody claims it
    /// with the new code.
    pub async fn renew(&self, skiers: RangeInclusive<SkierId>) -> Result<()> {
        self.store.renew(skiers).await
    }

    /// Gives a number to whoever has its code; and whether it was not theirs before.
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
            Claimed::Renewed => Err(NOT_ITS_CODE),
            Claimed::New(pass) => Ok((pass, true)),
            Claimed::Already(pass) => Ok((pass, false)),
            Claimed::TooMany => {
                Err(Error::conflict("you have ten passes, and can have no more; give one back"))
            }
        }
    }

    /// An account's passes, by number.
    pub async fn of_account(&self, account: AccountId) -> Result<Vec<Pass>> {
        self.store.of_account(account).await
    }

    /// Hides a number from leaderboards, or shows it there.
    pub async fn hide(&self, skier: SkierId, account: AccountId, hidden: bool) -> Result<Pass> {
        self.store.hide(skier, account, hidden).await?.ok_or(NOT_THEIRS)
    }

    /// Gives a number back; it is nobody's then, and shown.
    pub async fn release(&self, skier: SkierId, account: AccountId) -> Result<()> {
        if self.store.release(skier, account).await? { Ok(()) } else { Err(NOT_THEIRS) }
    }
}

#[async_trait]
impl Belongings for Passes {
    async fn owners(&self, after: Option<AccountId>, limit: usize) -> Result<Vec<AccountId>> {
        self.store.holders(after, limit).await
    }

    async fn let_go(&self, former: AccountId) -> Result<()> {
        self.store.release_all(former).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_skiers_and_the_installations_own() {
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
        // What is printed on passes may not change with a version.
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
