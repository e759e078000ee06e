//! Read positions of members, and unread counts.

use std::sync::Arc;

use async_trait::async_trait;
use lodge_domain::{
    Error, Result,
    accounts::Username,
    board::{
        Cursor, EventId, PersonId, Profile, ReadPosition, ReadPositions, Slug, UNREAD_MAX, Unread,
    },
};

use super::{ChannelRow, channels, origins, pending::PendingReads};
use crate::{
    App, Database, Failure, ReadKind, Row, Tx,
    statement::{pair, same, statements},
    tx::values,
};

statements! {
    READ = same("SELECT `cursor` FROM board_visits WHERE person = ? AND channel = ?");
    IS_FORGOTTEN = same("SELECT 1 FROM board_people WHERE person = ? AND username = ''");
    NOTE_READ = pair(
        "INSERT INTO board_visits (person, channel, cursor) VALUES (?, ?, ?) \
            ON CONFLICT DO UPDATE SET cursor = excluded.cursor",
        "INSERT INTO board_visits (person, channel, `cursor`) VALUES (?, ?, ?) \
            ON DUPLICATE KEY UPDATE `cursor` = VALUES(`cursor`)",
    );
    UNREAD = same("SELECT count(*) FROM (SELECT 1 FROM (SELECT author, visibility FROM board_messages \
        WHERE channel = ? AND origin = ? AND seq > ? ORDER BY seq DESC LIMIT ?) AS s \
        WHERE author <> ? AND visibility = 0 LIMIT ?) AS s");
    UNREAD_MENTIONS = same("SELECT count(*) FROM (SELECT 1 FROM board_mentions \
        WHERE username = ? AND channel = ? AND origin = ? AND seq > ? LIMIT ?) AS s");
}

/// Newest messages per origin among which unread ones are counted: the reader's own and hidden messages, which do not
/// count, may be any number.
const UNREAD_SCAN_MAX: u32 = 1_000;

/// Read positions that one transaction stores, so that other writes can run in between.
const POSITIONS_PER_WRITE: usize = 100;

/// The read positions in a database, with the pending ones in memory.
pub struct SqlReadPositions {
    database: Arc<dyn Database>,
    pending: PendingReads,
}

impl SqlReadPositions {
    /// Returns the read positions of `database`, with none pending.
    pub fn new(database: Arc<dyn Database>) -> Self {
        Self { database, pending: PendingReads::default() }
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&mut dyn Tx) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.database.read(App::Board, ReadKind::Snapshot, work).await
    }
}

#[async_trait]
impl ReadPositions for SqlReadPositions {
    fn record(&self, note: ReadPosition) -> Result<()> {
        self.pending.record(note)
    }

    async fn flush(&self) -> Result<()> {
        for some in self.pending.all().chunks(POSITIONS_PER_WRITE) {
            let notes = some.to_vec();
            let store = move |tx: &mut dyn Tx| notes.iter().try_for_each(|note| store(tx, note));
            self.database.write(App::Board, store).await?;
            self.pending.forget(some);
        }
        Ok(())
    }

    async fn read_cursor(&self, person: PersonId, channel: Slug) -> Result<Option<Cursor>> {
        let pending = self.pending.of(person);
        let read_so_far = move |tx: &mut dyn Tx| {
            let row = origins::channel(tx, &channel)?;
            let closed = origins::closed(&origins::origin_states(tx, row)?);
            let read = stored(tx, person, row)?.into_iter().chain(of_channel(&pending, &channel));
            let read = read.map(|cursor| cursor.unfolded(&closed));
            Ok(read.reduce(|read, more| read.merged(&more)))
        };
        self.read(read_so_far).await
    }

    async fn unread(&self, reader: Profile) -> Result<Vec<Unread>> {
        let pending = self.pending.of(reader.person);
        self.read(move |tx| unread(tx, &reader, &pending)).await
    }
}

