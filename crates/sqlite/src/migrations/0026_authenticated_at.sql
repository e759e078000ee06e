-- When the owner of the session authenticated; NULL if a provider did not say so.
ALTER TABLE sessions ADD COLUMN authenticated_at INTEGER;
