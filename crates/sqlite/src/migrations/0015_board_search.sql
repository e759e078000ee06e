-- The words of messages that can be read, as before, and gone as soon as a message is: an index that takes messages out by
-- their number alone only marks them, and keeps their words until its parts are merged. This one is told the words.
-- Whatever is taken out so can be read from SQLite 3.42 on, less than the table before it asked for.
DROP TABLE board_search;

CREATE VIRTUAL TABLE board_search USING fts5(
    channel, body, content = '', tokenize = 'unicode61 remove_diacritics 2'
);

INSERT INTO board_search (board_search, rank) VALUES ('secure-delete', 1);

INSERT INTO board_search (rowid, channel, body)
SELECT row, 'c' || channel, body FROM board_messages WHERE visibility = 0 AND body IS NOT NULL ORDER BY row;
