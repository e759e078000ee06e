-- The form that is equal for usernames that look alike; NULL for one that looked like an older one before this column.
ALTER TABLE accounts ADD COLUMN skeleton TEXT;
CREATE UNIQUE INDEX accounts_by_skeleton ON accounts (skeleton);
UPDATE OR IGNORE accounts SET skeleton = username_skeleton(username);
