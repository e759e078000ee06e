-- Whether there is an admin is asked at each start.
CREATE INDEX accounts_admins ON accounts (role) WHERE role = 2;
