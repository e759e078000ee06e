-- The record of security events. id sorts by time. actor: NULL for a visitor, 0 for the operator, the id of an account,
-- or the negated id of an API key. account is the account that the event concerns.
CREATE TABLE IF NOT EXISTS security_events (
    id         BINARY(16)   NOT NULL PRIMARY KEY,
    at         BIGINT       NOT NULL,
    last_at    BIGINT       NOT NULL,
    repeats    BIGINT       NOT NULL,
    kind       VARCHAR(64)  NOT NULL,
    is_failure TINYINT      NOT NULL,
    actor      BIGINT,
    account    BIGINT,
    origin     VARCHAR(64)  NOT NULL,
    detail     VARCHAR(200) NOT NULL,
    KEY security_events_by_kind (kind, id),
    KEY security_events_by_actor (actor, id),
    KEY security_events_by_account (account, id),
    KEY security_events_by_origin (origin, id),
    KEY security_events_by_failure (is_failure, id)
) ENGINE = InnoDB, DEFAULT CHARSET = utf8mb4, COLLATE = utf8mb4_nopad_bin;
