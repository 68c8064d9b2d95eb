-- The ledger's tables. Money is whole picodollars (10^-12 USD) in int64 columns that end in _picos; times are Unix milliseconds; flags are 0 or 1.
-- The CHECKs and triggers are the invariants: no code can break them, not even ours. db/schema.ts describes the same tables to drizzle.

CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  credited_picos INTEGER NOT NULL DEFAULT 0 CHECK (credited_picos BETWEEN -9000000000000000000 AND 9000000000000000000),
  spent_picos INTEGER NOT NULL DEFAULT 0 CHECK (spent_picos >= 0),
  balance_picos INTEGER NOT NULL DEFAULT 0,
  held_picos INTEGER NOT NULL DEFAULT 0 CHECK (held_picos >= 0),
  is_active INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  topped_up_at INTEGER,
  created_at INTEGER NOT NULL,
  CHECK (balance_picos = credited_picos - spent_picos)
) STRICT;
-- People type names where an id would do, so a name means one account.
CREATE UNIQUE INDEX accounts_name ON accounts (name) WHERE name <> '';

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  limit_picos INTEGER CHECK (limit_picos >= 0),
  spent_picos INTEGER NOT NULL DEFAULT 0 CHECK (spent_picos >= 0),
  held_picos INTEGER NOT NULL DEFAULT 0 CHECK (held_picos >= 0),
  expires_at INTEGER,
  is_active INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  last_synced_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX keys_name ON keys (name) WHERE name <> '';
CREATE INDEX keys_account ON keys (account_id);

-- Secrets by their SHA-256. A rotated key has two until the overlap ends.
CREATE TABLE key_secrets (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  key_id TEXT NOT NULL REFERENCES keys (id),
  display TEXT NOT NULL,
  valid_until INTEGER,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX key_secrets_key ON key_secrets (key_id);

-- Requests in flight, and how far each had come at its last mark (marked_at is null before the first).
CREATE TABLE holds (
  request_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key_id TEXT NOT NULL REFERENCES keys (id),
  model_id TEXT NOT NULL,
  format TEXT NOT NULL CHECK (format IN ('messages', 'chat', 'responses')),
  is_stream INTEGER NOT NULL CHECK (is_stream IN (0, 1)),
  amount_picos INTEGER NOT NULL CHECK (amount_picos >= 0),
  input_rate_picos INTEGER NOT NULL CHECK (input_rate_picos >= 0),
  output_rate_picos INTEGER NOT NULL CHECK (output_rate_picos >= 0),
  cache_read_rate_picos INTEGER NOT NULL CHECK (cache_read_rate_picos >= 0),
  cache_write_5m_rate_picos INTEGER NOT NULL CHECK (cache_write_5m_rate_picos >= 0),
  cache_write_1h_rate_picos INTEGER NOT NULL CHECK (cache_write_1h_rate_picos >= 0),
  server_tool_use_rate_picos INTEGER NOT NULL CHECK (server_tool_use_rate_picos >= 0),
  boot_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  marked_at INTEGER,
  marked_input_tokens INTEGER NOT NULL DEFAULT 0 CHECK (marked_input_tokens >= 0),
  marked_output_tokens INTEGER NOT NULL DEFAULT 0 CHECK (marked_output_tokens >= 0),
  marked_cache_read_tokens INTEGER NOT NULL DEFAULT 0 CHECK (marked_cache_read_tokens >= 0),
  marked_cache_write_5m_tokens INTEGER NOT NULL DEFAULT 0 CHECK (marked_cache_write_5m_tokens >= 0),
  marked_cache_write_1h_tokens INTEGER NOT NULL DEFAULT 0 CHECK (marked_cache_write_1h_tokens >= 0),
  marked_server_tool_uses INTEGER NOT NULL DEFAULT 0 CHECK (marked_server_tool_uses >= 0)
) STRICT, WITHOUT ROWID;

-- One immutable row a settled request, also where the cost is 0.
CREATE TABLE receipts (
  request_id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  key_id TEXT NOT NULL REFERENCES keys (id),
  model_id TEXT NOT NULL,
  format TEXT NOT NULL CHECK (format IN ('messages', 'chat', 'responses')),
  is_stream INTEGER NOT NULL CHECK (is_stream IN (0, 1)),
  outcome TEXT NOT NULL CHECK (outcome IN ('complete', 'fault', 'deadline', 'leaver', 'drain', 'cut', 'recovered')),
  usage_source TEXT NOT NULL CHECK (usage_source IN ('final', 'partial', 'estimated', 'none')),
  status INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  input_rate_picos INTEGER NOT NULL,
  output_rate_picos INTEGER NOT NULL,
  cache_read_rate_picos INTEGER NOT NULL,
  cache_write_5m_rate_picos INTEGER NOT NULL,
  cache_write_1h_rate_picos INTEGER NOT NULL,
  server_tool_use_rate_picos INTEGER NOT NULL,
  cost_picos INTEGER NOT NULL CHECK (cost_picos >= 0),
  waived_picos INTEGER NOT NULL CHECK (waived_picos >= 0),
  hold_picos INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  first_byte_ms INTEGER,
  duration_ms INTEGER NOT NULL,
  CONSTRAINT exact_price CHECK (
    cost_picos + waived_picos = input_tokens * input_rate_picos + output_tokens * output_rate_picos
      + cache_read_tokens * cache_read_rate_picos + cache_write_5m_tokens * cache_write_5m_rate_picos
      + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos
  )
) STRICT, WITHOUT ROWID;

CREATE TABLE top_ups (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  amount_picos INTEGER NOT NULL CHECK (amount_picos <> 0),
  ref TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
-- A payment's reference is credited once; '' is no reference.
CREATE UNIQUE INDEX top_ups_ref ON top_ups (ref) WHERE ref <> '';

-- Roll-ups of the receipts. day = settled_at / 86400000: whole UTC days since 1970.
CREATE TABLE usage_daily (
  account_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  day INTEGER NOT NULL,
  model_id TEXT NOT NULL,
  requests INTEGER NOT NULL CHECK (requests > 0),
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_5m_tokens INTEGER NOT NULL,
  cache_write_1h_tokens INTEGER NOT NULL,
  server_tool_uses INTEGER NOT NULL,
  cost_picos INTEGER NOT NULL,
  waived_picos INTEGER NOT NULL,
  PRIMARY KEY (account_id, key_id, day, model_id)
) STRICT, WITHOUT ROWID;

-- What the operator did. Never a secret, nor its hash.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;

-- A request is in flight or settled, never both.
CREATE TRIGGER holds_not_settled BEFORE INSERT ON holds
WHEN EXISTS (SELECT 1 FROM receipts WHERE request_id = NEW.request_id)
BEGIN SELECT RAISE(ABORT, 'the request is already settled'); END;

CREATE TRIGGER receipts_no_update BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are immutable'); END;
CREATE TRIGGER receipts_no_delete BEFORE DELETE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are immutable'); END;
CREATE TRIGGER top_ups_no_update BEFORE UPDATE ON top_ups BEGIN SELECT RAISE(ABORT, 'top-ups are immutable'); END;
CREATE TRIGGER top_ups_no_delete BEFORE DELETE ON top_ups BEGIN SELECT RAISE(ABORT, 'top-ups are immutable'); END;
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts BEGIN SELECT RAISE(ABORT, 'accounts are disabled, never deleted'); END;
CREATE TRIGGER keys_no_delete BEFORE DELETE ON keys BEGIN SELECT RAISE(ABORT, 'keys are disabled, never deleted'); END;
