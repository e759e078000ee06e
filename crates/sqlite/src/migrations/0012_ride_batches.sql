-- Which body of a batch of rides each key of a gate was used for, for ever: events are called by the key and
-- the numbers of their lines.
CREATE TABLE ride_batches (
    gate   INTEGER NOT NULL,
    key    BLOB    NOT NULL,
    digest BLOB    NOT NULL,
    PRIMARY KEY (gate, key)
) STRICT, WITHOUT ROWID;
