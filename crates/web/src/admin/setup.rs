//! What the site knows of the set-up of the first admin.

use std::{sync::atomic::Ordering, time::Duration};

use lodge_domain::{Result, secret::SecretText};
use tokio::time::timeout;

use crate::{context::SiteContext, request::RequestContext};

/// The timeout for asking whether there is an admin, on pages that work without the answer.
const PATIENCE: Duration = Duration::from_millis(500);

impl SiteContext {
    /// Whether no account is an admin. Once there was an admin, this process does not ask again.
    pub(crate) async fn needs_admin(&self) -> Result<bool> {
        let Some(accounts) = &self.accounts else { return Ok(false) };
        if self.has_admin.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let needs = accounts.needs_admin().await?;
        self.has_admin.store(!needs, Ordering::Relaxed);
        Ok(needs)
    }

    /// Whether a page tells its visitor that there is no admin yet: only to a local one, because all others need the
    /// code in the log.
    pub(crate) async fn offers_setup(&self, asked: &RequestContext) -> bool {
        let offers =
            async { matches!(self.needs_admin().await, Ok(true)) && asked.is_local().await };
        timeout(PATIENCE, offers).await.unwrap_or(false)
    }

    /// Returns the setup code for a visitor who need not enter it: a local one, if this process keeps the
    /// accounts.
    pub(crate) async fn known_setup_code(&self, asked: &RequestContext) -> Option<&SecretText> {
        let code = self.setup_code.as_ref()?;
        asked.is_local().await.then_some(code)
    }
}
