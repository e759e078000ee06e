//! Providers with `OpenID` Connect, whose answers are signed.

use std::time::Duration;

use jiff::Timestamp;
use lodge_domain::{
    Error, Result,
    accounts::{Authenticated, AuthorizationSecrets, CodeExchange, Identity, ProviderUser},
};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, IssuerUrl, Nonce, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, Scope, SignatureVerificationError, TokenResponse as _,
    core::{
        CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreIdTokenClaims,
        CoreJwsSigningAlgorithm, CoreProviderMetadata,
    },
};

use crate::{
    discovery::Discovery,
    log_text,
    token::{self, SIGN_IN_NOT_CONFIRMED},
    web::HttpClient,
};

/// The accepted signature algorithms: those with a private key of the provider. Algorithms with a shared secret and
/// `none` are refused.
const ACCEPTED_ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// A provider with `OpenID` Connect.
pub(crate) struct OpenIdProvider {
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    scopes: Vec<Scope>,
    /// Whether an id token for a reauthentication must have `auth_time`.
    sends_auth_time: bool,
    discovery: Discovery,
    web: HttpClient,
}

impl OpenIdProvider {
    /// The provider of this issuer; `scopes` are those in addition to `openid`.
    pub(crate) fn new(
        issuer: IssuerUrl,
        client: (ClientId, Option<ClientSecret>),
        scopes: Vec<Scope>,
        sends_auth_time: bool,
        web: HttpClient,
    ) -> Self {
        let (client_id, client_secret) = client;
        let discovery = Discovery::new(issuer.clone(), web.clone());
        Self { issuer, client_id, client_secret, scopes, sends_auth_time, discovery, web }
    }

    /// Returns the URL that starts a sign-in; to `reauthenticate`, the provider must not rely on an earlier one.
    pub(crate) async fn authorization_url(
        &self,
        redirect_uri: RedirectUrl,
        flow: &AuthorizationSecrets,
        reauthenticate: bool,
    ) -> Result<String> {
        let metadata = self.discovery.get().await?;
        let client = self.client(&metadata, redirect_uri);
        let (state, nonce) = (CsrfToken::new(flow.state.clone()), Nonce::new(flow.nonce.clone()));
        let verifier = PkceCodeVerifier::new(flow.verifier.clone());
        let code = CoreAuthenticationFlow::AuthorizationCode;
        let mut request = client
            .authorize_url(code, move || state, move || nonce)
            .add_scopes(self.scopes.iter().cloned())
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        if reauthenticate {
            request = request.set_max_age(Duration::ZERO);
        }
        let (url, ..) = request.url();
        Ok(url.into())
    }

    /// Exchanges a code, verifies the id token and returns the identity in it.
    pub(crate) async fn identify(
        &self,
        redirect_uri: RedirectUrl,
        exchange: &CodeExchange,
    ) -> Result<ProviderUser> {
        if exchange.issuer.as_ref().is_some_and(|issuer| *issuer != *self.issuer) {
            return Err(SIGN_IN_NOT_CONFIRMED);
        }
        let metadata = self.discovery.get().await?;
        let client = self.client(&metadata, redirect_uri.clone());
        let token = self.exchange(&client, exchange).await?;
        let nonce = Nonce::new(exchange.flow.nonce.clone());
        let mut verified = verify(&client, &token, &nonce);
        if let Err(ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey,
        )) = verified
        {
            // The provider may have rotated its keys.
            let metadata = self.discovery.newer_than(&metadata).await?;
            verified = verify(&self.client(&metadata, redirect_uri), &token, &nonce);
        }
        let claims = verified.map_err(|error| {
            let (issuer, why) = (self.issuer.as_str(), log_text::chain(&error));
            tracing::warn!(issuer, why, "an id token is invalid");
            SIGN_IN_NOT_CONFIRMED
        })?;
        let identity = Identity::new(self.issuer.to_string(), claims.subject().to_string())?;
        let authenticated = match claims.auth_time() {
            Some(at) => Timestamp::from_second(at.timestamp()).map(Authenticated::At),
            None if self.sends_auth_time => Ok(Authenticated::Unsaid),
            None => Ok(Authenticated::Unknowable),
        };
        let authenticated = authenticated.map_err(|_| SIGN_IN_NOT_CONFIRMED)?;
        Ok(ProviderUser { identity, called: called(&claims), authenticated })
    }

    /// Exchanges a code for an id token.
    async fn exchange(&self, client: &Client, exchange: &CodeExchange) -> Result<CoreIdToken> {
        let code = AuthorizationCode::new(exchange.code.clone());
        let verifier = PkceCodeVerifier::new(exchange.flow.verifier.clone());
        let http = |request| token::ask(self.web.clone(), request);
        let request = client.exchange_code(code).map_err(Error::unavailable)?;
        let response = request.set_pkce_verifier(verifier).request_async(&http).await;
        let response = response.map_err(|error| token::refused(self.issuer.as_str(), error))?;
        response.id_token().cloned().ok_or(SIGN_IN_NOT_CONFIRMED)
    }

    fn client(&self, metadata: &CoreProviderMetadata, redirect_uri: RedirectUrl) -> Client {
        let (id, secret) = (self.client_id.clone(), self.client_secret.clone());
        CoreClient::from_provider_metadata(metadata.clone(), id, secret)
            .set_redirect_uri(redirect_uri)
            .set_auth_type(auth_type(metadata))
    }
}

/// How the client secret is sent: in a header, unless the provider accepts it in the body only.
fn auth_type(metadata: &CoreProviderMetadata) -> AuthType {
    let methods = metadata.token_endpoint_auth_methods_supported();
    let has = |method: &CoreClientAuthMethod| methods.is_some_and(|all| all.contains(method));
    let in_body = has(&CoreClientAuthMethod::ClientSecretPost)
        && !has(&CoreClientAuthMethod::ClientSecretBasic);
    if in_body { AuthType::RequestBody } else { AuthType::BasicAuth }
}

/// Verifies an id token's signature, issuer, audience, time and nonce, and returns its claims.
fn verify(
    client: &Client,
    token: &CoreIdToken,
    nonce: &Nonce,
) -> Result<CoreIdTokenClaims, ClaimsVerificationError> {
    token.claims(&client.id_token_verifier().set_allowed_algs(ACCEPTED_ALGORITHMS), nonce).cloned()
}

/// The suggested name of the account's owner.
fn called(claims: &CoreIdTokenClaims) -> Option<String> {
    let preferred = claims.preferred_username().map(|name| name.to_string());
    let nickname = || claims.nickname()?.get(None).map(|name| name.to_string());
    let name = || claims.name()?.get(None).map(|name| name.to_string());
    preferred.or_else(nickname).or_else(name)
}
