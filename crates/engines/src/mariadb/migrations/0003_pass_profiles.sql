-- Copies of the nickname and picture of accounts that allow leaderboards to show them. The row is the permission: it is
-- deleted when the account withdraws it.
CREATE TABLE IF NOT EXISTS pass_profiles (
    account  BIGINT      NOT NULL PRIMARY KEY,
    username VARCHAR(64) NOT NULL,
    nickname VARCHAR(64) NOT NULL,
    picture  BINARY(32),
    since    BIGINT      NOT NULL
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;
