//! Rows of the table `links`.

use jiff::Timestamp;
use lodge_domain::{
    links::{ClickLimit, Link, LinkId, Owner, RedirectCode, Short, Tags, Target},
    passwords::PasswordHash,
};
use scylla::{
    DeserializeRow, SerializeRow,
    value::{CqlTimestamp, MaybeUnset},
};
use uuid::Uuid;

use super::failure::Failure;

/// The columns of [`LinkRow`], in its order.
pub(crate) const COLUMNS: &str = "short, id, target, redirect, version, key_version, owner, created_at, changed_at, \
    deleted_at, expires_at, clicks_max, clicks_used, exhausted_at, password, tags, writes";

/// The number of latest write ids that a row stores. A writer whose outcome is unknown looks for its id
/// there, even after other writes.
const WRITES_KEPT: usize = 16;

/// A row of the table `links`.
#[derive(Debug, Clone, PartialEq, Eq, SerializeRow, DeserializeRow)]
pub(crate) struct LinkRow {
    pub(crate) short: String,
    pub(crate) id: Uuid,
    target: String,
    redirect: i32,
    pub(crate) version: i64,
    key_version: i32,
    owner: Option<i64>,
    created_at: CqlTimestamp,
    changed_at: CqlTimestamp,
    deleted_at: Option<CqlTimestamp>,
    expires_at: Option<CqlTimestamp>,
    clicks_max: Option<i64>,
    pub(crate) clicks_used: Option<i64>,
    exhausted_at: Option<CqlTimestamp>,
    password: Option<String>,
    tags: Option<Vec<String>>,
    /// Ids of the latest writes, newest first.
    pub(crate) writes: Option<Vec<Uuid>>,
}

/// A row for an insert where no row is. Empty columns are unset: a null would be stored as a tombstone,
/// which every scan reads. It must not overwrite a row, whose values would remain in unset columns.
#[derive(SerializeRow)]
pub(crate) struct FreshRow<'a> {
    short: &'a str,
    id: Uuid,
    target: &'a str,
    redirect: i32,
    version: i64,
    key_version: i32,
    owner: MaybeUnset<i64>,
    created_at: CqlTimestamp,
    changed_at: CqlTimestamp,
    deleted_at: MaybeUnset<CqlTimestamp>,
    expires_at: MaybeUnset<CqlTimestamp>,
    clicks_max: MaybeUnset<i64>,
    clicks_used: MaybeUnset<i64>,
    exhausted_at: MaybeUnset<CqlTimestamp>,
    password: MaybeUnset<&'a str>,
    tags: MaybeUnset<&'a Vec<String>>,
    writes: MaybeUnset<&'a Vec<Uuid>>,
}

impl LinkRow {
    /// Returns the row of a link.
    pub(crate) fn of(link: &Link) -> Self {
        let limit = link.click_limit;
        let tags = link.tags.as_slice();
        Self {
            short: link.short.as_str().to_owned(),
            id: link.id.0,
            target: link.target.as_str().to_owned(),
            redirect: u16::from(link.redirect).into(),
            version: link.version.cast_signed(),
            key_version: link.key_version.cast_signed(),
            owner: link.owner.map(Owner::to_number),
            created_at: milliseconds(link.created_at),
            changed_at: milliseconds(link.changed_at),
            deleted_at: link.deleted_at.map(milliseconds),
            expires_at: link.expires_at.map(milliseconds),
            clicks_max: limit.map(|limit| limit.max.cast_signed()),
            clicks_used: limit.map(|limit| limit.used.cast_signed()),
            exhausted_at: limit.and_then(|limit| limit.exhausted_at).map(milliseconds),
            password: link.password.as_ref().map(|hash| hash.0.clone()),
            tags: (!tags.is_empty()).then(|| tags.to_vec()),
            writes: None,
        }
    }

