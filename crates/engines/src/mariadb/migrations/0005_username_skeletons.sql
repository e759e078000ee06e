-- The form that is equal for usernames that look alike; NULL for one that looked like an older one before this column.
-- Rust fills it after these statements.
ALTER TABLE accounts ADD COLUMN IF NOT EXISTS skeleton VARCHAR(512);
CREATE UNIQUE INDEX IF NOT EXISTS accounts_by_skeleton ON accounts (skeleton);
