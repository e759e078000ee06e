-- The name of the picture, 32 bytes; what has that name is kept outside of the database.
ALTER TABLE accounts ADD COLUMN picture BLOB;

-- Of a name, whose it is: what nobody has is removed.
CREATE INDEX accounts_by_picture ON accounts (picture) WHERE picture IS NOT NULL;
