-- Copies of the nickname and picture of accounts that allow leaderboards to show them. The row is the permission: it is
-- deleted when the account withdraws it.
CREATE TABLE pass_profiles (
    account  INTEGER PRIMARY KEY,
    username TEXT    NOT NULL,
    nickname TEXT    NOT NULL,
    picture  BLOB,
    since    INTEGER NOT NULL
) STRICT;
