-- The change feed: accounts whose cached sessions are stale, numbered in commit order.
CREATE TABLE account_feed (
    number  INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

-- The newest number; one row.
CREATE TABLE account_feed_head (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
) STRICT;

INSERT INTO account_feed_head (id, number) VALUES (1, 0);
