-- API keys beside the operator's: of one app or of all, each with scopes. Only their SHA-256 is kept.
-- A program before this one does not know the table, and refuses these keys.
-- oldest program: 0001
CREATE TABLE api_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- null: of all apps.
    app_id       bigint      REFERENCES apps ON DELETE CASCADE,
    name         text        NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 64),
    scopes       text[]      NOT NULL CHECK (cardinality(scopes) > 0),
    sha256       bytea       NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    -- Its last characters, for people to recognise it by.
    hint         text        NOT NULL CHECK (octet_length(hint) = 4),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz,
    last_used_at timestamptz,
    CONSTRAINT api_keys_name UNIQUE NULLS NOT DISTINCT (app_id, name)
);
