-- Whether there is an admin is asked at each start.
CREATE INDEX IF NOT EXISTS accounts_by_role ON accounts (role);
