//! What a provider says of itself, and its keys.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use openidconnect::{IssuerUrl, core::CoreProviderMetadata};
use tokio::sync::Mutex;

use crate::{said, web::Web};

/// How long it is believed. A key that is taken back is one no longer after that.
const LIFETIME: Duration = Duration::from_mins(10);

/// How long nobody asks again after it could not be had, so that those who wait do not wait one after the
/// other.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks a provider what it is, when somebody wants to know, one at a time.
pub(crate) struct Discovery {
    issuer: IssuerUrl,
    web: Web,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    latest: Option<(Arc<CoreProviderMetadata>, Instant)>,
    failed_at: Option<Instant>,
}

impl Discovery {
    /// Of this issuer; nothing is asked yet.
    pub(crate) fn new(issuer: IssuerUrl, web: Web) -> Self {
        Self { issuer, web, known: Mutex::default() }
    }

    /// What it says.
    pub(crate) async fn get(&self) -> Result<Arc<CoreProviderMetadata>> {
        self.unless(|_| false).await
    }

    /// What it says now, where what it said before has a key missing.
    pub(crate) async fn newer_than(
        &self,
        old: &Arc<CoreProviderMetadata>,
    ) -> Result<Arc<CoreProviderMetadata>> {
        self.unless(|known| Arc::ptr_eq(known, old)).await
    }

    /// What is known, unless that is out of date.
    async fn unless(
        &self,
        outdated: impl Fn(&Arc<CoreProviderMetadata>) -> bool,
    ) -> Result<Arc<CoreProviderMetadata>> {
        let mut known = self.known.lock().await;
        if let Some((latest, at)) = &known.latest
            && at.elapsed() < LIFETIME
            && !outdated(latest)
        {
            return Ok(Arc::clone(latest));
        }
        if known.failed_at.is_some_and(|at| at.elapsed() < PAUSE) {
            return Err(Error::unavailable("the provider could not be asked a moment ago"));
        }
        match self.ask().await {
            Ok(found) => {
                let found = Arc::new(found);
                *known =
                    Known { latest: Some((Arc::clone(&found), Instant::now())), failed_at: None };
                Ok(found)
            }
            Err(error) => {
                known.failed_at = Some(Instant::now());
                Err(error)
            }
        }
    }

    async fn ask(&self) -> Result<CoreProviderMetadata> {
        let http = |request| self.web.clone().ask(request);
        let found = CoreProviderMetadata::discover_async(self.issuer.clone(), &http).await;
        let found = found.map_err(|error| Error::unavailable(said::chain(&error)))?;
        if !self.web.allows(found.authorization_endpoint().url()) {
            return Err(Error::unavailable("people would be sent where there is no TLS"));
        }
        if found.token_endpoint().is_none() {
            return Err(Error::unavailable("the provider has no token_endpoint"));
        }
        Ok(found)
    }
}
