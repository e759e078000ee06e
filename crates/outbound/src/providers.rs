//! Sign-in providers, with timeouts and limits of concurrent calls.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    accounts::{
        AuthorizationRequest, CodeExchange, NO_PROVIDER, Provider, ProviderName, ProviderUser,
        Providers,
    },
};
use oauth2::{ClientId, ClientSecret, RedirectUrl, Scope};
use openidconnect::IssuerUrl;
use tokio::{sync::Semaphore, time::timeout};
use url::Url;

use crate::{
    oauth::{OAuthEndpoints, OAuthProvider},
    open_id::OpenIdProvider,
    web::HttpClient,
};

/// The timeout of a call to a provider, whatever requests it takes.
const CALL_TIMEOUT: Duration = Duration::from_secs(8);

/// The most concurrent calls to one provider; further calls fail at once.
const WAITING_MAX: usize = 16;

/// The most concurrent calls to all providers: each occupies a call of the accounts tier.
const WAITING_FOR_ALL_MAX: usize = 32;

/// A provider's configuration.
pub struct ProviderOptions {
    /// The provider's name, title and issuer.
    pub provider: Provider,
    /// Our client id at the provider.
    pub client_id: String,
    /// Our client secret, if the provider requires one.
    pub client_secret: Option<String>,
    /// The scopes to request.
    pub scopes: Vec<String>,
    /// Whether the provider says in `auth_time` when it authenticated a user, if it is asked to do so again.
    pub sends_auth_time: bool,
    /// The endpoints of a plain OAuth 2 provider; `None` for `OpenID` Connect discovery.
    pub endpoints: Option<OAuthEndpoints>,
}

/// Calls providers by their protocols.
pub struct HttpProviders {
    shown: Vec<Provider>,
    asked: Vec<ProviderClient>,
    places: Semaphore,
}

struct ProviderClient {
    way: ProviderProtocol,
    places: Semaphore,
}

enum ProviderProtocol {
    OpenId(Box<OpenIdProvider>),
    Plain(Box<OAuthProvider>),
}

impl HttpProviders {
    /// Creates the clients without a request, so that no provider need be reachable at the start.
    pub fn new(providers: Vec<ProviderOptions>) -> Result<Self> {
        Self::over(&HttpClient::new()?, providers)
    }

    fn over(web: &HttpClient, providers: Vec<ProviderOptions>) -> Result<Self> {
        let over_tls = |options: &ProviderOptions| options.provider.issuer.starts_with("https:");
        if !web.has_roots() && providers.iter().any(over_tls) {
            return Err(Error::internal(
                "this machine has no root certificates, which the TLS certificates of providers are verified with",
            ));
        }
        let shown = providers.iter().map(|options| options.provider.clone()).collect();
        let asked = providers.into_iter().map(|options| asked(options, web));
        let places = Semaphore::new(WAITING_FOR_ALL_MAX);
        Ok(Self { shown, asked: asked.collect::<Result<_>>()?, places })
    }

    fn find(&self, name: &ProviderName) -> Result<&ProviderClient> {
        let place = self.shown.iter().position(|provider| provider.name == *name);
        place.and_then(|place| self.asked.get(place)).ok_or(NO_PROVIDER)
    }

    /// Runs a call under the timeout and the limits of concurrent calls.
    async fn with_limits<T>(
        &self,
        asked: &ProviderClient,
        name: &ProviderName,
        answer: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Ok(_place) = asked.places.try_acquire() else {
            return Err(Error::unavailable("too many sign-ins wait for this provider"));
        };
        let Ok(_place_of_all) = self.places.try_acquire() else {
            return Err(Error::unavailable("too many sign-ins wait for providers"));
        };
        let began = Instant::now();
        let answer = timeout(CALL_TIMEOUT, answer)
            .await
            .unwrap_or_else(|_| Err(Error::unavailable("the provider did not answer in time")));
        metrics::histogram!("lodge_accounts_provider_seconds",
            "provider" => name.to_string(), "outcome" => outcome(&answer))
        .record(began.elapsed());
        answer
    }
}

/// The metric's label of an outcome.
fn outcome<T>(answer: &Result<T>) -> &'static str {
    match answer {
        Ok(_) => "ok",
        Err(Error::Forbidden(_)) => "refused",
        Err(Error::Unavailable { .. }) => "unavailable",
        Err(_) => "failed",
    }
}

