-- The full-text index of shown messages, rebuilt so that the words of a removed message are erased at once. An index
-- that deletes by rowid alone only marks the row, and keeps its words until segments are merged; this one is given the
-- words to delete. secure-delete needs SQLite 3.42, an older version than contentless_delete needed.
DROP TABLE board_search;

CREATE VIRTUAL TABLE board_search USING fts5(
    channel, body, content = '', tokenize = 'unicode61 remove_diacritics 2'
);

INSERT INTO board_search (board_search, rank) VALUES ('secure-delete', 1);

INSERT INTO board_search (rowid, channel, body)
SELECT row, 'c' || channel, body FROM board_messages WHERE visibility = 0 AND body IS NOT NULL ORDER BY row;
