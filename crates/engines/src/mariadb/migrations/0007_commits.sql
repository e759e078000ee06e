-- The last transaction of each writing connection, by which a lost answer to COMMIT is looked up.
CREATE TABLE IF NOT EXISTS commits (
    writer BINARY(16) NOT NULL PRIMARY KEY,
    number BIGINT     NOT NULL,
    fences BIGINT     NOT NULL DEFAULT 0,
    at     BIGINT     NOT NULL,
    KEY commits_by_time (at)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;
