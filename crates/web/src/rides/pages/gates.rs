//! The page of gates, for admins.

use axum::extract::{RawQuery, State};
use lodge_domain::{
    Result,
    rides::{Gate, Rides},
    secret::SecretText,
};

use super::names::resort_name;
use crate::{
    admin::{
        Admin,
        keys::{self, KeyForm, KeyKind, KeyRow, KeyService},
    },
    error::HttpResult,
    pages::forms::non_empty,
    request::FormBody,
    rides::app::{RidesApp, numbered},
};

const KIND: KeyKind = KeyKind {
    path: "/admin/gates",
    title: "Gates",
    one: "gate",
    token: "Key of gate",
    a_new_one: "a gate",
    about: "A gate sends rides with its own key, and only it can void them.",
    hint: "Where the gate is, such as north.",
    usage: "The gate sends it as Authorization: Bearer with each request.",
    revocation: "Rides with the key are refused from now on. The gate's rides stay.",
    renewal: Some(
        "The old key ends at once. The gate keeps its rides, and a revoked gate is active again.",
    ),
    command: "lodge admin gate list",
};

/// The gates of the rides service.
struct Gates<'a>(&'a Rides);

impl KeyService for Gates<'_> {
    fn kind(&self) -> &'static KeyKind {
        &KIND
    }

    fn resorts(&self) -> Vec<(u16, String)> {
        self.0.catalog().resorts().map(|(id, resort)| (id.0, resort.name.clone())).collect()
    }

    async fn list(&self) -> Result<Vec<KeyRow>> {
        let gates = self.0.gates().list().await?.into_iter();
        let name = |id| resort_name(self.0.catalog(), id).into_owned();
        let row = |gate: Gate| KeyRow {
            limit: Some(gate.resort.map_or_else(|| "All resorts".to_owned(), name)),
            name: gate.name,
            created_at: gate.created_at,
            revoked_at: gate.revoked_at,
        };
        Ok(gates.map(row).collect())
    }

    async fn create(&self, form: &KeyForm) -> Result<SecretText> {
        let catalog = self.0.catalog();
        let resort = non_empty(&form.resort)
            .map(|digits| numbered("resort", digits, |number| catalog.resort(number)))
            .transpose()?;
        let (_, token) = self.0.gates().create(&form.name, resort.map(|(id, _)| id)).await?;
        Ok(token.into())
    }

    async fn renew(&self, name: &str) -> Result<SecretText> {
        Ok(self.0.gates().renew(name).await?.1.into())
    }

    async fn revoke(&self, name: &str) -> Result<()> {
        self.0.gates().revoke(name).await.map(drop)
    }
}

/// `GET /admin/gates`.
pub(super) async fn show(
    State(app): State<RidesApp>,
    _: Admin,
    RawQuery(query): RawQuery,
) -> HttpResult {
    keys::show(&app.site, Gates(&app.rides), query.as_deref()).await
}

/// `POST /admin/gates`.
pub(super) async fn change(
    State(app): State<RidesApp>,
    _: Admin,
    FormBody(form): FormBody<KeyForm>,
) -> HttpResult {
    keys::change(&app.site, Gates(&app.rides), form).await
}
