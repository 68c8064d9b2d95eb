-- Requests by minute and hour of all nodes. What can be lost without harm: money is in the ledger alone. Times are Unix seconds. The same as `history.sql`.
-- Rules: pages.md "History".
CREATE SCHEMA IF NOT EXISTS history;

CREATE TABLE IF NOT EXISTS history.writers (
  writer TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  began_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  is_whole BIGINT NOT NULL CHECK (is_whole IN (0, 1))
);

CREATE TABLE IF NOT EXISTS history.cells (
  step BIGINT NOT NULL CHECK (step IN (60, 3600)),
  at BIGINT NOT NULL,
  writer TEXT COLLATE "C" NOT NULL,
  model TEXT COLLATE "C" NOT NULL,
  upstream TEXT COLLATE "C" NOT NULL,
  requests BIGINT NOT NULL,
  refusals TEXT NOT NULL,
  first_byte BYTEA NOT NULL,
  duration BYTEA NOT NULL,
  PRIMARY KEY (step, at, writer, model, upstream)
);

CREATE TABLE IF NOT EXISTS history.accounts (
  step BIGINT NOT NULL CHECK (step IN (60, 3600)),
  at BIGINT NOT NULL,
  writer TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  requests BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  PRIMARY KEY (step, at, writer, account)
);
