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

use lodge_domain::{Error, Result, network::site_of};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::edge::address::Client;

/// The share of an address without a verified credential: an eighth.
const UNKNOWN: usize = 8;

/// The share of an address with one: a quarter.
const KNOWN: usize = 4;

/// Long bodies that are read without pauses.
const LONG_AT_FULL_SPEED: usize = 8;

/// `Retry-After` of an address that uses its whole share.
const RETRY: Duration = Duration::from_secs(1);

/// A memory budget, in KiB.
pub(crate) struct BodyBudget {
    kib: usize,
    room: Arc<Semaphore>,
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
    part: usize,
}

impl BodySender {
    /// A client without a verified credential.
    pub(crate) fn unknown(client: Client) -> Self {
        Self { address: client.limited_by().map(site_of), part: UNKNOWN }
    }

    /// A client whose credential is verified.
    pub(crate) fn known(client: Client) -> Self {
        Self { address: client.limited_by().map(site_of), part: KNOWN }
    }

    /// A client that has a limit elsewhere.
    pub(crate) fn limited_elsewhere() -> Self {
        Self { address: None, part: 1 }
    }
}

impl BodyBudget {
    /// Creates a budget of `kib`.
    pub(crate) fn new(kib: usize) -> Self {
        Self {
            kib,
            room: Arc::new(Semaphore::new(kib)),
            long: AtomicUsize::new(0),
            used: Mutex::default(),
        }
    }

    /// The whole, for memory that is not that of one body.
    pub(crate) fn room(&self) -> Arc<Semaphore> {
        Arc::clone(&self.room)
    }

    /// Whether more than half is used.
    pub(crate) fn is_scarce(&self) -> bool {
        self.room.available_permits() < self.kib / 2
    }

    /// Counts a long body, until the result is dropped.
    pub(crate) fn begin_long(&self) -> LongBody<'_> {
        self.long.fetch_add(1, Ordering::Relaxed);
        LongBody(&self.long)
    }

    /// Whether so many long bodies are in transfer that they should leave time to other requests.
    pub(crate) fn has_many_long(&self) -> bool {
        self.long.load(Ordering::Relaxed) > LONG_AT_FULL_SPEED
    }

    /// Begins a body, which uses nothing yet.
    pub(crate) fn begin(&self, sender: BodySender) -> Result<BodyMemory<'_>> {
        Ok(BodyMemory { budget: self, sender, permit: self.take(0)? })
    }

    fn take(&self, kib: usize) -> Result<SemaphorePermit<'_>> {
        let permit = self.room.try_acquire_many(u32::try_from(kib).unwrap_or(u32::MAX));
        permit
            .map_err(|_| Error::unavailable("the budget for request bodies in transfer is used up"))
    }

    fn take_share(&self, of: BodySender, kib: usize) -> Result<()> {
        let Some(address) = of.address else { return Ok(()) };
        let mut all = self.used.lock();
        let used = all.entry(address).or_default();
        if *used + kib > self.kib / of.part {
            return Err(Error::TooMany { retry_after: RETRY });
        }
        *used += kib;
        Ok(())
    }

    fn return_share(&self, of: BodySender, kib: usize) {
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
pub(crate) struct LongBody<'a>(&'a AtomicUsize);

impl Drop for LongBody<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The memory of one body, returned when it is dropped.
pub(crate) struct BodyMemory<'a> {
    budget: &'a BodyBudget,
    sender: BodySender,
    permit: SemaphorePermit<'a>,
}

impl<'a> BodyMemory<'a> {
    /// Returns the budget.
    pub(crate) fn budget(&self) -> &'a BodyBudget {
        self.budget
    }

    /// Takes what is missing for a body of `bytes`. Fails at once if the share of the address or the budget is used up.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<()> {
        let kib = bytes.div_ceil(1024).saturating_sub(self.permit.num_permits());
        if kib == 0 {
            return Ok(());
        }
        let permit = self.budget.take(kib)?;
        self.budget.take_share(self.sender, kib)?;
        self.permit.merge(permit);
        Ok(())
    }
}

impl Drop for BodyMemory<'_> {
    fn drop(&mut self) {
        self.budget.return_share(self.sender, self.permit.num_permits());
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
    fn grown(memory: &mut BodyMemory<'_>, kib: usize) -> &'static str {
        match memory.grow_to(kib * 1024) {
            Ok(()) => "taken",
            Err(Error::TooMany { .. }) => "share",
            Err(_) => "budget",
        }
    }

    #[test]
    fn an_address_uses_an_eighth_of_the_memory_and_with_a_credential_a_quarter() {
        let budget = BodyBudget::new(KIB);
        let mut body = budget.begin(BodySender::unknown(client(1))).unwrap();
        assert_eq!([8, 9].map(|kib| grown(&mut body, kib)), ["taken", "share"]);
        let mut second = budget.begin(BodySender::unknown(client(1))).unwrap();
        assert_eq!(grown(&mut second, 1), "share");
        let mut known = budget.begin(BodySender::known(client(1))).unwrap();
        assert_eq!([8, 9].map(|kib| grown(&mut known, kib)), ["taken", "share"]);
        let mut other = budget.begin(BodySender::unknown(client(2))).unwrap();
        assert_eq!(grown(&mut other, 8), "taken");
        drop(body);
        drop(known);
        assert_eq!(grown(&mut second, 8), "taken");
    }

    #[test]
    fn processes_on_this_machine_use_all_of_the_memory_and_no_more() {
        let budget = BodyBudget::new(KIB);
        let mut body = budget.begin(BodySender::unknown(Client::Local)).unwrap();
        assert_eq!([KIB, KIB + 1].map(|kib| grown(&mut body, kib)), ["taken", "budget"]);
        assert!(budget.is_scarce());
        drop(body);
        assert!(!budget.is_scarce());
    }

    proptest! {
        #[test]
        fn all_memory_is_returned(bodies in vec((0..4_u8, any::<bool>(), vec(0..24_usize, 0..4)), 0..12)) {
            let budget = BodyBudget::new(KIB);
            let mut open = Vec::new();
            for (number, is_known, sizes) in bodies {
                let sender = if is_known { BodySender::known } else { BodySender::unknown };
                let mut body = budget.begin(sender(client(number))).unwrap();
                for kib in sizes {
                    grown(&mut body, kib);
                }
                open.push(body);
                let used: usize = budget.used.lock().values().sum();
                prop_assert_eq!(used, KIB - budget.room.available_permits());
                prop_assert!(budget.used.lock().values().all(|used| *used <= KIB / KNOWN));
            }
            drop(open);
            prop_assert_eq!(budget.room.available_permits(), KIB);
            prop_assert!(budget.used.lock().is_empty());
        }
    }
}
