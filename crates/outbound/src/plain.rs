//! Providers that speak plain OAuth 2: who somebody is they tell whoever has a token, and sign nothing.

use http::{HeaderValue, Method, Request, StatusCode, header};
use lodge_domain::{
    Error, Result,
    accounts::{Exchange, Flow, Identified, Identity},
};
use oauth2::{
    AccessToken, AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    EndpointNotSet, EndpointSet, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    TokenResponse as _, TokenUrl, basic::BasicClient,
};
use serde_json::Value;

use crate::{said, token, web::Web};

/// Where a provider is asked, set by hand.
#[derive(Debug, Clone)]
pub struct PlainEndpoints {
    /// Where people are sent.
    pub authorization_url: String,
    /// Where a code is changed for a token.
    pub token_url: String,
    /// Where a token is changed for what is known of its owner.
    pub userinfo_url: String,
    /// Where that is found in the answer.
    pub fields: Fields,
    /// Whether our secret goes into the body, not into a header.
    pub secret_in_body: bool,
}

/// Fields of what is known of somebody, an object of JSON.
#[derive(Debug, Clone)]
pub struct Fields {
    /// What the provider calls them for ever, text or a whole number.
    pub subject: String,
    /// What they are called.
    pub name: String,
}

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// One provider.
pub(crate) struct Plain {
    /// What its identities are kept under.
    issuer: String,
    client: Client,
    scopes: Vec<Scope>,
    userinfo_url: String,
    fields: Fields,
    web: Web,
}

impl Plain {
    /// A provider with these endpoints.
    pub(crate) fn new(
        issuer: String,
        client: (ClientId, Option<ClientSecret>),
        scopes: Vec<Scope>,
        endpoints: PlainEndpoints,
        web: Web,
    ) -> Result<Self> {
        let PlainEndpoints { authorization_url, token_url, userinfo_url, fields, secret_in_body } =
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

    /// Where to send somebody.
    pub(crate) fn authorization_url(&self, redirect_uri: RedirectUrl, flow: &Flow) -> String {
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

    /// Who somebody is.
    pub(crate) async fn identify(
        &self,
        redirect_uri: RedirectUrl,
        exchange: &Exchange,
    ) -> Result<Identified> {
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

    /// Who somebody is of whom this is known.
    fn identified(&self, known: &Value) -> Result<Identified> {
        let field = &self.fields.subject;
        let subject = text(known, field).ok_or_else(|| {
            Error::internal(format!("{} does not tell the field {field}", self.issuer))
        })?;
        let identity = Identity::new(self.issuer.clone(), subject)?;
        Ok(Identified { identity, called: text(known, &self.fields.name) })
    }

    /// What is known of whoever a token is about.
    async fn userinfo(&self, token: &AccessToken) -> Result<Value> {
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.secret()))
            .map_err(|_| Error::unavailable("the provider's token fits no header"))?;
        bearer.set_sensitive(true);
        let request = Request::builder()
            .method(Method::GET)
            .uri(&self.userinfo_url)
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/json")
            .body(Vec::new())
            .map_err(Error::internal)?;
        let response = self.web.clone().ask(request).await;
        let response = response.map_err(|error| Error::unavailable(said::chain(&error)))?;
        let status = response.status();
        if status != StatusCode::OK {
            let why = format!("{} answered {status} to its own token", self.issuer);
            // It is not the provider that must change, if it understands what we ask.
            let is_ours = status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS;
            return Err(if is_ours { Error::internal(why) } else { Error::unavailable(why) });
        }
        serde_json::from_slice(response.body())
            .map_err(|_| Error::unavailable("what the provider knows is no JSON"))
    }
}

/// A field's text, or its whole number.
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

    /// What comes of asking who somebody is, where that is answered so.
    async fn known_as(status: &str, known: &Value) -> Result<Value> {
        let url = format!("{}me", answering(|_| answer(status, known.to_string())).await);
        let endpoints = PlainEndpoints {
            authorization_url: url.clone(),
            token_url: url.clone(),
            userinfo_url: url.clone(),
            fields: Fields { subject: "id".to_owned(), name: "login".to_owned() },
            secret_in_body: false,
        };
        let web = Web::new()?.of(&url.parse().unwrap());
        let client = (ClientId::new("x".to_owned()), None);
        let provider = Plain::new(url, client, Vec::new(), endpoints, web)?;
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
        assert!(cause.ends_with("/me does not tell the field id"), "{cause}");
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
