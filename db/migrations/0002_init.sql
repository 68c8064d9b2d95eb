-- The ledger's tables. Money is whole picodollars (10^-12 USD) in int64 columns that end in _picos; times are Unix milliseconds; flags are 0 or 1.
-- What the outside names by text (id, name) has a number inside, so that a receipt is short. The CHECKs and triggers are the invariants: no code can break
-- them, not even ours. db/schema describes the same tables to drizzle; a test compares the two. A CHECK compares with words one by one, because SQLite builds
-- a table for every IN list each time: 4 µs of a debit.

-- What this file is: `node`, made with the file; `boot`, the process that opened it last; `schema`, the version that made it; `paged`, the number of the last
-- receipt that has its row in receipt_pages;
-- `salt`, the secret in the hashes of what only operators may see.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES ('schema', '2'), ('paged', '0'), ('salt', lower(hex(randomblob(16)))), ('node', 'node_' || lower(hex(randomblob(8))));

-- Every process that opened the file for writing. A mark of a boot that is not the present one belongs to a dead process.
CREATE TABLE boots (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  node TEXT NOT NULL,
  started_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX boots_id ON boots (id);

CREATE TABLE accounts (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  credited_picos INTEGER NOT NULL DEFAULT 0 CHECK (credited_picos BETWEEN -9000000000000000000 AND 9000000000000000000),
  spent_picos INTEGER NOT NULL DEFAULT 0 CHECK (spent_picos >= 0),
  balance_picos INTEGER NOT NULL DEFAULT 0,
  is_active INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  topped_up_at INTEGER,
  created_at INTEGER NOT NULL,
  -- Head of the chain of lane 0: how many receipts and credits are in it, and the hash of the last one.
  chain_count INTEGER NOT NULL DEFAULT 0 CHECK (chain_count >= 0),
  chain_hash BLOB CHECK (length(chain_hash) = 32),
  CHECK (balance_picos = credited_picos - spent_picos),
  CHECK ((chain_count = 0) = (chain_hash IS NULL))
) STRICT;
CREATE UNIQUE INDEX accounts_id ON accounts (id);
-- People type names where an id would do, so a name means one account.
CREATE UNIQUE INDEX accounts_name ON accounts (name) WHERE name <> '';
-- People look for a name by its beginning, and do not mind its case.
CREATE INDEX accounts_search ON accounts (lower(name));

-- Where the chain of each lane ends; a file has one lane.
CREATE VIEW chain_heads AS
SELECT number AS account_number, 0 AS lane, chain_count, chain_hash FROM accounts WHERE chain_count > 0;

CREATE TABLE keys (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  limit_picos INTEGER CHECK (limit_picos >= 0),
  spent_picos INTEGER NOT NULL DEFAULT 0 CHECK (spent_picos >= 0),
  expires_at INTEGER,
  is_active INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  last_synced_at INTEGER NOT NULL,
  -- The newest settle; null where nothing was asked yet.
  last_used_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX keys_id ON keys (id);
CREATE UNIQUE INDEX keys_name ON keys (account_number, name) WHERE name <> '';
CREATE INDEX keys_account ON keys (account_number);
CREATE INDEX keys_search ON keys (lower(name));

-- Secrets by their SHA-256. A rotated key has two until the overlap ends.
CREATE TABLE key_secrets (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  key_number INTEGER NOT NULL REFERENCES keys (number),
  display TEXT NOT NULL,
  valid_until INTEGER,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX key_secrets_key ON key_secrets (key_number);
CREATE INDEX key_secrets_display ON key_secrets (display);

CREATE TABLE models (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX models_id ON models (id);

-- What a model cost from some day on. A request keeps the version that it began with, whatever the configuration says later.
CREATE TABLE price_versions (
  number INTEGER PRIMARY KEY,
  model_number INTEGER NOT NULL REFERENCES models (number),
  input_rate_picos INTEGER NOT NULL CHECK (input_rate_picos >= 0),
  output_rate_picos INTEGER NOT NULL CHECK (output_rate_picos >= 0),
  cache_read_rate_picos INTEGER NOT NULL CHECK (cache_read_rate_picos >= 0),
  cache_write_5m_rate_picos INTEGER NOT NULL CHECK (cache_write_5m_rate_picos >= 0),
  cache_write_1h_rate_picos INTEGER NOT NULL CHECK (cache_write_1h_rate_picos >= 0),
  server_tool_use_rate_picos INTEGER NOT NULL CHECK (server_tool_use_rate_picos >= 0)
) STRICT;
CREATE UNIQUE INDEX price_versions_rates ON price_versions (
  model_number, input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos, cache_write_1h_rate_picos,
  server_tool_use_rate_picos
);

-- An upstream of the configuration, and the model that it was asked for.
CREATE TABLE upstreams (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  model TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX upstreams_name ON upstreams (name, model);

-- Requests in flight for more than a second, and how far each had come at its last mark. Younger ones are known to the gateway's memory alone.
CREATE TABLE marks (
  request_id TEXT PRIMARY KEY,
  key_number INTEGER NOT NULL REFERENCES keys (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  boot_number INTEGER NOT NULL REFERENCES boots (number),
  upstream_number INTEGER REFERENCES upstreams (number),
  upstream_message_id TEXT,
  upstream_request_id TEXT,
  format TEXT NOT NULL CHECK (format = 'messages' OR format = 'chat' OR format = 'responses'),
  is_stream INTEGER NOT NULL CHECK (is_stream IN (0, 1)),
  hold_picos INTEGER NOT NULL CHECK (hold_picos >= 0),
  started_at INTEGER NOT NULL,
  marked_at INTEGER NOT NULL,
  basis TEXT NOT NULL CHECK (basis = 'final' OR basis = 'partial' OR basis = 'estimated' OR basis = 'none'),
  bytes_per_token_thousandths INTEGER CHECK (bytes_per_token_thousandths > 0),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0)
) STRICT, WITHOUT ROWID;

-- One immutable row a settled request, also where the cost is 0. Its only attempt is the row itself; any other has a row in `attempts`. Numbered in the order
-- in which they were written, without a gap.
CREATE TABLE receipts (
  number INTEGER PRIMARY KEY,
  request_id TEXT NOT NULL,
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  key_number INTEGER NOT NULL REFERENCES keys (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  boot_number INTEGER NOT NULL REFERENCES boots (number),
  -- The upstream that answered; null where none did.
  upstream_number INTEGER REFERENCES upstreams (number),
  upstream_message_id TEXT,
  upstream_request_id TEXT,
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  format TEXT NOT NULL CHECK (format = 'messages' OR format = 'chat' OR format = 'responses'),
  is_stream INTEGER NOT NULL CHECK (is_stream IN (0, 1)),
  outcome TEXT NOT NULL CHECK (outcome = 'complete' OR outcome = 'fault' OR outcome = 'deadline' OR outcome = 'leaver' OR outcome = 'drain' OR outcome = 'cut' OR outcome = 'recovered'),
  basis TEXT NOT NULL CHECK (basis = 'final' OR basis = 'partial' OR basis = 'estimated' OR basis = 'none'),
  -- What an estimate took for a token; null where nothing was estimated.
  bytes_per_token_thousandths INTEGER CHECK (bytes_per_token_thousandths IS NULL OR (bytes_per_token_thousandths > 0 AND basis = 'estimated')),
  status INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  cost_picos INTEGER NOT NULL CHECK (cost_picos >= 0),
  waived_picos INTEGER NOT NULL CHECK (waived_picos >= 0),
  hold_picos INTEGER NOT NULL CHECK (hold_picos >= 0),
  -- Of the conversation, salted with the account; null where the request names none.
  session_hash BLOB CHECK (length(session_hash) = 32),
  started_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  -- Whole UTC days since 1970, under which the roll-ups count it: that of the settle, for what a dead process left that of the start.
  day INTEGER NOT NULL,
  first_byte_ms INTEGER,
  duration_ms INTEGER NOT NULL,
  -- Its place in the account's chain, without a gap, and the SHA-256 of the one before and of the row (src/ledger/chain.ts).
  lane INTEGER NOT NULL DEFAULT 0 CHECK (lane >= 0),
  seq INTEGER NOT NULL CHECK (seq > 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  CONSTRAINT charged_or_waived CHECK (cost_picos = 0 OR waived_picos = 0),
  CONSTRAINT day_of_start_or_settle CHECK (day = settled_at / 86400000 OR (day = started_at / 86400000 AND outcome = 'recovered'))
) STRICT;
CREATE UNIQUE INDEX receipts_request ON receipts (request_id);
-- What an operator looks for among millions: few rows, so an insert of any other pays for the condition alone.
CREATE INDEX receipts_over_hold ON receipts (request_id) WHERE cost_picos > hold_picos;
CREATE INDEX receipts_waived ON receipts (request_id) WHERE waived_picos > 0;

-- The receipts of a key by time, filled in sorted batches behind the settles: an index on receipts would cost every settle six times as much. Receipts whose
-- number is above `paged` are read from the end of their own table.
CREATE TABLE receipt_pages (
  key_number INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  receipt_number INTEGER NOT NULL,
  PRIMARY KEY (key_number, settled_at, receipt_number)
) STRICT, WITHOUT ROWID;

-- Upstream calls that may have cost us money and are not the one of the receipt, whatever the client paid.
CREATE TABLE attempts (
  request_id TEXT NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt > 0),
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  key_number INTEGER NOT NULL REFERENCES keys (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  boot_number INTEGER NOT NULL REFERENCES boots (number),
  upstream_number INTEGER NOT NULL REFERENCES upstreams (number),
  upstream_message_id TEXT,
  upstream_request_id TEXT,
  status INTEGER,
  cause TEXT NOT NULL,
  basis TEXT NOT NULL CHECK (basis = 'final' OR basis = 'partial' OR basis = 'estimated' OR basis = 'none'),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  price_picos INTEGER NOT NULL CHECK (price_picos >= 0),
  started_at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (request_id, attempt)
) STRICT, WITHOUT ROWID;

-- Money that an operator or a payment put on an account, or took from it.
CREATE TABLE credits (
  id TEXT PRIMARY KEY,
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  kind TEXT NOT NULL CHECK (kind = 'top-up' OR kind = 'refund' OR kind = 'correction'),
  amount_picos INTEGER NOT NULL CHECK (amount_picos <> 0),
  ref TEXT NOT NULL,
  actor TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  lane INTEGER NOT NULL DEFAULT 0 CHECK (lane >= 0),
  seq INTEGER NOT NULL CHECK (seq > 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  CONSTRAINT top_up_adds CHECK (kind <> 'top-up' OR amount_picos > 0),
  CONSTRAINT refund_takes CHECK (kind <> 'refund' OR amount_picos < 0)
) STRICT, WITHOUT ROWID;
-- A payment's reference is credited once; '' is no reference.
CREATE UNIQUE INDEX credits_ref ON credits (ref) WHERE ref <> '';
CREATE UNIQUE INDEX credits_chain ON credits (account_number, lane, seq);
-- For its owner, newest first.
CREATE INDEX credits_time ON credits (account_number, created_at, lane, seq);

-- Prepaid codes that were made together: the same amount, the same end. What is not redeemed by `expires_at`, or when the batch is disabled, never is.
CREATE TABLE code_batches (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  amount_picos INTEGER NOT NULL CHECK (amount_picos BETWEEN 1 AND 9000000000000000000),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  disabled_at INTEGER
) STRICT;
CREATE UNIQUE INDEX code_batches_id ON code_batches (id);
-- As with accounts, a name means one batch.
CREATE UNIQUE INDEX code_batches_name ON code_batches (name) WHERE name <> '';

-- Codes by their SHA-256, with their place in the batch, from 1. Redeemed once: by whom, by which credit, when.
CREATE TABLE codes (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  batch_number INTEGER NOT NULL REFERENCES code_batches (number),
  place INTEGER NOT NULL CHECK (place > 0),
  display TEXT NOT NULL,
  account_number INTEGER REFERENCES accounts (number),
  credit_id TEXT REFERENCES credits (id),
  redeemed_at INTEGER,
  CHECK ((credit_id IS NULL) = (account_number IS NULL)),
  CHECK ((credit_id IS NULL) = (redeemed_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX codes_place ON codes (batch_number, place);
CREATE UNIQUE INDEX codes_credit ON codes (credit_id) WHERE credit_id IS NOT NULL;

-- Roll-ups of the receipts. With the price version in the key a sum of tokens has one rate; its model stands beside it for the order of lists.
CREATE TABLE usage_daily (
  key_number INTEGER NOT NULL REFERENCES keys (number),
  day INTEGER NOT NULL,
  model_number INTEGER NOT NULL REFERENCES models (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  requests INTEGER NOT NULL CHECK (requests > 0),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  cost_picos INTEGER NOT NULL CHECK (cost_picos >= 0),
  waived_picos INTEGER NOT NULL CHECK (waived_picos >= 0),
  -- The part of the cost that rests on estimated tokens.
  estimated_picos INTEGER NOT NULL CHECK (estimated_picos >= 0),
  PRIMARY KEY (key_number, day, model_number, price_number)
) STRICT, WITHOUT ROWID;

-- Which request a client's Idempotency-Key was used by, for a day. Hashes: SHA-256 of the header, and of the body with its route.
CREATE TABLE idempotency (
  key_number INTEGER NOT NULL REFERENCES keys (number),
  header_hash BLOB NOT NULL CHECK (length(header_hash) = 32),
  body_hash BLOB NOT NULL CHECK (length(body_hash) = 32),
  request_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (key_number, header_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- For a list of all keys, newest day first.
CREATE INDEX usage_daily_day ON usage_daily (day);

-- Who did what, and how it was before and after, as JSON. Never a secret, nor its hash. An id is given once, so that a last line that goes leaves a gap, too.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL DEFAULT '',
  address TEXT NOT NULL DEFAULT '',
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  before TEXT NOT NULL DEFAULT '',
  after TEXT NOT NULL
) STRICT;
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_target ON audit_log (target, at);

-- Cost and waiver are the tokens at the rates of the price version, to the picodollar. AFTER, which undoes as well: before it, SQLite makes the row twice.
CREATE TRIGGER receipts_exact_price AFTER INSERT ON receipts
WHEN NEW.cost_picos + NEW.waived_picos IS NOT (
  SELECT NEW.input_tokens * input_rate_picos + NEW.output_tokens * output_rate_picos
    + NEW.cache_read_tokens * cache_read_rate_picos + NEW.cache_write_5m_tokens * cache_write_5m_rate_picos
    + NEW.cache_write_1h_tokens * cache_write_1h_rate_picos + NEW.server_tool_uses * server_tool_use_rate_picos
  FROM price_versions WHERE number = NEW.price_number
)
BEGIN SELECT RAISE(ABORT, 'exact_price: cost and waiver are not the tokens at their rates'); END;

-- A request is in flight or settled, never both.
CREATE TRIGGER marks_not_settled BEFORE INSERT ON marks
WHEN EXISTS (SELECT 1 FROM receipts WHERE request_id = NEW.request_id)
BEGIN SELECT RAISE(ABORT, 'the request is already settled'); END;

-- A code that was redeemed never changes, and nothing else of one ever does.
CREATE TRIGGER codes_only_redeemed BEFORE UPDATE ON codes
WHEN OLD.credit_id IS NOT NULL OR NEW.hash <> OLD.hash OR NEW.batch_number <> OLD.batch_number OR NEW.place <> OLD.place OR NEW.display <> OLD.display
BEGIN SELECT RAISE(ABORT, 'a code is redeemed once, and nothing else of it changes'); END;

-- Not after its end, and not out of a batch that is disabled.
CREATE TRIGGER codes_in_time BEFORE UPDATE ON codes
WHEN NOT EXISTS (
  SELECT 1 FROM code_batches WHERE number = NEW.batch_number AND disabled_at IS NULL AND (expires_at IS NULL OR expires_at > NEW.redeemed_at)
)
BEGIN SELECT RAISE(ABORT, 'the code is expired or disabled'); END;

CREATE TRIGGER code_batches_only_disabled BEFORE UPDATE ON code_batches
WHEN OLD.disabled_at IS NOT NULL OR NEW.number <> OLD.number OR NEW.id <> OLD.id OR NEW.name <> OLD.name OR NEW.amount_picos <> OLD.amount_picos
  OR NEW.created_at <> OLD.created_at OR NEW.expires_at IS NOT OLD.expires_at
BEGIN SELECT RAISE(ABORT, 'a batch of codes is disabled once, and nothing else of it changes'); END;

CREATE TRIGGER receipts_no_update BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are immutable'); END;
CREATE TRIGGER receipts_no_delete BEFORE DELETE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are immutable'); END;
CREATE TRIGGER attempts_no_update BEFORE UPDATE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts are immutable'); END;
CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts are immutable'); END;
CREATE TRIGGER credits_no_update BEFORE UPDATE ON credits BEGIN SELECT RAISE(ABORT, 'credits are immutable'); END;
CREATE TRIGGER credits_no_delete BEFORE DELETE ON credits BEGIN SELECT RAISE(ABORT, 'credits are immutable'); END;
CREATE TRIGGER price_versions_no_update BEFORE UPDATE ON price_versions BEGIN SELECT RAISE(ABORT, 'price versions are immutable'); END;
CREATE TRIGGER price_versions_no_delete BEFORE DELETE ON price_versions BEGIN SELECT RAISE(ABORT, 'price versions are immutable'); END;
CREATE TRIGGER models_no_update BEFORE UPDATE ON models BEGIN SELECT RAISE(ABORT, 'models are immutable'); END;
CREATE TRIGGER models_no_delete BEFORE DELETE ON models BEGIN SELECT RAISE(ABORT, 'models are immutable'); END;
CREATE TRIGGER upstreams_no_update BEFORE UPDATE ON upstreams BEGIN SELECT RAISE(ABORT, 'upstreams are immutable'); END;
CREATE TRIGGER upstreams_no_delete BEFORE DELETE ON upstreams BEGIN SELECT RAISE(ABORT, 'upstreams are immutable'); END;
CREATE TRIGGER boots_no_update BEFORE UPDATE ON boots BEGIN SELECT RAISE(ABORT, 'boots are immutable'); END;
CREATE TRIGGER boots_no_delete BEFORE DELETE ON boots BEGIN SELECT RAISE(ABORT, 'boots are immutable'); END;
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER codes_no_delete BEFORE DELETE ON codes BEGIN SELECT RAISE(ABORT, 'codes are disabled, never deleted'); END;
CREATE TRIGGER code_batches_no_delete BEFORE DELETE ON code_batches BEGIN SELECT RAISE(ABORT, 'codes are disabled, never deleted'); END;
CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts BEGIN SELECT RAISE(ABORT, 'accounts are disabled, never deleted'); END;
CREATE TRIGGER keys_no_delete BEFORE DELETE ON keys BEGIN SELECT RAISE(ABORT, 'keys are disabled, never deleted'); END;