fn of_channel<'p>(
    pending: &'p [(Slug, Cursor)],
    channel: &'p Slug,
) -> impl Iterator<Item = Cursor> + 'p {
    let here = pending.iter().filter(move |(of, _)| of == channel);
    here.map(|(_, cursor)| cursor.clone())
}

/// Returns the stored cursor of a member in a channel; `None` before the first read.
fn stored(
    tx: &mut dyn Tx,
    person: PersonId,
    channel: ChannelRow,
) -> Result<Option<Cursor>, Failure> {
    let read = |row: Row<'_>| row.get::<Option<String>>(0);
    let cursor = tx.one(&READ, values![person.number(), channel.0], read)?.flatten();
    Ok(cursor.map(|cursor| cursor.parse()).transpose().map_err(Error::internal)?)
}

fn store(tx: &mut dyn Tx, note: &ReadPosition) -> Result<(), Failure> {
    let ReadPosition { person, channel, cursor } = note;
    let Some((channel, _)) = channels::find(tx, channel)? else { return Ok(()) };
    // The account may have been deleted while the position was pending.
    if tx.exists(&IS_FORGOTTEN, values![person.number()])? {
        return Ok(());
    }
    let standings = origins::origin_states(tx, channel)?;
    let closed = origins::closed(&standings);
    let noted = stored(tx, *person, channel)?;
    let mut had = noted.clone().unwrap_or_default().unfolded(&closed);
    let now = cursor.clone().unfolded(&closed);
    // Events that are not stored yet cannot have been read.
    for (origin, seq) in origins::end_cursor(&standings).seqs() {
        let seq = seq.min(now.seq(origin));
        if seq > 0 {
            had.take(EventId { origin, seq });
        }
    }
    let had = had.folded(&closed)?;
    if noted.as_ref() == Some(&had) {
        return Ok(());
    }
    tx.execute(&NOTE_READ, values![person.number(), channel.0, &had.to_string()]).map(drop)
}

fn unread(
    tx: &mut dyn Tx,
    reader: &Profile,
    pending: &[(Slug, Cursor)],
) -> Result<Vec<Unread>, Failure> {
    let mut unread = Vec::new();
    for (row, channel) in channels::all(tx)? {
        if channel.is_archived {
            continue;
        }
        let pending = of_channel(pending, &channel.slug);
        let (messages, mentions) = unread_in(tx, reader, row, pending)?;
        if messages + mentions > 0 {
            unread.push(Unread { channel: channel.slug, messages, mentions });
        }
    }
    Ok(unread)
}

/// Counts unread messages and unread mentions of the reader; without a read position all messages are unread.
fn unread_in(
    tx: &mut dyn Tx,
    reader: &Profile,
    channel: ChannelRow,
    pending: impl Iterator<Item = Cursor>,
) -> Result<(u32, u32), Failure> {
    let standings = origins::origin_states(tx, channel)?;
    let closed = origins::closed(&standings);
    let read = stored(tx, reader.person, channel)?.into_iter().chain(pending);
    let read = read.map(|cursor| cursor.unfolded(&closed));
    let had = read.reduce(|had, more| had.merged(&more)).unwrap_or_default();
    // A bot can be mentioned like an account, but not every name of a bot is valid behind an `@`.
    let name = Username::parse(&reader.username).ok();
    let (mut messages, mut mentions) = (0, 0);
    let count = |row: Row<'_>| row.get::<u32>(0);
    for standing in &standings {
        let (origin, seq) = (standing.origin.number(), had.seq(standing.origin).cast_signed());
        let person = reader.person.number();
        let of = values![channel.0, origin, seq, UNREAD_SCAN_MAX, person, UNREAD_MAX];
        messages += tx.one(&UNREAD, of, count)?.unwrap_or(0);
        if let Some(name) = &name {
            let of = values![name.as_str(), channel.0, origin, seq, UNREAD_MAX];
            mentions += tx.one(&UNREAD_MENTIONS, of, count)?.unwrap_or(0);
        }
    }
    Ok((messages.min(UNREAD_MAX), mentions.min(UNREAD_MAX)))
}
