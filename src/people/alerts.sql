-- What accounts want to be told, and what they were told. Times are Unix milliseconds; flags are 0 or 1. Rules: pages.md "Alerts", "Webhooks".

CREATE TABLE alerts (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('balance_below', 'daily_spend_above', 'key_expires', 'key_limit_used')),
  -- Exact USD, days or percent, by kind.
  threshold TEXT NOT NULL,
  key_id TEXT,
  -- JSON arrays of e-mail addresses and of ids of webhooks.
  emails TEXT NOT NULL,
  webhooks TEXT NOT NULL,
  is_enabled INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  -- Counts its changes, so that what was judged by an older one is not written.
  version INTEGER NOT NULL DEFAULT 1,
  CHECK (kind <> 'balance_below' OR key_id IS NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX alerts_of ON alerts (account_id, created_at);

-- What has fired and is not over. `subject`: a key's id, or '' for the account.
CREATE TABLE alert_marks (
  alert_id TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  mark TEXT NOT NULL,
  PRIMARY KEY (alert_id, subject)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  url TEXT NOT NULL,
  secret TEXT NOT NULL,
  is_enabled INTEGER NOT NULL CHECK (is_enabled IN (0, 1)),
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhooks_of ON webhooks (account_id, created_at);

-- An event is told once, under its id, to each of its receivers. `body`: its JSON. `alert_id` is null where a person tried a receiver, without an alert.
CREATE TABLE alert_events (
  id TEXT NOT NULL PRIMARY KEY,
  account_id TEXT NOT NULL,
  alert_id TEXT,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_events_of ON alert_events (account_id, id);
CREATE INDEX alert_events_age ON alert_events (created_at);

-- `target`: an e-mail address or a webhook's id. Until `claimed_until` the node `claimed_by` makes it; 0: no node does.
CREATE TABLE deliveries (
  number INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL REFERENCES alert_events (id) ON DELETE CASCADE,
  account_id TEXT NOT NULL,
  channel TEXT NOT NULL CHECK (channel IN ('email', 'webhook')),
  target TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
  last_status INTEGER,
  last_problem TEXT CHECK (length(last_problem) <= 100),
  done_at INTEGER,
  claimed_by TEXT,
  claimed_until INTEGER NOT NULL DEFAULT 0,
  UNIQUE (event_id, channel, target),
  CHECK ((state = 'waiting') = (done_at IS NULL))
) STRICT;
CREATE INDEX deliveries_of ON deliveries (account_id, number);
CREATE INDEX deliveries_waiting ON deliveries (account_id, next_at) WHERE state = 'waiting';
CREATE INDEX deliveries_claimed ON deliveries (target, claimed_until) WHERE state = 'waiting' AND claimed_until > 0;
CREATE INDEX deliveries_next ON deliveries (next_at) WHERE state = 'waiting';
