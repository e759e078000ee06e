//! The board's store.

pub(crate) mod amend;
pub(crate) mod channels;
pub(crate) mod events;
pub(crate) mod hooks;
mod log;
pub(crate) mod messages;
pub(crate) mod origins;
pub(crate) mod people;
pub(crate) mod pictures;
pub(crate) mod post;
pub(crate) mod reports;
mod row;
pub(crate) mod search;
mod store;

pub(crate) use self::store::SqliteBoard;

/// Statements that must find their way by an index.
#[cfg(test)]
pub(crate) fn statements() -> impl Iterator<Item = &'static str> {
    amend::STATEMENTS
        .into_iter()
        .chain(channels::STATEMENTS)
        .chain(hooks::STATEMENTS)
        .chain(messages::STATEMENTS)
        .chain(origins::STATEMENTS)
        .chain(people::STATEMENTS)
        .chain(pictures::STATEMENTS)
        .chain(post::STATEMENTS)
        .chain(reports::STATEMENTS)
        .chain(row::STATEMENTS)
        .chain(search::STATEMENTS)
}

/// Those that are put together.
#[cfg(test)]
pub(crate) fn written_statements() -> Vec<String> {
    let others = [post::one_event(), messages::one_sql(), reports::message_sql(), search::sql()];
    let own = [reports::open_sql(), reports::COUNT.to_owned(), reports::hidden_sql()];
    let paged = pages().into_iter().filter(|sql| !own.contains(sql));
    paged.chain(others).collect()
}

/// Those whose rows come in the order of an index; open reports and what is hidden are indexes of their own.
#[cfg(test)]
pub(crate) fn pages() -> Vec<String> {
    let of_messages = [false, true].map(messages::page_sql);
    let of_events = [false, true].map(events::sql);
    of_messages
        .into_iter()
        .chain(of_events)
        .chain([messages::written_sql(), reports::COUNT.to_owned()])
        .chain([reports::open_sql(), reports::hidden_sql()])
        .collect()
}
