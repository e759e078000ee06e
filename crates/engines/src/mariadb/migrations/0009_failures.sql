-- Counters of wrong passwords of the last quarter of an hour. Column name is a digest; origin is empty, or an address or
-- site.
CREATE TABLE IF NOT EXISTS failures (
    name     BINARY(32)    NOT NULL,
    origin   VARBINARY(17) NOT NULL,
    since    BIGINT        NOT NULL,
    failures INT UNSIGNED  NOT NULL,
    PRIMARY KEY (name, origin),
    KEY failures_by_time (since)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;
