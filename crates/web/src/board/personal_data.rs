//! An account's messages, in the export of its data.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use lodge_domain::{
    Error, Result,
    accounts::AccountId,
    board::{Board, PersonId},
};
use serde_json::Value;

use super::dto::MessageJson;
use crate::personal_data::PersonalData;

/// Messages per page.
const PAGE: usize = 100;

impl PersonalData for Arc<Board> {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn of(&self, account: AccountId) -> BoxStream<'static, Result<Vec<Value>>> {
        let board = Arc::clone(self);
        let author = PersonId::Account(account);
        let pages = stream::try_unfold(0, move |after| {
            let board = Arc::clone(&board);
            async move {
                let page = board.written_by(author, after, PAGE).await?;
                let Some((last, _)) = page.last() else { return Ok(None) };
                let last = *last;
                let written = page.into_iter().map(|(_, message)| MessageJson::from(message));
                let written = written.map(serde_json::to_value);
                let written = written.collect::<Result<_, _>>().map_err(Error::internal)?;
                Ok(Some((written, last)))
            }
        });
        pages.boxed()
    }
}
