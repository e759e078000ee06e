-- The event log now has all texts, and the other tables are projections of it: the result does not depend on the order
-- in which events of several origins arrive.

-- For a message: its text, client id, the message that it replies to, and its picture.
ALTER TABLE board_events ADD COLUMN client_id TEXT;
ALTER TABLE board_events ADD COLUMN reply_origin INTEGER;
ALTER TABLE board_events ADD COLUMN reply_seq INTEGER;
ALTER TABLE board_events ADD COLUMN picture BLOB;

UPDATE board_events SET (body, client_id, reply_origin, reply_seq, picture) = (
    SELECT coalesce(board_events.body, m.body), m.client_id, m.reply_origin, m.reply_seq, m.picture
    FROM board_messages m
    WHERE m.channel = board_events.channel AND m.origin = board_events.origin AND m.seq = board_events.seq
) WHERE kind = 1;

CREATE INDEX board_hides ON board_events (channel, target_origin, target_seq) WHERE kind = 5;

-- Reports reference the table that is recreated.
CREATE TEMPORARY TABLE former_reports AS SELECT * FROM board_reports;
DROP TABLE board_reports;
ALTER TABLE board_messages RENAME TO former_messages;
DROP INDEX board_messages_by_id;
DROP INDEX board_messages_by_client;
DROP INDEX board_messages_by_place;
DROP INDEX board_messages_by_author;
DROP INDEX board_messages_hidden;
DROP INDEX board_messages_by_picture;
DROP INDEX board_pictures_by_author;

-- The current state of messages. text_origin and text_seq name the event that has the text: the message itself, or its
-- latest edit, whose time is edited_at. hidden_… names the latest event that hid it or showed it again. visibility:
-- 0 shown, 1 hidden, 2 deleted. If author is NULL, only later events about the message have arrived.
CREATE TABLE board_messages (
    row           INTEGER PRIMARY KEY,
    channel       INTEGER NOT NULL,
    origin        INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    text_origin   INTEGER NOT NULL,
    text_seq      INTEGER NOT NULL,
    visibility    INTEGER NOT NULL,
    at            INTEGER,
    author        INTEGER,
    client_id     TEXT,
    edited_at     INTEGER,
    hidden_at     INTEGER,
    hidden_origin INTEGER,
    hidden_seq    INTEGER,
    reply_origin  INTEGER,
    reply_seq     INTEGER,
    picture       BLOB
) STRICT;

INSERT INTO board_messages (row, channel, origin, seq, text_origin, text_seq, visibility, at, author, client_id,
    edited_at, hidden_at, hidden_origin, hidden_seq, reply_origin, reply_seq, picture)
SELECT m.row, m.channel, m.origin, m.seq, coalesce(e.origin, m.origin), coalesce(e.seq, m.seq), m.visibility, m.at,
    m.author, m.client_id, m.edited_at, h.at, h.origin, h.seq, m.reply_origin, m.reply_seq, m.picture
FROM former_messages m
LEFT JOIN board_events e ON (e.channel, e.origin, e.seq) = (
    SELECT channel, origin, seq FROM board_events INDEXED BY board_edits
    WHERE channel = m.channel AND target_origin = m.origin AND target_seq = m.seq AND kind = 2
    ORDER BY at DESC, origin DESC, seq DESC LIMIT 1)
LEFT JOIN board_events h ON (h.channel, h.origin, h.seq) = (
    SELECT channel, origin, seq FROM board_events INDEXED BY board_hides
    WHERE channel = m.channel AND target_origin = m.origin AND target_seq = m.seq AND kind = 5
    ORDER BY at DESC, origin DESC, seq DESC LIMIT 1);

DROP TABLE former_messages;
DROP INDEX board_hides;

CREATE UNIQUE INDEX board_messages_by_id ON board_messages (channel, origin, seq);
CREATE INDEX board_messages_by_client ON board_messages (author, client_id);
CREATE INDEX board_messages_by_place ON board_messages (channel, at, origin, seq);
CREATE INDEX board_messages_hidden ON board_messages (at) WHERE visibility = 1;
CREATE INDEX board_messages_by_picture ON board_messages (picture) WHERE picture IS NOT NULL;
CREATE INDEX board_messages_by_author ON board_messages (author);
CREATE INDEX board_pictures_by_author ON board_messages (author) WHERE picture IS NOT NULL;

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

INSERT INTO board_reports SELECT * FROM former_reports;
DROP TABLE former_reports;
CREATE INDEX board_reports_open ON board_reports (at) WHERE settled_at IS NULL;

-- The latest event about each reaction of a member, which may have removed it.
DROP TABLE board_reactions;
CREATE TABLE board_reactions (
    channel      INTEGER NOT NULL,
    origin       INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    sign         TEXT    NOT NULL,
    person       INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    event_origin INTEGER NOT NULL,
    event_seq    INTEGER NOT NULL,
    is_removed   INTEGER NOT NULL,
    PRIMARY KEY (channel, origin, seq, sign, person)
) STRICT, WITHOUT ROWID;

INSERT INTO board_reactions
SELECT e.channel, e.target_origin, e.target_seq, e.sign, e.author, e.at, e.origin, e.seq, e.flag
FROM board_events e JOIN board_messages m
    ON m.channel = e.channel AND m.origin = e.target_origin AND m.seq = e.target_seq
WHERE e.kind = 4 AND m.visibility < 2
ON CONFLICT DO UPDATE SET at = excluded.at, event_origin = excluded.event_origin, event_seq = excluded.event_seq,
    is_removed = excluded.is_removed
WHERE (excluded.at, excluded.event_origin, excluded.event_seq) > (at, event_origin, event_seq);
