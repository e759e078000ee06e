-- Guard rows: a transaction that checks a rule about several rows changes the rule's row first.
CREATE TABLE IF NOT EXISTS guards (
    rule VARCHAR(64)     NOT NULL,
    id   BIGINT          NOT NULL,
    uses BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (rule, id)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

-- The gates that send rides. Rides refer to their gate by id, so no gate is deleted and no id reused.
CREATE TABLE IF NOT EXISTS gates (
    id         BIGINT       NOT NULL PRIMARY KEY AUTO_INCREMENT,
    name       VARCHAR(255) NOT NULL,
    digest     BINARY(32)   NOT NULL,
    resort     SMALLINT UNSIGNED,
    created_at BIGINT       NOT NULL,
    revoked_at BIGINT,
    UNIQUE KEY gates_by_name (name),
    UNIQUE KEY gates_by_digest (digest)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;

-- The account of each skier's number, 0 for none; renewals counts how often the pass's code was renewed.
CREATE TABLE IF NOT EXISTS passes (
    skier      INT UNSIGNED NOT NULL PRIMARY KEY,
    account    BIGINT       NOT NULL,
    hidden     BOOLEAN      NOT NULL,
    claimed_at BIGINT       NOT NULL,
    renewals   INT UNSIGNED NOT NULL DEFAULT 0,
    KEY passes_by_account (account, skier)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;
