-- Changes of accounts that end what is remembered of their sessions, numbered in the order of their commits.
CREATE TABLE account_feed (
    number  INTEGER PRIMARY KEY,
    account INTEGER NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

-- The number of the newest; one row.
CREATE TABLE account_feed_head (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
) STRICT;

INSERT INTO account_feed_head (id, number) VALUES (1, 0);
