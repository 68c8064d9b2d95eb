-- Tokens of the operator's API, by the SHA-256 of their secret. `account_ids`: the accounts to which a token is bound, with a space between; '' is every account.
CREATE TABLE api_tokens (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  name TEXT NOT NULL CHECK (name <> ''),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  display TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope = 'read' OR scope = 'keys' OR scope = 'money' OR scope = 'all'),
  account_ids TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER,
  -- Written at most once a minute.
  last_used_at INTEGER
) STRICT;
CREATE UNIQUE INDEX api_tokens_id ON api_tokens (id);
-- The audit log names a token by its name, so a name means one token for ever.
CREATE UNIQUE INDEX api_tokens_name ON api_tokens (name);
CREATE UNIQUE INDEX api_tokens_hash ON api_tokens (hash);

-- What a write of a token under an Idempotency-Key made or changed, for a day. Hashes: SHA-256 of the header, and of method, path and body.
CREATE TABLE api_writes (
  token_number INTEGER NOT NULL REFERENCES api_tokens (number),
  header_hash BLOB NOT NULL CHECK (length(header_hash) = 32),
  request_hash BLOB NOT NULL CHECK (length(request_hash) = 32),
  target TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (token_number, header_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX api_writes_expiry ON api_writes (expires_at);

CREATE TRIGGER api_tokens_only_revoked BEFORE UPDATE ON api_tokens
WHEN NEW.number <> OLD.number OR NEW.id <> OLD.id OR NEW.name <> OLD.name OR NEW.hash <> OLD.hash OR NEW.display <> OLD.display OR NEW.scope <> OLD.scope
  OR NEW.account_ids <> OLD.account_ids OR NEW.created_at <> OLD.created_at OR NEW.expires_at <> OLD.expires_at
  OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at)
BEGIN SELECT RAISE(ABORT, 'a token is used and revoked, and nothing else of it changes'); END;
CREATE TRIGGER api_tokens_no_delete BEFORE DELETE ON api_tokens BEGIN SELECT RAISE(ABORT, 'tokens are revoked, never deleted'); END;
