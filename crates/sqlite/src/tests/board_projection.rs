//! Projections of the board's log do not depend on the order in which events of several origins arrive.

use std::sync::Arc;

use lodge_contract::{
    board::{message, new_actor},
    samples::BEGIN,
};
use lodge_domain::{
    accounts::Role,
    board::{
        Actor, BoardEvent, BoardEventContent, BoardLog, Body, ClientId, Cursor, EventId, EventLog,
        EventRange, Message, MessageRange, MessageSearch, MessagesQuery, NewMessage, Origin,
        Posted, Reaction, ReadPositions, Slug, Stamp, Unread, Word,
    },
};
use lodge_sql::{App, SqlReadPositions};
use lodge_testbed::by_depth;
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::TestCaseResult};
use rusqlite::Connection;

use super::{board, open, store_remote_event, written};
use crate::{Options, engine::Engine, origins};

const ORIGINS: u32 = 3;

/// An event written by an origin.
#[derive(Clone)]
struct Written {
    place: (EventId, Stamp),
    what: BoardEventContent,
    sent: Option<ClientId>,
    by: Actor,
}

/// A random event: origin, kind, target message, time, author.
type Choice = (u32, u8, Index, i64, usize);

/// Returns the events of all origins, in the order in which they were written.
fn write_all(choices: &[Choice], people: &[Actor; 2]) -> Vec<Written> {
    // An event may target any message, also one that its origin cannot know yet.
    let mut seqs = [0; ORIGINS as usize];
    let ids: Vec<_> = choices
        .iter()
        .map(|(origin, ..)| {
            let seq = &mut seqs[*origin as usize];
            *seq += 1;
            EventId { origin: Origin::new(origin + 1).unwrap(), seq: *seq }
        })
        .collect();
    let is_message = |kind: u8| kind < 4;
    let messages: Vec<_> =
        ids.iter().zip(choices).filter(|(_, choice)| is_message(choice.1)).collect();
    let event = |(number, (_, kind, target, at, who)): (usize, &Choice)| {
        let target = messages.get(target.index(messages.len().max(1)));
        let (target, author) = target.map_or((ids[number], *who), |(id, of)| (**id, of.4));
        let reaction = Reaction::all().next().unwrap();
        let edited = Body::parse(&format!("anew{number} @{}", people[0].profile.username)).unwrap();
        let (what, by) = match kind {
            _ if is_message(*kind) || messages.is_empty() => {
                (written(&format!("word{number} @{}", people[1].profile.username)), *who)
            }
            4 => (BoardEventContent::Edit { target, body: Some(edited) }, author),
            5 => (BoardEventContent::Delete { target }, author),
            6 => (BoardEventContent::Hide { target, is_hidden: true }, *who),
            7 => (BoardEventContent::Hide { target, is_hidden: false }, *who),
            8 => (BoardEventContent::Reaction { target, reaction, is_removed: false }, *who),
            _ => (BoardEventContent::Reaction { target, reaction, is_removed: true }, *who),
        };
        // Some are sent twice under one client id, to two origins.
        let sent = matches!(what, BoardEventContent::Message { .. })
            .then(|| ClientId::parse(&format!("client-{}", number % 7)).unwrap());
        Written { place: (ids[number], Stamp::stored(*at)), what, sent, by: people[by].clone() }
    };
    choices.iter().enumerate().map(event).collect()
}

/// Returns the same events in another order, which keeps the order within each origin.
fn interleave(events: &[Written], turns: &[Index]) -> Vec<Written> {
    let of_origin = |number: u32| {
        let own = events.iter().filter(move |event| event.place.0.origin.number() == number + 1);
        own.cloned().collect::<std::collections::VecDeque<_>>()
    };
    let mut waiting: Vec<_> = (0..ORIGINS).map(of_origin).collect();
    let mut turns = turns.iter().cycle();
    let mut arrived = Vec::new();
    while arrived.len() < events.len() {
        waiting.retain(|of_origin| !of_origin.is_empty());
        let turn = turns.next().map_or(0, |turn| turn.index(waiting.len()));
        arrived.extend(waiting[turn].pop_front());
    }
    arrived
}

/// Everything that a reader can see of a board.
#[derive(Debug, PartialEq)]
struct Seen {
    messages: Vec<Message>,
    events: Vec<BoardEvent>,
    found: Vec<EventId>,
    unread: Vec<Unread>,
    /// Log rows that still have a text or picture of a deleted message.
    left: i64,
}

async fn seen_after(
    events: Vec<Written>,
    reader: &Actor,
) -> (Seen, Arc<Engine>, tempfile::TempDir) {
    let (engine, folder) = open(&Options::default());
    let store = move |connection: &Connection| {
        for number in 0..ORIGINS {
            origins::add(connection, Origin::new(number + 1).unwrap())?;
        }
        for Written { place, what, sent, by } in &events {
            // Twice, because a replica may receive an event twice.
            for _ in 0..2 {
                store_remote_event(connection, *place, what, sent.as_ref(), by);
            }
        }
        Ok(())
    };
    engine.writer.write(App::Board, store).await.unwrap();
    let seen = seen(&engine, reader).await;
    (seen, engine, folder)
}

