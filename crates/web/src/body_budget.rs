//! The memory for request bodies in transfer: a bound for all clients together, and a share of it for each address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use lodge_domain::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::edge::address::Client;

/// The shares of one address, as divisors of the whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Without a verified credential.
    pub(crate) unknown: usize,
    /// With one.
    pub(crate) known: usize,
}

impl Shares {
    /// An eighth, and a quarter with a verified credential.
    pub(crate) const USUAL: Self = Self { unknown: 8, known: 4 };
}

/// Long bodies that are read without pauses.
const LONG_AT_FULL_SPEED: usize = 8;

/// `Retry-After` of an address that uses its whole share.
const RETRY: Duration = Duration::from_secs(1);

/// A memory budget, in KiB.
pub(crate) struct BodyBudget {
    kib: usize,
    shares: Shares,
    room: Semaphore,
    /// The number of long bodies in transfer.
    long: AtomicUsize,
    /// What each address, or site of IPv6, uses; those that use none have no entry.
    used: Mutex<HashMap<IpAddr, usize>>,
}

/// Whose share a body uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodySender {
    /// `None` is not limited.
    address: Option<IpAddr>,
    is_known: bool,
}

impl BodySender {
    /// A client without a verified credential.
    pub(crate) fn unknown(client: Client) -> Self {
        Self { address: client.site(), is_known: false }
    }

    /// A client whose credential is verified.
    pub(crate) fn known(client: Client) -> Self {
        Self { address: client.site(), is_known: true }
    }

    /// A client that has a limit elsewhere.
    pub(crate) fn limited_elsewhere() -> Self {
        Self { address: None, is_known: false }
    }
}

impl BodyBudget {
    /// Creates a budget of `kib`.
    pub(crate) fn new(kib: usize, shares: Shares) -> Arc<Self> {
        let (long, used) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self { kib, shares, room: Semaphore::new(kib), long, used })
    }

    /// Returns what is not used, in KiB.
    #[cfg(test)]
    pub(crate) fn available_kib(&self) -> usize {
        self.room.available_permits()
    }

    /// Whether more than half is used.
    pub(crate) fn is_scarce(&self) -> bool {
        self.room.available_permits() < self.kib / 2
    }

    /// Counts a long body, until the result is dropped.
    pub(crate) fn begin_long(self: &Arc<Self>) -> LongBody {
        self.long.fetch_add(1, Ordering::Relaxed);
        LongBody(Arc::clone(self))
    }

    /// Whether so many long bodies are in transfer that they should leave time to other requests.
    pub(crate) fn has_many_long(&self) -> bool {
        self.long.load(Ordering::Relaxed) > LONG_AT_FULL_SPEED
    }

    /// Begins a body, which uses nothing yet.
    pub(crate) fn begin(self: &Arc<Self>, sender: BodySender) -> BodyMemory {
        BodyMemory { budget: Arc::clone(self), sender, kib: 0 }
    }

    fn take(&self, of: BodySender, kib: usize) -> Result<()> {
        let permits = u32::try_from(kib).unwrap_or(u32::MAX);
        let room = self.room.try_acquire_many(permits).map_err(|_| {
            Error::unavailable("the budget for request bodies in transfer is used up")
        })?;
        self.take_share(of, kib)?;
        room.forget();
        Ok(())
    }

    fn take_share(&self, of: BodySender, kib: usize) -> Result<()> {
        let Some(address) = of.address else { return Ok(()) };
        let part = if of.is_known { self.shares.known } else { self.shares.unknown };
        let mut all = self.used.lock();
        let used = all.get(&address).copied().unwrap_or_default() + kib;
        if used > self.kib / part {
            return Err(Error::TooMany { retry_after: RETRY });
        }
        all.insert(address, used);
        Ok(())
    }

    fn put_back(&self, of: BodySender, kib: usize) {
        self.room.add_permits(kib);
        let Some(address) = of.address else { return };
        let mut all = self.used.lock();
        if let Some(used) = all.get_mut(&address) {
            *used -= kib;
            if *used == 0 {
                all.remove(&address);
            }
        }
    }
}

