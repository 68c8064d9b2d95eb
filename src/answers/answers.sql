-- Finished answers, each sealed by the secret that asked. What can be lost without harm: the ledger says what was charged.
CREATE TABLE answers (
  -- In the order in which they came.
  number INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE CHECK (length(name) = 32),
  account TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  -- What counts in its account's share.
  bytes INTEGER NOT NULL,
  sealed BLOB NOT NULL
) STRICT;
CREATE INDEX answers_account ON answers (account, number, bytes);
CREATE INDEX answers_expiry ON answers (expires_at);

-- Items of answers that can be referred to by themselves, each in the newest answer that holds it.
CREATE TABLE items (
  name BLOB PRIMARY KEY CHECK (length(name) = 32),
  answer INTEGER NOT NULL REFERENCES answers (number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX items_answer ON items (answer);

-- Why answers went, so that a client is told the truth.
CREATE TABLE gone (
  number INTEGER PRIMARY KEY,
  name BLOB NOT NULL UNIQUE,
  why TEXT NOT NULL CHECK (why IN ('expired', 'crowded'))
) STRICT;
