-- The id of the picture, 32 bytes; the picture is stored outside the database.
ALTER TABLE accounts ADD COLUMN picture BLOB;

-- Finds the account that uses a picture; unused pictures are removed.
CREATE INDEX accounts_by_picture ON accounts (picture) WHERE picture IS NOT NULL;
