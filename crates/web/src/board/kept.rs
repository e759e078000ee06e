//! What somebody wrote, in the file of all that is kept about them.

use std::sync::Arc;

use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    accounts::AccountId,
    board::{Board, PAGE_MAX, PersonId},
};
use serde_json::Value;

use super::dto::MessageJson;
use crate::kept::Kept;

struct Messages(Arc<Board>);

/// What is kept about people here.
pub(crate) fn kept(board: &Arc<Board>) -> Box<dyn Kept> {
    Box::new(Messages(Arc::clone(board)))
}

#[async_trait]
impl Kept for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    async fn of(&self, account: AccountId) -> Result<Value> {
        let (author, mut written, mut after) = (PersonId::Account(account), Vec::new(), 0);
        loop {
            let page = self.0.log.written_by(author, after, PAGE_MAX).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            written.extend(page.into_iter().map(|(_, message)| MessageJson::from(message)));
        }
        serde_json::to_value(written).map_err(Error::internal)
    }
}
