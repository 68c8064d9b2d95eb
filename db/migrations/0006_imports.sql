-- Whose form a secret has: `own` is ours; the others are of keys that were imported. `exact` counts as it is; with `channel`, what a client appends behind a `-` is cut off.
ALTER TABLE key_secrets ADD COLUMN form TEXT NOT NULL DEFAULT 'own' CHECK (form = 'own' OR form = 'exact' OR form = 'channel');
-- Processes keep a part of each foreign hash in memory, and read them all from here.
CREATE INDEX key_secrets_foreign ON key_secrets (form, hash) WHERE form <> 'own';

-- The keys of other gateways as they came: whose they were there, what their account then had, and what was left of their own limit. Amounts are rounded down.
CREATE TABLE imported_keys (
  key_number INTEGER PRIMARY KEY REFERENCES keys (number),
  system TEXT NOT NULL CHECK (system = 'litellm' OR system = 'one-api' OR system = 'new-api'),
  source_account TEXT NOT NULL,
  source_key TEXT NOT NULL,
  account_picos INTEGER NOT NULL CHECK (account_picos >= 0),
  limit_picos INTEGER CHECK (limit_picos >= 0),
  imported_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX imported_keys_source ON imported_keys (system, source_key);
CREATE INDEX imported_keys_account ON imported_keys (system, source_account);
CREATE TRIGGER imported_keys_no_update BEFORE UPDATE ON imported_keys BEGIN SELECT RAISE(ABORT, 'imported keys are immutable'); END;
CREATE TRIGGER imported_keys_no_delete BEFORE DELETE ON imported_keys BEGIN SELECT RAISE(ABORT, 'imported keys are immutable'); END;
