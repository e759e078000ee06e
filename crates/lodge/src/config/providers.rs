//! The settings of identity providers.

use std::{collections::HashSet, path::PathBuf};

use anyhow::{Result, bail, ensure};
use lodge_domain::accounts::ProviderName;
use lodge_outbound::{is_allowed_endpoint, is_allowed_provider_url, is_on_this_machine};
use serde::{Deserialize, Serialize};

use super::{Config, Role};

/// The maximum length of a title, in characters.
const TITLE_MAX: usize = 40;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ProviderConfig {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) issuer: String,
    pub(crate) client_id: String,
    pub(crate) client_secret_file: PathBuf,
    pub(crate) scopes: Vec<String>,
    pub(crate) auth_time: bool,
    pub(crate) authorization_url: String,
    pub(crate) token_url: String,
    pub(crate) userinfo_url: String,
    pub(crate) subject_field: String,
    pub(crate) name_field: String,
    pub(crate) secret_in_body: bool,
}

impl Default for ProviderConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            issuer: String::new(),
            client_id: String::new(),
            client_secret_file: PathBuf::new(),
            scopes: vec!["profile".to_owned()],
            auth_time: true,
            authorization_url: String::new(),
            token_url: String::new(),
            userinfo_url: String::new(),
            subject_field: "sub".to_owned(),
            name_field: "preferred_username".to_owned(),
            secret_in_body: false,
        }
    }
}

impl ProviderConfig {
    /// The name on the sign-in page.
    pub(crate) fn title(&self) -> &str {
        if self.title.is_empty() { &self.name } else { &self.title }
    }

    /// Returns whether the provider is plain OAuth 2 with configured endpoints, without OpenID Connect discovery.
    pub(crate) fn is_plain(&self) -> bool {
        !self.authorization_url.is_empty()
    }