async fn seen(engine: &Arc<Engine>, reader: &Actor) -> Seen {
    let board = board(engine);
    let query = MessagesQuery {
        channel: Slug::lobby(),
        range: MessageRange::Newest,
        limit: 500,
        reader: reader.id(),
    };
    let messages = board.messages(query).await.unwrap().messages;
    let reach = EventRange::After(Cursor::default());
    let mut events = board.events(Slug::lobby(), reach, 500).await.unwrap().events;
    events.sort_unstable_by_key(BoardEvent::sort_key);
    let mut found = Vec::new();
    for text in ["word", "anew"] {
        let words = vec![Word { text: text.to_owned(), is_beginning: true }];
        let search = MessageSearch { channel: None, words, limit: 500, reader: reader.id() };
        found.extend(board.search(search).await.unwrap().into_iter().map(|message| message.id));
    }
    found.sort_unstable();
    let unread =
        SqlReadPositions::new(engine.clone()).unread(reader.profile.clone()).await.unwrap();
    let left = |connection: &Connection| {
        let sql = "SELECT count(*) FROM board_events e JOIN board_messages m ON m.channel = e.channel \
            AND m.origin = coalesce(e.target_origin, e.origin) AND m.seq = coalesce(e.target_seq, e.seq) \
            WHERE m.visibility = 2 AND (e.body IS NOT NULL OR e.picture IS NOT NULL)";
        Ok(connection.query_row(sql, [], |row| row.get(0))?)
    };
    let left = engine.readers.read(App::Board, left).await.unwrap();
    Seen { messages, events, found, unread, left }
}

async fn converge(choices: &[Choice], turns: &[Index]) -> TestCaseResult {
    let people = [new_actor(Role::Moderator), new_actor(Role::Member)];
    let events = write_all(choices, &people);
    let other = interleave(&events, turns);
    let (first, engine, _folder) = seen_after(events, &people[0]).await;
    let (second, ..) = seen_after(other, &people[0]).await;
    prop_assert_eq!(&first, &second);
    prop_assert_eq!(first.left, 0);
    let sound = |connection: &Connection| {
        let check = "INSERT INTO board_search (board_search) VALUES ('integrity-check')";
        Ok(connection.execute_batch(check)?)
    };
    engine.writer.write(App::Board, sound).await.unwrap();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(by_depth(24, 240)))]
    #[test]
    fn the_order_in_which_origins_arrive_changes_nothing(
        choices in vec((0..ORIGINS, 0_u8..10, any::<Index>(), 0_i64..50, 0_usize..2), 0..40),
        turns in vec(any::<Index>(), 1..20),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(converge(&choices, &turns))?;
    }
}

#[tokio::test]
async fn of_two_messages_with_one_client_id_the_earlier_stays_whichever_arrives_first() {
    let (reader, by) = (new_actor(Role::Moderator), new_actor(Role::Member));
    let sent = ClientId::parse("one").unwrap();
    let of_origin = |number: u32, at: i64, text: &str| Written {
        place: (EventId { origin: Origin::new(number).unwrap(), seq: 1 }, Stamp::stored(at)),
        what: written(text),
        sent: Some(sent.clone()),
        by: by.clone(),
    };
    let (earlier, later) = (of_origin(2, 5, "word first"), of_origin(1, 9, "word second"));
    for events in [[&earlier, &later], [&later, &earlier]] {
        let (seen, engine, _folder) = seen_after(events.map(Clone::clone).to_vec(), &reader).await;
        assert_eq!(seen.found, [earlier.place.0]);
        let texts = seen.messages.iter().map(|message| message.body.as_ref().map(Body::as_str));
        assert_eq!(texts.collect::<Vec<_>>(), [Some("word first"), None]);
        let again = NewMessage { client_id: sent.clone(), ..message(&Slug::lobby(), "word first") };
        let posted = board(&engine).post(again, by.clone(), BEGIN).await.unwrap();
        assert!(matches!(&posted, Posted::Repeated(event) if event.id == earlier.place.0));
    }
}

#[tokio::test]
async fn an_edit_that_arrives_after_the_deletion_and_a_later_edit_leaves_no_text() {
    let (reader, by) = (new_actor(Role::Moderator), new_actor(Role::Member));
    let id = |number, seq| EventId { origin: Origin::new(number).unwrap(), seq };
    let target = id(1, 1);
    let edit =
        |text: &str| BoardEventContent::Edit { target, body: Some(Body::parse(text).unwrap()) };
    let event = |place: (EventId, i64), what: BoardEventContent| {
        let sent = matches!(what, BoardEventContent::Message { .. })
            .then(|| ClientId::parse("one").unwrap());
        Written { place: (place.0, Stamp::stored(place.1)), what, sent, by: by.clone() }
    };
    let events = vec![
        event((target, 1), written("word")),
        event((id(1, 2), 9), edit("anew later")),
        event((id(1, 3), 10), BoardEventContent::Delete { target }),
        event((id(2, 1), 5), edit("anew")),
    ];
    let (seen, ..) = seen_after(events, &reader).await;
    assert_eq!((seen.left, seen.found.len()), (0, 0));
}
