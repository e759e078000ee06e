//! The upgrade of a board from before the log had all texts.

use lodge_contract::{board::new_actor, samples::at};
use lodge_domain::{
    accounts::{PictureId, Role},
    board::{
        Action, BoardEventContent, BoardLog, Body, Cursor, EventId, EventLog, EventRange, Message,
        MessageRange, MessageSearch, MessagesQuery, Origin, Reports, Slug, Word,
    },
};
use rusqlite::Connection;

use super::{board, private_folder};
use crate::{Options, engine::Engine, migrations};

/// The last schema version that stored the texts of messages outside the log.
const FORMER: u32 = 18;

/// Messages: 1 unchanged, 2 edited, 3 hidden, 4 deleted, 5 a reply to 2 with a picture.
const WRITTEN: &str = "
    INSERT INTO board_origins (origin, is_open) VALUES (7, 1);
    INSERT INTO board_people (person, username, nickname) VALUES (1, 'ada', 'Ada');
    INSERT INTO board_events (channel, origin, seq, at, kind, author, target_origin, target_seq, body, sign, flag) VALUES
        (1, 7, 1, 10, 1, 1, NULL, NULL, NULL, NULL, NULL),
        (1, 7, 2, 20, 1, 1, NULL, NULL, 'second at first', NULL, NULL),
        (1, 7, 3, 30, 1, 1, NULL, NULL, NULL, NULL, NULL),
        (1, 7, 4, 40, 1, 1, NULL, NULL, NULL, NULL, NULL),
        (1, 7, 5, 50, 1, 1, NULL, NULL, NULL, NULL, NULL),
        (1, 7, 6, 60, 2, 1, 7, 2, 'second in between', NULL, NULL),
        (1, 7, 7, 70, 2, 1, 7, 2, 'second', NULL, NULL),
        (1, 7, 8, 80, 5, 1, 7, 3, NULL, NULL, 1),
        (1, 7, 9, 90, 3, 1, 7, 4, NULL, NULL, NULL),
        (1, 7, 10, 100, 4, 1, 7, 1, NULL, '👍', 0),
        (1, 7, 11, 110, 4, 1, 7, 2, NULL, '👍', 0),
        (1, 7, 12, 120, 4, 1, 7, 2, NULL, '👍', 1),
        (1, 7, 13, 130, 4, 1, 7, 4, NULL, '👍', 0);
    INSERT INTO board_messages (row, channel, origin, seq, at, author, client_id, body, visibility, edited_at,
        reply_origin, reply_seq, picture) VALUES
        (1, 1, 7, 1, 10, 1, 'a', 'first', 0, NULL, NULL, NULL, NULL),
        (2, 1, 7, 2, 20, 1, 'b', 'second', 0, 70, NULL, NULL, NULL),
        (3, 1, 7, 3, 30, 1, 'c', 'third', 1, NULL, NULL, NULL, NULL),
        (4, 1, 7, 4, 40, 1, 'd', NULL, 2, NULL, NULL, NULL, NULL),
        (5, 1, 7, 5, 50, 1, 'e', 'fifth', 0, NULL, 7, 2, zeroblob(32));
    INSERT INTO board_reactions (channel, origin, seq, sign, person) VALUES (1, 7, 1, '👍', 1);
    INSERT INTO board_search (rowid, channel, body) VALUES (1, 'c1', 'first'), (2, 'c1', 'second'), (5, 'c1', 'fifth');
    INSERT INTO board_reports (message, person, reason, at) VALUES (2, 1, 'look', 5);";

fn id(seq: u64) -> EventId {
    EventId { origin: Origin::new(7).unwrap(), seq }
}

fn texts(messages: &[Message]) -> Vec<Option<&str>> {
    messages.iter().map(|message| message.body.as_ref().map(Body::as_str)).collect()
}

#[tokio::test]
async fn an_upgraded_board_shows_the_same_messages_and_accepts_changes() {
    let folder = private_folder();
    let mut file = Connection::open(folder.path().join("lodge.db")).unwrap();
    migrations::run_to(&mut file, FORMER).unwrap();
    file.execute_batch(WRITTEN).unwrap();
    drop(file);
    let engine = std::sync::Arc::new(Engine::open(folder.path(), &Options::default()).unwrap());
    let (board, staff) = (board(&engine), new_actor(Role::Moderator));
    let messages = async || {
        let channel = Slug::lobby();
        let query =
            MessagesQuery { channel, range: MessageRange::Newest, limit: 50, reader: staff.id() };
        board.messages(query).await.unwrap().messages
    };
    let search = async |text: &str| {
        let words = vec![Word { text: text.to_owned(), is_beginning: false }];
        let search = MessageSearch { channel: None, words, limit: 50, reader: staff.id() };
        board.search(search).await.unwrap().len()
    };
    let before = messages().await;
    assert_eq!(texts(&before), [Some("first"), Some("second"), None, None, Some("fifth")]);
    let reactions: Vec<_> = before.iter().map(|message| message.reactions.len()).collect();
    assert_eq!(reactions, [1, 0, 0, 0, 0]);
    assert_eq!(before[1].edited_at.unwrap().microseconds(), 70);
    assert_eq!(before[4].picture, Some(PictureId::stored([0; 32])));
    let quote = before[4].reply_to.as_ref().unwrap();
    assert_eq!(quote.body.as_ref().map(Body::as_str), Some("second"));
    let reports = board.open(staff.id(), 50).await.unwrap();
    assert_eq!((reports.len(), reports[0].message.id), (1, id(2)));

    let events =
        board.events(Slug::lobby(), EventRange::After(Cursor::default()), 50).await.unwrap();
    let said = events.events.iter().map(|event| match &event.content {
        BoardEventContent::Message { body, .. } | BoardEventContent::Edit { body, .. } => {
            body.as_ref().map(Body::as_str)
        }
        _ => None,
    });
    let said: Vec<_> = said.take(7).collect();
    let edited = [Some("second in between"), Some("second")];
    let written = [Some("first"), Some("second at first"), None, None, Some("fifth")];
    assert_eq!(said, [&written[..], &edited].concat());
    let history = board.history(Slug::lobby(), id(2)).await.unwrap();
    let history: Vec<_> = history.iter().map(|version| version.body.as_str()).collect();
    assert_eq!(history, ["second at first", "second in between"]);

    let apply_one = async |id, action| {
        board.apply(Slug::lobby(), id, action, staff.clone(), at(1)).await.unwrap().unwrap();
    };
    assert_eq!(search("third").await, 0);
    apply_one(id(3), Action::Hide(false)).await;
    assert_eq!((search("third").await, search("second").await), (1, 1));
    assert_eq!(texts(&messages().await)[2], Some("third"));
}