/// A long body in transfer.
pub(crate) struct LongBody(Arc<BodyBudget>);

impl Drop for LongBody {
    fn drop(&mut self) {
        self.0.long.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The memory of one body, and of what is made of it; returned when it is dropped.
pub(crate) struct BodyMemory {
    budget: Arc<BodyBudget>,
    sender: BodySender,
    kib: usize,
}

impl BodyMemory {
    /// Returns the budget.
    pub(crate) fn budget(&self) -> &Arc<BodyBudget> {
        &self.budget
    }

    /// Begins other memory of the same sender.
    pub(crate) fn another(&self) -> Self {
        self.budget.begin(self.sender)
    }

    /// Takes what is missing for a body of `bytes`. Fails at once if the share of the address or the budget is used up.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<()> {
        let kib = bytes.div_ceil(1024).saturating_sub(self.kib);
        if kib == 0 {
            return Ok(());
        }
        self.budget.take(self.sender, kib)?;
        self.kib += kib;
        Ok(())
    }

    /// Returns what is more than `bytes` need.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let kib = bytes.div_ceil(1024).min(self.kib);
        self.budget.put_back(self.sender, self.kib - kib);
        self.kib = kib;
    }
}

impl Drop for BodyMemory {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const KIB: usize = 64;

    fn client(number: u8) -> Client {
        Client::Remote([192, 0, 2, number].into())
    }

    /// Tells apart a full share, a full budget, and success.
    fn grown(memory: &mut BodyMemory, kib: usize) -> &'static str {
        match memory.grow_to(kib * 1024) {
            Ok(()) => "taken",
            Err(Error::TooMany { .. }) => "share",
            Err(_) => "budget",
        }
    }

    #[test]
    fn an_address_uses_an_eighth_of_the_memory_and_with_a_credential_a_quarter() {
        let budget = BodyBudget::new(KIB, Shares::USUAL);
        let mut body = budget.begin(BodySender::unknown(client(1)));
        assert_eq!([8, 9].map(|kib| grown(&mut body, kib)), ["taken", "share"]);
        let mut second = budget.begin(BodySender::unknown(client(1)));
        assert_eq!(grown(&mut second, 1), "share");
        let mut known = budget.begin(BodySender::known(client(1)));
        assert_eq!([8, 9].map(|kib| grown(&mut known, kib)), ["taken", "share"]);
        let mut other = budget.begin(BodySender::unknown(client(2)));
        assert_eq!(grown(&mut other, 8), "taken");
        drop(body);
        drop(known);
        assert_eq!(grown(&mut second, 8), "taken");
    }

    #[test]
    fn processes_on_this_machine_use_all_of_the_memory_and_no_more() {
        let budget = BodyBudget::new(KIB, Shares::USUAL);
        let mut body = budget.begin(BodySender::unknown(Client::Local));
        assert_eq!([KIB, KIB + 1].map(|kib| grown(&mut body, kib)), ["taken", "budget"]);
        assert!(budget.is_scarce());
        drop(body);
        assert!(!budget.is_scarce());
    }

    proptest! {
        #[test]
        fn all_memory_is_returned(bodies in vec((0..4_u8, any::<bool>(), vec(0..24_usize, 0..4)), 0..12)) {
            let budget = BodyBudget::new(KIB, Shares::USUAL);
            let mut open = Vec::new();
            for (number, is_known, sizes) in bodies {
                let sender = if is_known { BodySender::known } else { BodySender::unknown };
                let mut body = budget.begin(sender(client(number)));
                for kib in sizes {
                    grown(&mut body, kib);
                    body.shrink_to((kib / 2) * 1024);
                }
                open.push(body);
                let used: usize = budget.used.lock().values().sum();
                prop_assert_eq!(used, KIB - budget.available_kib());
                prop_assert!(budget.used.lock().values().all(|used| *used <= KIB / Shares::USUAL.known));
            }
            drop(open);
            prop_assert_eq!(budget.available_kib(), KIB);
            prop_assert!(budget.used.lock().is_empty());
        }
    }
}
