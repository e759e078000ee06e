-- The origins of events: one per database, and a new one after each restore of a backup, in order. The open origin is
-- this file.
CREATE TABLE board_origins (
    place   INTEGER PRIMARY KEY,
    origin  INTEGER NOT NULL UNIQUE,
    is_open INTEGER NOT NULL
) STRICT;

CREATE TABLE board_channels (
    row         INTEGER PRIMARY KEY,
    slug        TEXT    NOT NULL UNIQUE,
    topic       TEXT    NOT NULL,
    slow_mode_s INTEGER NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

INSERT INTO board_channels (slug, topic, slow_mode_s, created_at)
VALUES ('lobby', '', 0, CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- The event log. seq has no gaps within an origin. kind: 1 message, 2 edit, 3 delete, 4 reaction, 5 hide. The text of
-- a message is in board_messages; body has only the original text, once it was edited. flag: for a reaction, that it is
-- removed; for a hide, that the message is hidden.
CREATE TABLE board_events (
    channel       INTEGER NOT NULL,
    origin        INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    kind          INTEGER NOT NULL,
    author        INTEGER NOT NULL,
    target_origin INTEGER,
    target_seq    INTEGER,
    body          TEXT,
    sign          TEXT,
    flag          INTEGER,
    PRIMARY KEY (channel, origin, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX board_edits ON board_events (channel, target_origin, target_seq) WHERE kind = 2;

-- The current state of messages. visibility: 0 shown, 1 hidden, 2 deleted. A deleted message has no text.
CREATE TABLE board_messages (
    row          INTEGER PRIMARY KEY,
    channel      INTEGER NOT NULL,
    origin       INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    author       INTEGER NOT NULL,
    client_id    TEXT    NOT NULL,
    body         TEXT,
    visibility   INTEGER NOT NULL DEFAULT 0,
    edited_at    INTEGER,
    reply_origin INTEGER,
    reply_seq    INTEGER,
    picture      BLOB
) STRICT;

CREATE UNIQUE INDEX board_messages_by_id ON board_messages (channel, origin, seq);
CREATE UNIQUE INDEX board_messages_by_client ON board_messages (author, client_id);
CREATE INDEX board_messages_by_place ON board_messages (channel, at, origin, seq);
CREATE INDEX board_messages_by_author ON board_messages (author);

-- The full-text index of shown messages; the channel is indexed as a word.
CREATE VIRTUAL TABLE board_search USING fts5(
    channel, body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TABLE board_reactions (
    channel INTEGER NOT NULL,
    origin  INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    sign    TEXT    NOT NULL,
    person  INTEGER NOT NULL,
    PRIMARY KEY (channel, origin, seq, sign, person)
) STRICT, WITHOUT ROWID;

CREATE TABLE board_mentions (
    username TEXT    NOT NULL,
    channel  INTEGER NOT NULL,
    origin   INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    PRIMARY KEY (username, channel, origin, seq)
) STRICT, WITHOUT ROWID;

-- Profiles of the board's members. person: the id of an account, or the negated id of a bot.
CREATE TABLE board_people (
    person    INTEGER PRIMARY KEY,
    username  TEXT    NOT NULL,
    nickname  TEXT    NOT NULL,
    picture   BLOB,
    banned_at INTEGER
) STRICT;

CREATE INDEX board_people_by_name ON board_people (username);
CREATE INDEX board_people_by_ban ON board_people (banned_at) WHERE banned_at IS NOT NULL;

-- Per member and channel: the read position, and the time of the last message posted in slow mode.
CREATE TABLE board_visits (
    person   INTEGER NOT NULL,
    channel  INTEGER NOT NULL,
    cursor   TEXT,
    wrote_at INTEGER,
    PRIMARY KEY (person, channel)
) STRICT, WITHOUT ROWID;

CREATE TABLE board_reports (
    row        INTEGER PRIMARY KEY,
    message    INTEGER NOT NULL REFERENCES board_messages (row),
    person     INTEGER NOT NULL,
    reason     TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    settled_by INTEGER,
    settled_at INTEGER,
    UNIQUE (message, person)
) STRICT;

CREATE INDEX board_reports_open ON board_reports (at) WHERE settled_at IS NULL;

CREATE TABLE bots (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    digest     BLOB    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
