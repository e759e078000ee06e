//! Wiring of the identity providers.

use std::{fs, sync::Arc};

use anyhow::{Result, anyhow, ensure};
use lodge_domain::{
    OsRandom,
    accounts::{
        AuthorizationRequest, AuthorizationSecrets, NoProviders, Provider, ProviderName, Providers,
    },
};
use lodge_outbound::{HttpProviders, OAuthEndpoints, ProviderOptions, UserinfoFields};

use super::setting_file::read_setting_file;
use crate::config::{Config, ProviderConfig};

/// Builds the client of the configured providers.
pub(super) fn providers(config: &Config) -> Result<Arc<dyn Providers>> {
    if config.accounts.providers.is_empty() {
        return Ok(Arc::new(NoProviders));
    }
    let options = config.accounts.providers.iter().map(options).collect::<Result<_>>()?;
    Ok(Arc::new(HttpProviders::new(options)?))
}

/// Tests each provider without signing in: fetches its OpenID Connect configuration.
pub(crate) async fn probe_providers(config: &Config) -> Vec<Result<String>> {
    let providers = match providers(config) {
        Ok(providers) => providers,
        Err(error) => return vec![Err(error)],
    };
    let mut found = Vec::new();
    for (provider, config) in providers.list().iter().zip(&config.accounts.providers) {
        let name = &provider.name;
        found.push(if config.is_plain() {
            Ok(format!("provider {name}: not tested; it has no OpenID Connect discovery"))
        } else {
            let flow = AuthorizationSecrets::new(&OsRandom);
            let (redirect_uri, reauthenticate) = ("http://localhost/", false);
            let request =
                AuthorizationRequest { provider: name, redirect_uri, flow: &flow, reauthenticate };
            let url = providers.authorization_url(request).await;
            url.map(|_| format!("provider {name}: {}", provider.issuer))
                .map_err(|error| anyhow!("provider {name}: {}", error.log_text()))
        });
    }
    found
}

fn options(config: &ProviderConfig) -> Result<ProviderOptions> {
    let endpoints = config.is_plain().then(|| OAuthEndpoints {
        authorization_url: config.authorization_url.clone(),
        token_url: config.token_url.clone(),
        userinfo_url: config.userinfo_url.clone(),
        fields: UserinfoFields {
            subject: config.subject_field.clone(),
            name: config.name_field.clone(),
        },
        secret_in_body: config.secret_in_body,
    });
    Ok(ProviderOptions {
        provider: Provider {
            name: ProviderName::parse(&config.name)?,
            title: config.title().to_owned(),
            issuer: config.issuer.clone(),
        },
        client_id: config.client_id.clone(),
        client_secret: client_secret(config)?,
        scopes: config.scopes.clone(),
        sends_auth_time: config.auth_time,
        endpoints,
    })
}

fn client_secret(config: &ProviderConfig) -> Result<Option<String>> {
    let file = &config.client_secret_file;
    let key = format!("accounts.providers, {}: client_secret_file", config.name);
    let Some(text) = read_setting_file(&key, file, fs::read_to_string)? else { return Ok(None) };
    let secret = text.trim();
    ensure!(!secret.is_empty(), "{key}: {} must contain a secret, but is empty", file.display());
    Ok(Some(secret.to_owned()))
}
