-- When the owner of the session authenticated; NULL if a provider did not say so.
ALTER TABLE sessions ADD COLUMN IF NOT EXISTS authenticated_at BIGINT;
