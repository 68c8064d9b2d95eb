-- Budgets by window: a cap on what a key, or all keys of an account together (`key_number` 0), may spend in each hour, day, week or month of UTC. An operator and a customer each
-- have a row, and the least of the two holds.
CREATE TABLE budgets (
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  key_number INTEGER NOT NULL,
  per TEXT NOT NULL CHECK (per = 'hour' OR per = 'day' OR per = 'week' OR per = 'month'),
  set_by TEXT NOT NULL CHECK (set_by = 'operator' OR set_by = 'customer'),
  cap_picos INTEGER NOT NULL CHECK (cap_picos >= 0),
  PRIMARY KEY (account_number, key_number, per, set_by)
) STRICT, WITHOUT ROWID;

-- What the receipts of a key cost, by the hour in which their requests were admitted (whole hours since 1970): windows are summed from it.
CREATE TABLE key_hours (
  key_number INTEGER NOT NULL REFERENCES keys (number),
  hour INTEGER NOT NULL,
  spent_picos INTEGER NOT NULL CHECK (spent_picos >= 0),
  PRIMARY KEY (key_number, hour)
) STRICT, WITHOUT ROWID;

-- The same of an account's keys together, by their plan: an account may have too many keys to add them up for a request.
CREATE TABLE account_hours (
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  hour INTEGER NOT NULL,
  plan TEXT NOT NULL,
  spent_picos INTEGER NOT NULL CHECK (spent_picos >= 0),
  PRIMARY KEY (account_number, hour, plan)
) STRICT, WITHOUT ROWID;

-- The plan that new keys of the account's customers get; null: the configuration's default.
ALTER TABLE accounts ADD COLUMN plan TEXT;

-- The first hour of which these rows say everything: that of the running month, or week, where it began earlier; 0 where no receipt was before them.
INSERT INTO meta (name, value) VALUES ('hours_from', CASE WHEN EXISTS (SELECT 1 FROM receipts) THEN CAST(min(
  unixepoch('now', 'start of month'), unixepoch('now', 'start of day', '-6 days', 'weekday 1')) / 3600 AS TEXT) ELSE '0' END);
INSERT INTO key_hours (key_number, hour, spent_picos)
  SELECT key_number, started_at / 3600000, sum(cost_picos) FROM receipts
  WHERE cost_picos > 0 AND started_at >= (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'hours_from') * 3600000
  GROUP BY key_number, started_at / 3600000;
INSERT INTO account_hours (account_number, hour, plan, spent_picos)
  SELECT account_number, hour, plan, sum(key_hours.spent_picos) FROM key_hours JOIN keys ON keys.number = key_number
  GROUP BY account_number, hour, plan;
