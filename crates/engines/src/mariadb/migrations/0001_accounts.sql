-- Every statement is repeatable: each commits by itself, and the process may end between two.
-- Texts compare byte by byte. Times are milliseconds since 1970-01-01T00:00Z.

-- Properties of the database: the id of the accounts' change feed.
CREATE TABLE IF NOT EXISTS meta (
    name  VARCHAR(64)    NOT NULL PRIMARY KEY,
    value VARBINARY(255) NOT NULL
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS api_keys (
    id         BIGINT       NOT NULL PRIMARY KEY AUTO_INCREMENT,
    name       VARCHAR(255) NOT NULL,
    digest     BINARY(32)   NOT NULL,
    created_at BIGINT       NOT NULL,
    revoked_at BIGINT,
    UNIQUE KEY api_keys_by_name (name),
    UNIQUE KEY api_keys_by_digest (digest)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

-- Stored outcomes of writes with an Idempotency-Key; attempt is a digest of caller, method, route and key.
CREATE TABLE IF NOT EXISTS outcomes (
    attempt     BINARY(32)       NOT NULL PRIMARY KEY,
    fingerprint BINARY(32)       NOT NULL,
    at          BIGINT           NOT NULL,
    outcome     MEDIUMTEXT       NOT NULL,
    app         TINYINT UNSIGNED NOT NULL,
    KEY outcomes_by_time (at)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

-- Ids are never reused: an account's data refers to it by id.
CREATE TABLE IF NOT EXISTS accounts (
    id          BIGINT           NOT NULL PRIMARY KEY AUTO_INCREMENT,
    username    VARCHAR(64)      NOT NULL,
    nickname    VARCHAR(64),
    email       VARCHAR(320),
    role        TINYINT UNSIGNED NOT NULL,
    password    VARCHAR(512),
    reset       BINARY(32),
    reset_until BIGINT,
    epoch       INT UNSIGNED     NOT NULL,
    created_at  BIGINT           NOT NULL,
    banned_at   BIGINT,
    deleted_at  BIGINT,
    picture     BINARY(32),
    UNIQUE KEY accounts_by_username (username),
    KEY accounts_by_deletion (deleted_at),
    KEY accounts_by_picture (picture)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS sessions (
    digest     BINARY(32)   NOT NULL PRIMARY KEY,
    id         BINARY(16)   NOT NULL,
    account    BIGINT       NOT NULL,
    epoch      INT UNSIGNED NOT NULL,
    created_at BIGINT       NOT NULL,
    expires_at BIGINT       NOT NULL,
    agent      VARCHAR(200) NOT NULL,
    UNIQUE KEY sessions_by_account (account, id),
    KEY sessions_by_expiry (expires_at)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

-- The event log of accounts. Column did is the staff member who caused the event, 0 for the operator.
CREATE TABLE IF NOT EXISTS account_events (
    row     BIGINT      NOT NULL PRIMARY KEY AUTO_INCREMENT,
    account BIGINT      NOT NULL,
    at      BIGINT      NOT NULL,
    kind    VARCHAR(64) NOT NULL,
    did     BIGINT,
    KEY account_events_by_account (account),
    KEY account_events_by_time (at)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

-- The change feed: accounts whose sessions have changed, numbered in commit order.
CREATE TABLE IF NOT EXISTS account_feed (
    number  BIGINT NOT NULL PRIMARY KEY,
    account BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    KEY account_feed_by_time (at)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

CREATE TABLE IF NOT EXISTS account_feed_head (
    id     TINYINT NOT NULL PRIMARY KEY,
    number BIGINT  NOT NULL
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

INSERT INTO account_feed_head (id, number) VALUES (1, 0) ON DUPLICATE KEY UPDATE id = id;

-- An issuer and a subject together reach InnoDB's limit of 3,072 bytes for a key.
CREATE TABLE IF NOT EXISTS identities (
    issuer    VARCHAR(512) NOT NULL,
    subject   VARCHAR(255) NOT NULL,
    account   BIGINT       NOT NULL,
    linked_at BIGINT       NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE KEY identities_by_account (account, issuer)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

-- A ticket permits the sign-up of an identity; rows are numbered in the order of issue.
CREATE TABLE IF NOT EXISTS tickets (
    row        BIGINT       NOT NULL PRIMARY KEY AUTO_INCREMENT,
    digest     BINARY(32)   NOT NULL,
    issuer     VARCHAR(512) NOT NULL,
    subject    VARCHAR(255) NOT NULL,
    expires_at BIGINT       NOT NULL,
    UNIQUE KEY tickets_by_digest (digest),
    UNIQUE KEY tickets_by_identity (issuer, subject),
    KEY tickets_by_expiry (expires_at)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;