fn asked(options: ProviderOptions, web: &HttpClient) -> Result<ProviderClient> {
    let ProviderOptions { provider, client_id, client_secret, scopes, sends_auth_time, endpoints } =
        options;
    let issuer = provider.issuer;
    let web = web.of(&Url::parse(&issuer).map_err(Error::internal)?);
    let client = (ClientId::new(client_id), client_secret.map(ClientSecret::new));
    let way = match endpoints {
        None => {
            let issuer = IssuerUrl::new(issuer).map_err(Error::internal)?;
            // The crate `openidconnect` adds it.
            let scopes = scopes.into_iter().filter(|scope| scope != "openid");
            let scopes = scopes.map(Scope::new).collect();
            ProviderProtocol::OpenId(Box::new(OpenIdProvider::new(
                issuer,
                client,
                scopes,
                sends_auth_time,
                web,
            )))
        }
        Some(endpoints) => {
            let scopes = scopes.into_iter().map(Scope::new).collect();
            ProviderProtocol::Plain(Box::new(OAuthProvider::new(
                issuer, client, scopes, endpoints, web,
            )?))
        }
    };
    Ok(ProviderClient { way, places: Semaphore::new(WAITING_MAX) })
}

#[async_trait]
impl Providers for HttpProviders {
    fn list(&self) -> &[Provider] {
        &self.shown
    }

    async fn authorization_url(&self, request: AuthorizationRequest<'_>) -> Result<String> {
        let AuthorizationRequest { provider, redirect_uri, flow, reauthenticate } = request;
        let (asked, to) = (self.find(provider)?, redirect_url(redirect_uri)?);
        let answer = async {
            match &asked.way {
                ProviderProtocol::OpenId(provider) => {
                    provider.authorization_url(to, flow, reauthenticate).await
                }
                ProviderProtocol::Plain(provider) => Ok(provider.authorization_url(to, flow)),
            }
        };
        self.with_limits(asked, provider, answer).await
    }

    async fn identify(&self, exchange: &CodeExchange) -> Result<ProviderUser> {
        let (asked, to) = (self.find(&exchange.provider)?, redirect_url(&exchange.redirect_uri)?);
        let answer = async {
            match &asked.way {
                ProviderProtocol::OpenId(provider) => provider.identify(to, exchange).await,
                ProviderProtocol::Plain(provider) => provider.identify(to, exchange).await,
            }
        };
        self.with_limits(asked, &exchange.provider, answer).await
    }
}

fn redirect_url(text: &str) -> Result<RedirectUrl> {
    RedirectUrl::new(text.to_owned()).map_err(|_| Error::invalid("redirect_uri", "must be a URL"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lodge_domain::{OsRandom, accounts::AuthorizationSecrets};
    use rustls::RootCertStore;
    use tokio::net::TcpListener;

    use super::*;

    fn known_by(name: &str, issuer: String) -> ProviderOptions {
        let name = ProviderName::parse(name).unwrap();
        ProviderOptions {
            provider: Provider { name, title: "Silent".to_owned(), issuer },
            client_id: "x".to_owned(),
            client_secret: None,
            scopes: Vec::new(),
            sends_auth_time: true,
            endpoints: None,
        }
    }

    #[test]
    fn without_root_certificates_only_local_providers_are_allowed() {
        let web = HttpClient::trusting(RootCertStore::empty()).unwrap();
        let start = |issuer: &str| HttpProviders::over(&web, vec![known_by("a", issuer.into())]);
        assert!(start("http://127.0.0.1:3000").is_ok());
        assert!(matches!(start("https://id.example.org").err(), Some(Error::Internal(_))));
    }

    #[tokio::test]
    async fn calls_past_the_limit_fail_at_once() {
        let unresponsive = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", unresponsive.local_addr().unwrap());
        let options = |name: &&str| known_by(name, format!("{issuer}/{name}"));
        let options = ["a", "b", "c"].iter().map(options).collect();
        let providers = Arc::new(HttpProviders::new(options).unwrap());
        let ask = |name| {
            let (providers, name) = (Arc::clone(&providers), ProviderName::parse(name).unwrap());
            async move {
                let flow = AuthorizationSecrets::new(&OsRandom);
                let redirect_uri = "http://localhost/";
                let request = AuthorizationRequest {
                    provider: &name,
                    redirect_uri,
                    flow: &flow,
                    reauthenticate: false,
                };
                providers.authorization_url(request).await
            }
        };
        let mut waiting = Vec::new();
        let began = Instant::now();
        for (name, left) in [("a", WAITING_FOR_ALL_MAX - WAITING_MAX), ("b", 0)] {
            waiting.extend((0..WAITING_MAX).map(|_| tokio::spawn(ask(name))));
            while providers.places.available_permits() > left {
                assert!(began.elapsed() < CALL_TIMEOUT, "too few calls wait");
                tokio::task::yield_now().await;
            }
            assert!(matches!(ask(name).await, Err(Error::Unavailable { .. })), "{name} alone");
        }
        assert!(matches!(ask("c").await, Err(Error::Unavailable { .. })), "all together");
        assert!(began.elapsed() < Duration::from_secs(1), "at once");
        for one in waiting {
            assert!(matches!(one.await.unwrap(), Err(Error::Unavailable { .. })));
        }
        assert!(began.elapsed() < CALL_TIMEOUT, "not one after the other");
    }
}
