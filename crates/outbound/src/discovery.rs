//! `OpenID` Connect discovery: a provider's metadata and keys.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use lodge_domain::{Error, Result};
use openidconnect::{IssuerUrl, core::CoreProviderMetadata};
use tokio::{sync::Mutex, time::timeout};

use crate::{log_text, web::HttpClient};

/// How long metadata is cached; a revoked key is trusted no longer than that.
const LIFETIME: Duration = Duration::from_mins(10);

/// The timeout of a discovery: shorter than a caller's deadline, so that all waiting callers get its outcome.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long callers fail at once after a failed discovery, so that waiting callers do not time out one after the other.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Fetches a provider's metadata on demand, one request at a time, and caches it.
pub(crate) struct Discovery {
    issuer: IssuerUrl,
    web: HttpClient,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    latest: Option<(Arc<CoreProviderMetadata>, Instant)>,
    failed_at: Option<Instant>,
}

impl Discovery {
    /// Creates a cache for this issuer without a request.
    pub(crate) fn new(issuer: IssuerUrl, web: HttpClient) -> Self {
        Self { issuer, web, known: Mutex::default() }
    }

    /// Returns the metadata.
    pub(crate) async fn get(&self) -> Result<Arc<CoreProviderMetadata>> {
        self.unless(|_| false).await
    }

    /// Returns metadata that is newer than `old`, in which a key is missing.
    pub(crate) async fn newer_than(
        &self,
        old: &Arc<CoreProviderMetadata>,
    ) -> Result<Arc<CoreProviderMetadata>> {
        self.unless(|known| Arc::ptr_eq(known, old)).await
    }

    /// Returns the cached metadata unless it is expired or `outdated`, and fetches it otherwise.
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
        if known.failed_at.is_some_and(|at| at.elapsed() < RETRY_DELAY) {
            return Err(Error::unavailable("discovery of the provider failed a moment ago"));
        }
        // The caller may be cancelled during the request; for the next one it has failed then.
        known.failed_at = Some(Instant::now());
        let late = |_| Err(Error::unavailable("the provider did not answer discovery in time"));
        match timeout(DISCOVERY_TIMEOUT, self.ask()).await.unwrap_or_else(late) {
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
        let http = |request| self.web.clone().send(request);
        let found = CoreProviderMetadata::discover_async(self.issuer.clone(), &http).await;
        let found = found.map_err(|error| Error::unavailable(log_text::chain(&error)))?;
        if !self.web.allows(found.authorization_endpoint().url()) {
            return Err(Error::unavailable("the provider's authorization_endpoint has no TLS"));
        }
        if found.token_endpoint().is_none() {
            return Err(Error::unavailable("the provider has no token_endpoint"));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::{io::AsyncReadExt as _, net::TcpListener};
    use url::Url;

    use super::*;
    use crate::web::tests::{answer, answering};

    /// Discovers a provider with these optional endpoints.
    async fn described(endpoints: &[&str]) -> Result<Arc<CoreProviderMetadata>> {
        let description = |issuer: &str| {
            let mut said = json!({
                "issuer": issuer, "authorization_endpoint": format!("{issuer}/auth"),
                "jwks_uri": format!("{issuer}/jwks"), "response_types_supported": ["code"],
                "subject_types_supported": ["public"], "keys": [],
                "id_token_signing_alg_values_supported": ["RS256"],
            });
            for name in endpoints {
                said[*name] = json!(format!("{issuer}/{name}"));
            }
            let head = "200 OK\r\nConnection: close\r\nContent-Type: application/json";
            answer(head, said.to_string())
        };
        let url = answering(description).await;
        let issuer = url.as_str().trim_end_matches('/').to_owned();
        let web = HttpClient::new().unwrap().of(&url);
        Discovery::new(IssuerUrl::new(issuer).unwrap(), web).get().await
    }

    #[tokio::test]
    async fn a_provider_without_a_token_endpoint_is_refused() {
        described(&["token_endpoint"]).await.unwrap();
        let error = described(&["userinfo_endpoint"]).await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, "the provider has no token_endpoint");
    }

    #[tokio::test]
    async fn after_an_abandoned_discovery_the_next_one_fails_at_once() {
        let unresponsive = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", unresponsive.local_addr().unwrap());
        let web = HttpClient::new().unwrap().of(&Url::parse(&issuer).unwrap());
        let discovery = Discovery::new(IssuerUrl::new(issuer).unwrap(), web);
        let asked = async {
            let (mut stream, _) = unresponsive.accept().await.unwrap();
            stream.read_exact(&mut [0; 4]).await.unwrap();
        };
        tokio::select! {
            _ = discovery.get() => panic!("discovery got an answer"),
            () = asked => {}
        }
        let began = Instant::now();
        assert!(matches!(discovery.get().await, Err(Error::Unavailable { .. })));
        assert!(began.elapsed() < RETRY_DELAY, "at once");
    }
}
