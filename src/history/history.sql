-- Requests by minute and hour. What can be lost without harm: money is in the ledger alone. Times are Unix seconds. Rules: pages.md "History".
CREATE TABLE writers (
  -- One boot of one process.
  writer TEXT NOT NULL PRIMARY KEY,
  began_at INTEGER NOT NULL,
  -- When it last wrote.
  seen_at INTEGER NOT NULL,
  -- 1: it has ended, and has written all of its requests.
  is_whole INTEGER NOT NULL CHECK (is_whole IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE cells (
  step INTEGER NOT NULL CHECK (step IN (60, 3600)),
  at INTEGER NOT NULL,
  writer TEXT NOT NULL,
  -- '': the request had none.
  model TEXT NOT NULL,
  upstream TEXT NOT NULL,
  requests INTEGER NOT NULL,
  refusals TEXT NOT NULL,
  first_byte BLOB NOT NULL,
  duration BLOB NOT NULL,
  PRIMARY KEY (step, at, writer, model, upstream)
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  step INTEGER NOT NULL CHECK (step IN (60, 3600)),
  at INTEGER NOT NULL,
  writer TEXT NOT NULL,
  -- '': all others.
  account TEXT NOT NULL,
  requests INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  PRIMARY KEY (step, at, writer, account)
) STRICT, WITHOUT ROWID;