    fn endpoints(&self) -> [(&'static str, &str); 3] {
        [
            ("authorization_url", &self.authorization_url),
            ("token_url", &self.token_url),
            ("userinfo_url", &self.userinfo_url),
        ]
    }
}

pub(super) fn check(config: &Config) -> Result<()> {
    let providers = &config.accounts.providers;
    let (mut names, mut issuers) = (HashSet::new(), HashSet::new());
    for (place, provider) in providers.iter().enumerate() {
        let key = format!("accounts.providers[{place}]");
        check_one(&key, provider)?;
        if !names.insert(&provider.name) {
            bail!("{key}.name: {:?} is already the name of another provider", provider.name);
        }
        ensure!(issuers.insert(&provider.issuer), "{key}.issuer must be unique among providers");
    }
    let is_elsewhere = |provider: &ProviderConfig| !is_on_this_machine(&provider.issuer);
    let sends_away = config.roles.contains(&Role::Web) && providers.iter().any(is_elsewhere);
    if sends_away && config.public_url.is_empty() {
        bail!("accounts.providers requires public_url: providers redirect browsers back to it");
    }
    Ok(())
}

fn check_one(key: &str, provider: &ProviderConfig) -> Result<()> {
    if let Err(error) = ProviderName::parse(&provider.name) {
        bail!("{key}.name: {error}");
    }
    if provider.title.chars().count() > TITLE_MAX || provider.title.chars().any(char::is_control) {
        bail!("{key}.title must be at most {TITLE_MAX} characters, without control characters");
    }
    if !is_allowed_provider_url(&provider.issuer) {
        let issuer = &provider.issuer;
        bail!("{key}.issuer must be an https URL, not {issuer:?}");
    }
    ensure!(
        !provider.client_id.is_empty(),
        "{key}.client_id must be the client id that the provider issued, not empty"
    );
    if provider.scopes.iter().any(|scope| scope.is_empty() || scope.contains(char::is_whitespace)) {
        bail!("{key}.scopes must be a list of words without spaces, such as [\"profile\"]");
    }
    let given = provider.endpoints().map(|(_, url)| !url.is_empty());
    if given.contains(&true) && given.contains(&false) {
        bail!("{key}: authorization_url, token_url and userinfo_url must be set together");
    }
    if !provider.is_plain() {
        return check_discovery(key, provider);
    }
    for (name, url) in provider.endpoints() {
        if !is_allowed_endpoint(&provider.issuer, url) {
            bail!("{key}.{name} must be an https URL, not {url:?}");
        }
    }
    ensure!(!provider.subject_field.is_empty(), "{key}.subject_field must not be empty");
    Ok(())
}

/// Refuses settings that an OpenID Connect provider with discovery would ignore.
fn check_discovery(key: &str, provider: &ProviderConfig) -> Result<()> {
    let standard = ProviderConfig::default();
    for (name, is_set) in [
        ("subject_field", provider.subject_field != standard.subject_field),
        ("name_field", provider.name_field != standard.name_field),
        ("secret_in_body", provider.secret_in_body),
    ] {
        if is_set {
            bail!("{key}.{name} requires authorization_url, token_url and userinfo_url");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> ProviderConfig {
        ProviderConfig {
            name: "acme".to_owned(),
            issuer: "https://id.example.org".to_owned(),
            client_id: "lodge".to_owned(),
            ..ProviderConfig::default()
        }
    }

    fn checked(providers: Vec<ProviderConfig>) -> Result<()> {
        let mut config =
            Config { public_url: "https://go.example.org".to_owned(), ..Config::default() };
        config.accounts.providers = providers;
        check(&config)
    }

    #[test]
    fn an_invalid_provider_is_refused_by_its_index() {
        let url = || "https://id.example.org/x".to_owned();
        let plain = ProviderConfig {
            authorization_url: url(),
            token_url: url(),
            userinfo_url: url(),
            ..sound()
        };
        for good in [sound(), plain.clone()] {
            assert!(checked(vec![good]).is_ok());
        }
        let bad = [
            ProviderConfig { name: "Acme".to_owned(), ..sound() },
            ProviderConfig { title: "a".repeat(41), ..sound() },
            ProviderConfig { issuer: "http://id.example.org".to_owned(), ..sound() },
            ProviderConfig { client_id: String::new(), ..sound() },
            ProviderConfig { scopes: vec!["a b".to_owned()], ..sound() },
            ProviderConfig { token_url: url(), ..sound() },
            ProviderConfig { token_url: "http://id.example.org/x".to_owned(), ..plain.clone() },
            ProviderConfig { token_url: "http://127.0.0.1/x".to_owned(), ..plain.clone() },
            ProviderConfig { authorization_url: String::new(), ..plain.clone() },
            ProviderConfig { subject_field: String::new(), ..plain },
            ProviderConfig { subject_field: "id".to_owned(), ..sound() },
            ProviderConfig { name_field: "login".to_owned(), ..sound() },
            ProviderConfig { secret_in_body: true, ..sound() },
            // A duplicate name, then a duplicate issuer.
            ProviderConfig { issuer: url(), ..sound() },
            ProviderConfig { name: "other".to_owned(), ..sound() },
        ];
        for (number, provider) in bad.into_iter().enumerate() {
            let error = checked(vec![sound(), provider]).unwrap_err().to_string();
            assert!(error.starts_with("accounts.providers[1]"), "{number}: {error}");
        }
    }

    #[test]
    fn a_remote_provider_requires_a_public_url() {
        let here = ProviderConfig { issuer: "http://127.0.0.1:3000".to_owned(), ..sound() };
        let mut config = Config::default();
        for (issuer, needs_it) in [(sound(), true), (here, false)] {
            config.accounts.providers = vec![issuer];
            for listen in ["127.0.0.1:8080", "0.0.0.0:8080"] {
                config.http.listen = listen.parse().unwrap();
                let checked = check(&config).map_err(|error| error.to_string());
                assert_eq!(checked.is_err_and(|why| why.contains("public_url")), needs_it);
            }
        }
        config.accounts.providers = vec![sound()];
        config.roles = vec![Role::Accounts];
        assert!(check(&config).is_ok(), "only web processes redirect to providers");
        config = Config { public_url: "https://go.example.org".to_owned(), ..Config::default() };
        config.accounts.providers = vec![sound()];
        assert!(check(&config).is_ok());
    }
}
