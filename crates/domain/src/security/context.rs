//! Who acts in the current task, and where its security events go.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;

use super::{NewSecurityEvent, SecurityActor, SecurityEventKind};
use crate::accounts::AccountId;

/// Records security events. Does not wait and does not fail: an event must not slow or fail a request.
pub trait SecurityRecorder: Send + Sync {
    /// Records an event.
    fn record(&self, event: NewSecurityEvent);
}

/// The party that a request comes from, its address, and the recorder of its events.
pub struct SecurityContext {
    recorder: Arc<dyn SecurityRecorder>,
    address: Option<IpAddr>,
    actor: Mutex<SecurityActor>,
    has_failure: AtomicBool,
}

tokio::task_local! {
    /// A value of the task and not an argument: an event can be caused below any call of any service, and few calls
    /// know the request that they belong to.
    static CONTEXT: Arc<SecurityContext>;
}

impl SecurityContext {
    /// Creates the context of a request.
    pub fn new(
        recorder: Arc<dyn SecurityRecorder>,
        address: Option<IpAddr>,
        actor: SecurityActor,
    ) -> Arc<Self> {
        let (actor, has_failure) = (Mutex::new(actor), AtomicBool::new(false));
        Arc::new(Self { recorder, address, actor, has_failure })
    }

    /// Returns the party that the request was found to come from.
    pub fn actor(&self) -> SecurityActor {
        *self.actor.lock()
    }

    /// Records a refusal of this request, unless a service has recorded a failure that says more.
    pub fn refuse(&self, kind: SecurityEventKind, detail: String) {
        if !self.has_failure.load(Ordering::Relaxed) {
            self.record(kind, self.actor(), None, detail);
        }
    }

    fn record(
        &self,
        kind: SecurityEventKind,
        actor: SecurityActor,
        account: Option<AccountId>,
        detail: String,
    ) {
        self.has_failure.fetch_or(kind.is_failure(), Ordering::Relaxed);
        let address = self.address;
        self.recorder.record(NewSecurityEvent { kind, actor, account, address, detail });
    }
}

/// Runs `work` as the work of this request.
pub async fn within<F: Future>(context: Arc<SecurityContext>, work: F) -> F::Output {
    CONTEXT.scope(context, work).await
}

/// Returns `work` as work of the current request, to be run by another task.
pub(crate) fn carried<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let context = CONTEXT.try_with(Arc::clone);
    async {
        match context {
            Ok(context) => CONTEXT.scope(context, work).await,
            Err(_) => work.await,
        }
    }
}

/// Names the party that the current request was found to come from.
pub fn acting_as(actor: SecurityActor) {
    let _ = CONTEXT.try_with(|context| *context.actor.lock() = actor);
}

/// Records an event that the current request caused; nothing outside of a request.
pub fn record(kind: SecurityEventKind, account: Option<AccountId>, detail: impl Into<String>) {
    let _ = CONTEXT.try_with(|context| {
        context.record(kind, context.actor(), account, detail.into());
    });
}

/// Records an event that `actor` caused in the current request.
pub fn record_by(
    actor: SecurityActor,
    kind: SecurityEventKind,
    account: Option<AccountId>,
    detail: impl Into<String>,
) {
    let _ = CONTEXT.try_with(|context| context.record(kind, actor, account, detail.into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorded(Mutex<Vec<NewSecurityEvent>>);

    impl SecurityRecorder for Recorded {
        fn record(&self, event: NewSecurityEvent) {
            self.0.lock().push(event);
        }
    }

    #[tokio::test]
    async fn an_event_names_the_party_of_its_request() {
        let recorded = Arc::new(Recorded::default());
        let address = Some(IpAddr::from([192, 0, 2, 1]));
        let context = SecurityContext::new(recorded.clone(), address, SecurityActor::Visitor);
        record(SecurityEventKind::SignIn, None, "outside of a request");
        within(Arc::clone(&context), async {
            record(SecurityEventKind::SignIn, None, "");
            acting_as(SecurityActor::Key(7));
            let moved = carried(async { record(SecurityEventKind::KeyCreated, None, "") });
            tokio::spawn(moved).await.unwrap();
        })
        .await;
        context.refuse(SecurityEventKind::AccessRefused, String::new());
        within(Arc::clone(&context), async { record(SecurityEventKind::KeyRefused, None, "") })
            .await;
        context.refuse(SecurityEventKind::AccessRefused, "recorded already".to_owned());
        let events = recorded.0.lock();
        let told: Vec<_> = events.iter().map(|event| (event.kind, event.actor)).collect();
        let key = SecurityActor::Key(7);
        assert_eq!(
            told,
            [
                (SecurityEventKind::SignIn, SecurityActor::Visitor),
                (SecurityEventKind::KeyCreated, key),
                (SecurityEventKind::AccessRefused, key),
                (SecurityEventKind::KeyRefused, key),
            ]
        );
        assert!(events.iter().all(|event| event.address == address));
    }
}
