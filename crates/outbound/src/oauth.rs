//! Providers with plain OAuth 2: `userinfo_url` names the owner of an access token, and nothing is signed.

use http::{HeaderValue, Method, Request, StatusCode, header};
use lodge_domain::{
    Error, Result,
    accounts::{Authenticated, AuthorizationSecrets, CodeExchange, Identity, ProviderUser},
};
use oauth2::{
    AccessToken, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    EndpointNotSet, EndpointSet, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    TokenResponse as _, TokenUrl, basic::BasicClient,
};
use serde_json::Value;

use crate::{log_text, token, web::HttpClient};

/// The configured endpoints of a provider.
#[derive(Debug, Clone)]
pub struct OAuthEndpoints {
    /// Where a browser is sent to sign in.
    pub authorization_url: String,
    /// Where a code is exchanged for an access token.
    pub token_url: String,
    /// Where an access token is exchanged for its owner's data.
    pub userinfo_url: String,
    /// The fields of that data.
    pub fields: UserinfoFields,
    /// Whether the client secret is sent in the body instead of a header.
    pub secret_in_body: bool,
}

/// Names of fields in the JSON object that `userinfo_url` returns.
#[derive(Debug, Clone)]
pub struct UserinfoFields {
    /// The field with the user's permanent id, text or a whole number.
    pub subject: String,
    /// The field with the user's name.
    pub name: String,
}

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// A provider with plain OAuth 2.
pub(crate) struct OAuthProvider {
    /// The issuer under which identities are stored.
    issuer: String,
    client: Client,
    scopes: Vec<Scope>,
    userinfo_url: String,
    fields: UserinfoFields,
    web: HttpClient,
}

impl OAuthProvider {
    /// Creates a client of the provider.
    pub(crate) fn new(
        issuer: String,
        client: (ClientId, Option<ClientSecret>),
        scopes: Vec<Scope>,
        endpoints: OAuthEndpoints,
        web: HttpClient,
    ) -> Result<Self> {
        let OAuthEndpoints { authorization_url, token_url, userinfo_url, fields, secret_in_body } =
            endpoints;
        let auth_type = if secret_in_body { AuthType::RequestBody } else { AuthType::BasicAuth };
        let (id, secret) = client;
        let mut client = BasicClient::new(id)
            .set_auth_uri(AuthUrl::new(authorization_url).map_err(Error::internal)?)
            .set_token_uri(TokenUrl::new(token_url).map_err(Error::internal)?)
            .set_auth_type(auth_type);
        if let Some(secret) = secret {
            client = client.set_client_secret(secret);
        }
        Ok(Self { issuer, client, scopes, userinfo_url, fields, web })
    }

    /// Returns the URL that starts a sign-in.
    pub(crate) fn authorization_url(
        &self,
        redirect_uri: RedirectUrl,
        flow: &AuthorizationSecrets,
    ) -> String {
        let (state, verifier) =
            (CsrfToken::new(flow.state.clone()), PkceCodeVerifier::new(flow.verifier.clone()));
        let client = self.client.clone().set_redirect_uri(redirect_uri);
        let (url, _) = client
            .authorize_url(move || state)
            .add_scopes(self.scopes.iter().cloned())
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        url.into()
    }

    /// Exchanges a code and returns the identity of the token's owner.
    pub(crate) async fn identify(
        &self,
        redirect_uri: RedirectUrl,
        exchange: &CodeExchange,
    ) -> Result<ProviderUser> {
        let client = self.client.clone().set_redirect_uri(redirect_uri);
        let verifier = PkceCodeVerifier::new(exchange.flow.verifier.clone());
        let http = |request| token::ask(self.web.clone(), request);
        let response = client
            .exchange_code(AuthorizationCode::new(exchange.code.clone()))
            .set_pkce_verifier(verifier)
            .request_async(&http)
            .await
            .map_err(|error| token::refused(&self.issuer, error))?;
        let known = self.userinfo(response.access_token()).await?;
        self.identified(&known)
    }

