//! The account export. Large parts are streamed while they are read.

use std::{future::ready, time::Duration};

use axum::{
    body::Bytes,
    response::{IntoResponse, Response},
};
use futures_util::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use http::{HeaderValue, header};
use lodge_domain::{
    Error, Result,
    accounts::{AccountId, SessionDigest},
};

use super::{app::AccountsApp, dto::ExportJson};
use crate::{
    edge::address::Client, error::HttpResult, personal_data::PersonalData, responses::private,
};

/// The time limit of one export, after which its slot is free.
const TIME_MAX: Duration = Duration::from_mins(10);

const AS_A_FILE: HeaderValue = HeaderValue::from_static("attachment; filename=\"account.json\"");

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Responds with the export; an incomplete one is aborted.
pub(super) async fn exported(
    app: &AccountsApp,
    session: SessionDigest,
    client: Client,
) -> HttpResult {
    let me = app.accounts.who(session).await?;
    let place = app.exports.acquire(client)?;
    let export = app.accounts.export(session).await?;
    let own = serde_json::to_string(&ExportJson::of(*export, me.session.id));
    let own = own.map_err(Error::internal)?;
    let kept = app.personal_data.iter().map(|kept| part(&**kept, me.account.id)).collect();
    let body = place.body(whole(own, kept), TIME_MAX);
    let mut response: Response = private(body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::CONTENT_DISPOSITION, AS_A_FILE);
    Ok(response)
}

/// Appends fields to a JSON object.
fn whole(
    mut object: String,
    more: Vec<BoxStream<'static, Result<Bytes>>>,
) -> impl Stream<Item = Result<Bytes>> + Send + 'static {
    object.pop();
    let end = stream::once(ready(Ok(Bytes::from_static(b"}"))));
    stream::once(ready(Ok(object.into()))).chain(stream::iter(more).flatten()).chain(end)
}

/// Formats the data of one app as a field with a list.
fn part(kept: &dyn PersonalData, account: AccountId) -> BoxStream<'static, Result<Bytes>> {
    let begin = stream::once(ready(Ok(Bytes::from(format!(",\"{}\":[", kept.name())))));
    let mut comma = "";
    let pages = kept.of(account).map_ok(move |values| {
        let mut text = String::new();
        for value in values {
            text.push_str(comma);
            text.push_str(&value.to_string());
            comma = ",";
        }
        Bytes::from(text)
    });
    begin.chain(pages).chain(stream::once(ready(Ok(Bytes::from_static(b"]"))))).boxed()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Data with these pages; `Err` is a read failure.
    struct Pages(Vec<Result<Vec<Value>, ()>>);

    impl PersonalData for Pages {
        fn name(&self) -> &'static str {
            "pages"
        }

        fn of(&self, _: AccountId) -> BoxStream<'static, Result<Vec<Value>>> {
            let pages = self.0.clone().into_iter();
            stream::iter(pages.map(|page| page.map_err(|()| Error::unavailable("gone")))).boxed()
        }
    }

    async fn read(pages: Vec<Result<Vec<Value>, ()>>) -> Result<Value> {
        let part = || part(&Pages(pages.clone()), AccountId(1));
        let parts: Vec<_> =
            whole("{\"a\":1}".to_owned(), vec![part(), part()]).try_collect().await?;
        Ok(serde_json::from_slice(&parts.concat()).unwrap())
    }

    #[tokio::test]
    async fn an_export_contains_all_pages_or_fails() {
        for pages in
            [vec![], vec![vec![]], vec![vec![json!(1), json!({})], vec![], vec![json!("]")]]]
        {
            let all = pages.concat();
            let file = read(pages.into_iter().map(Ok).collect()).await.unwrap();
            assert_eq!((&file["a"], &file["pages"]), (&json!(1), &json!(all)));
        }
        assert!(read(vec![Ok(vec![json!(1)]), Err(())]).await.is_err());
    }
}