    /// Returns the same row for an insert where no row is.
    pub(crate) fn fresh(&self) -> FreshRow<'_> {
        FreshRow {
            short: &self.short,
            id: self.id,
            target: &self.target,
            redirect: self.redirect,
            version: self.version,
            key_version: self.key_version,
            owner: MaybeUnset::from_option(self.owner),
            created_at: self.created_at,
            changed_at: self.changed_at,
            deleted_at: MaybeUnset::from_option(self.deleted_at),
            expires_at: MaybeUnset::from_option(self.expires_at),
            clicks_max: MaybeUnset::from_option(self.clicks_max),
            clicks_used: MaybeUnset::from_option(self.clicks_used),
            exhausted_at: MaybeUnset::from_option(self.exhausted_at),
            password: MaybeUnset::from_option(self.password.as_deref()),
            tags: MaybeUnset::from_option(self.tags.as_ref()),
            writes: MaybeUnset::from_option(self.writes.as_ref()),
        }
    }

    /// Returns the same row, written by `write` over `was`.
    pub(crate) fn written(mut self, write: Uuid, was: Option<&Self>) -> Self {
        let earlier = was.and_then(|was| was.writes.as_deref()).unwrap_or_default();
        self.writes =
            Some(std::iter::once(write).chain(earlier.iter().copied()).take(WRITES_KEPT).collect());
        self
    }

    /// Whether `write` is among the latest writes.
    pub(crate) fn has(&self, write: Uuid) -> bool {
        self.writes.as_ref().is_some_and(|writes| writes.contains(&write))
    }

    /// Returns the link of the row.
    pub(crate) fn link(self) -> Result<Link, Failure> {
        let unreadable = |what: &dyn std::fmt::Display| Failure::unreadable("links", what);
        let time = |at: CqlTimestamp| instant("links", at);
        let used = self.clicks_used.unwrap_or_default().cast_unsigned();
        let exhausted_at = self.exhausted_at.map(time).transpose()?;
        let limit = |max: i64| ClickLimit { max: max.cast_unsigned(), used, exhausted_at };
        Ok(Link {
            id: LinkId(self.id),
            short: Short::stored(self.short),
            target: Target::stored(self.target),
            redirect: u16::try_from(self.redirect).map_err(|error| unreadable(&error)).and_then(
                |code| RedirectCode::try_from(code).map_err(|error| unreadable(&error)),
            )?,
            version: self.version.cast_unsigned(),
            key_version: self.key_version.cast_unsigned(),
            owner: self.owner.map(Owner::of_number),
            created_at: time(self.created_at)?,
            changed_at: time(self.changed_at)?,
            deleted_at: self.deleted_at.map(time).transpose()?,
            expires_at: self.expires_at.map(time).transpose()?,
            click_limit: self.clicks_max.map(limit),
            password: self.password.map(PasswordHash),
            tags: Tags::parse(self.tags.unwrap_or_default()).map_err(|error| unreadable(&error))?,
        })
    }
}

pub(crate) fn milliseconds(at: Timestamp) -> CqlTimestamp {
    CqlTimestamp(at.as_millisecond())
}

pub(crate) fn instant(table: &'static str, at: CqlTimestamp) -> Result<Timestamp, Failure> {
    Timestamp::from_millisecond(at.0).map_err(|error| Failure::unreadable(table, &error))
}

#[cfg(test)]
mod tests {
    use lodge_contract::samples::{fresh, link};
    use scylla::{
        frame::response::result::{CollectionType, ColumnSpec, ColumnType, NativeType, TableSpec},
        serialize::{
            row::{RowSerializationContext, SerializeRow},
            writers::RowWriter,
        },
    };

    use super::*;

    fn column_type(name: &str) -> ColumnType<'static> {
        let list = |of| ColumnType::Collection {
            frozen: false,
            typ: CollectionType::List(Box::new(ColumnType::Native(of))),
        };
        match name {
            "short" | "target" | "password" => ColumnType::Native(NativeType::Text),
            "id" => ColumnType::Native(NativeType::Uuid),
            "redirect" | "key_version" => ColumnType::Native(NativeType::Int),
            "tags" => list(NativeType::Text),
            "writes" => list(NativeType::Uuid),
            name if name.ends_with("_at") => ColumnType::Native(NativeType::Timestamp),
            _ => ColumnType::Native(NativeType::BigInt),
        }
    }

    /// Returns the number of nulls and the number of unset columns.
    fn nulls_and_unset(row: &impl SerializeRow) -> (usize, usize) {
        let table = TableSpec::borrowed("lodge", "links");
        let column = |name| ColumnSpec::borrowed(name, column_type(name), table.clone());
        let columns: Vec<ColumnSpec<'_>> = COLUMNS.split(',').map(str::trim).map(column).collect();
        let mut bound = Vec::new();
        let context = RowSerializationContext::from_specs(&columns);
        row.serialize(&context, &mut RowWriter::new(&mut bound)).unwrap();
        let (mut nulls, mut unset, mut rest) = (0, 0, &bound[..]);
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length);
            nulls += usize::from(length == -1);
            unset += usize::from(length == -2);
            rest = &after[usize::try_from(length).unwrap_or(0)..];
        }
        (nulls, unset)
    }

    #[test]
    fn an_inserted_row_leaves_unset_what_an_update_sets_to_null() {
        let row = LinkRow::of(&link(&fresh("row"))).written(Uuid::nil(), None);
        assert_eq!(nulls_and_unset(&row), (8, 0));
        assert_eq!(nulls_and_unset(&row.fresh()), (0, 8));
    }
}
