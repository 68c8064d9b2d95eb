-- Alerts are delivered to chats, too. SQLite changes a CHECK by making the table again. Rules: pages.md "Alerts", "Telegram".

CREATE TABLE deliveries_again (
  number INTEGER PRIMARY KEY,
  event_id TEXT NOT NULL REFERENCES alert_events (id) ON DELETE CASCADE,
  account_id TEXT NOT NULL,
  channel TEXT NOT NULL CHECK (channel IN ('email', 'webhook', 'telegram')),
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
INSERT INTO deliveries_again SELECT * FROM deliveries;
DROP TABLE deliveries;
ALTER TABLE deliveries_again RENAME TO deliveries;
CREATE INDEX deliveries_of ON deliveries (account_id, number);
CREATE INDEX deliveries_waiting ON deliveries (account_id, next_at) WHERE state = 'waiting';
CREATE INDEX deliveries_claimed ON deliveries (target, claimed_until) WHERE state = 'waiting' AND claimed_until > 0;
CREATE INDEX deliveries_next ON deliveries (next_at) WHERE state = 'waiting';