    /// Reads an identity from the provider's userinfo.
    fn identified(&self, known: &Value) -> Result<ProviderUser> {
        let field = &self.fields.subject;
        let subject = text(known, field).ok_or_else(|| {
            Error::internal(format!("the userinfo of {} has no field {field}", self.issuer))
        })?;
        let identity = Identity::new(self.issuer.clone(), subject)?;
        let called = text(known, &self.fields.name);
        Ok(ProviderUser { identity, called, authenticated: Authenticated::Unknowable })
    }

    /// Fetches the data of a token's owner.
    async fn userinfo(&self, token: &AccessToken) -> Result<Value> {
        let mut bearer =
            HeaderValue::try_from(format!("Bearer {}", token.secret())).map_err(|_| {
                Error::unavailable("the provider's token has characters that no header allows")
            })?;
        bearer.set_sensitive(true);
        let request = Request::builder()
            .method(Method::GET)
            .uri(&self.userinfo_url)
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/json")
            .body(Vec::new())
            .map_err(Error::internal)?;
        let response = self.web.clone().send(request).await;
        let response = response.map_err(|error| Error::unavailable(log_text::chain(&error)))?;
        let status = response.status();
        if status != StatusCode::OK {
            let why = format!("{} answered {status} to a token that it issued", self.issuer);
            // Most client errors are caused by our configuration, not by the provider.
            let is_ours = status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS;
            return Err(if is_ours { Error::internal(why) } else { Error::unavailable(why) });
        }
        serde_json::from_slice(response.body())
            .map_err(|_| Error::unavailable("the provider's userinfo is not JSON"))
    }
}

/// A text field, or a whole number as text.
fn text(known: &Value, field: &str) -> Option<String> {
    match known.get(field)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::web::tests::{answer, answering};

    /// The identity and name of a user whose userinfo request is answered like this.
    async fn known_as(status: &str, known: &Value) -> Result<Value> {
        let url = format!("{}me", answering(|_| answer(status, known.to_string())).await);
        let endpoints = OAuthEndpoints {
            authorization_url: url.clone(),
            token_url: url.clone(),
            userinfo_url: url.clone(),
            fields: UserinfoFields { subject: "id".to_owned(), name: "login".to_owned() },
            secret_in_body: false,
        };
        let web = HttpClient::new()?.of(&url.parse().unwrap());
        let client = (ClientId::new("x".to_owned()), None);
        let provider = OAuthProvider::new(url, client, Vec::new(), endpoints, web)?;
        let known = provider.userinfo(&AccessToken::new("token".to_owned())).await?;
        provider.identified(&known).map(|known| json!([known.identity.subject, known.called]))
    }

    #[tokio::test]
    async fn a_missing_userinfo_field_is_named() {
        let ada = json!({ "id": 1, "login": "ada" });
        assert_eq!(known_as("200 OK", &ada).await.unwrap(), json!(["1", "ada"]));
        assert_eq!(known_as("200 OK", &json!({ "id": 1 })).await.unwrap(), json!(["1", null]));
        let error = known_as("200 OK", &json!({ "sub": 1 })).await.unwrap_err();
        assert!(matches!(error, Error::Internal(_)), "{error}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.ends_with("/me has no field id"), "{cause}");
        for (status, is_ours) in [
            ("401 Unauthorized", true),
            ("404 Not Found", true),
            ("429 Too Many Requests", false),
            ("502 Bad Gateway", false),
            ("302 Found", false),
        ] {
            let error = known_as(status, &ada).await.unwrap_err();
            assert_eq!(matches!(error, Error::Internal(_)), is_ours, "{status}");
            assert_eq!(matches!(error, Error::Unavailable { .. }), !is_ours, "{status}");
        }
    }

    #[test]
    fn a_subject_is_text_or_a_whole_number() {
        let known = json!({ "id": 583_231, "login": "ada", "score": 1.5, "nothing": null });
        assert_eq!(text(&known, "id").as_deref(), Some("583231"));
        assert_eq!(text(&known, "login").as_deref(), Some("ada"));
        for field in ["score", "nothing", "absent"] {
            assert_eq!(text(&known, field), None, "{field}");
        }
        assert_eq!(text(&json!(["ada"]), "id"), None);
    }
}
