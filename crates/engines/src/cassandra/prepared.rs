//! Prepared statements.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use lodge_domain::Error;
use scylla::{
    client::{pager::TypedRowStream, session::Session},
    deserialize::row::DeserializeRow,
    response::query_result::QueryResult,
    serialize::row::SerializeRow,
    statement::{batch::BatchStatement, prepared::PreparedStatement},
    value::{CqlValue, Row},
};

use super::failure::Failure;

/// A prepared statement with its session.
pub(crate) struct Prepared {
    session: Arc<Session>,
    statement: PreparedStatement,
}

/// A statement of a batch with its bound values.
pub(crate) type Bound = (BatchStatement, Box<dyn SerializeRow + Send + Sync>);

impl Prepared {
    pub(crate) fn new(session: Arc<Session>, statement: PreparedStatement) -> Self {
        Self { session, statement }
    }

    /// Runs a query; returns the first row.
    pub(crate) async fn first<R>(&self, values: impl SerializeRow) -> Result<Option<R>, Failure>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
    {
        let rows = self.run(values).await?.into_rows_result()?;
        Ok(rows.maybe_first_row::<R>()?)
    }

    /// Runs a query; returns all rows.
    pub(crate) async fn all<R>(&self, values: impl SerializeRow) -> Result<Vec<R>, Failure>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata> + 'static,
    {
        Ok(self.rows(values).await?.try_collect().await?)
    }

    /// Runs a query; returns a stream of the rows, which are fetched page by page.
    pub(crate) async fn rows<R>(
        &self,
        values: impl SerializeRow,
    ) -> Result<TypedRowStream<R>, Failure>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata> + 'static,
    {
        let pages = self.session.execute_iter(self.statement.clone(), values).await?;
        Ok(pages.rows_stream().map_err(Error::internal)?)
    }

    /// Runs a statement; returns its raw result.
    pub(crate) async fn run(&self, values: impl SerializeRow) -> Result<QueryResult, Failure> {
        Ok(self.session.execute_unpaged(&self.statement, values).await?)
    }

    /// Runs a lightweight transaction; returns whether it was applied.
    pub(crate) async fn transact(&self, values: impl SerializeRow) -> Result<bool, Failure> {
        is_applied(self.run(values).await?)
    }

    /// Binds values, for a batch.
    pub(crate) fn bind(&self, values: impl SerializeRow + Send + Sync + 'static) -> Bound {
        (self.statement.clone().into(), Box::new(values))
    }
}

/// Reads `[applied]`, the first column of a lightweight transaction's result.
pub(crate) fn is_applied(result: QueryResult) -> Result<bool, Failure> {
    let rows = result.into_rows_result()?;
    let row = rows.maybe_first_row::<Row>()?;
    let applied = row.as_ref().and_then(|row| row.columns.first()?.as_ref());
    Ok(matches!(applied, Some(CqlValue::Boolean(true))))
}
