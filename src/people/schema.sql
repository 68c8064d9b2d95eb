-- Who may come in. The first five tables are better-auth's own (https://better-auth.com/docs/concepts/database), under names that say what they hold; the rest is ours.
-- Rules: pages.md "People", "Sessions".

CREATE TABLE person (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE CHECK (email = lower(email) AND email <> ''),
  emailVerified INTEGER NOT NULL,
  image TEXT,
  createdAt TEXT NOT NULL,
  updatedAt TEXT NOT NULL
) STRICT;

CREATE TABLE session (
  id TEXT NOT NULL PRIMARY KEY,
  expiresAt TEXT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  createdAt TEXT NOT NULL,
  updatedAt TEXT NOT NULL,
  ipAddress TEXT,
  userAgent TEXT,
  userId TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  listener TEXT NOT NULL CHECK (listener IN ('cabinet', 'console'))
) STRICT;
CREATE INDEX session_of ON session (userId);
-- A person has so many sessions at most, and the oldest end, so that no person fills the store by signing in.
CREATE TRIGGER session_bound AFTER INSERT ON session BEGIN
  DELETE FROM session WHERE rowid IN (
    SELECT rowid FROM session WHERE userId = NEW.userId AND listener = NEW.listener ORDER BY rowid DESC LIMIT -1 OFFSET 50
  );
END;

CREATE TABLE credential (
  id TEXT NOT NULL PRIMARY KEY,
  accountId TEXT NOT NULL,
  providerId TEXT NOT NULL,
  userId TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  accessToken TEXT,
  refreshToken TEXT,
  idToken TEXT,
  accessTokenExpiresAt TEXT,
  refreshTokenExpiresAt TEXT,
  scope TEXT,
  password TEXT,
  createdAt TEXT NOT NULL,
  updatedAt TEXT NOT NULL,
  UNIQUE (userId, providerId)
) STRICT;

CREATE TABLE verification (
  id TEXT NOT NULL PRIMARY KEY,
  identifier TEXT NOT NULL,
  value TEXT NOT NULL,
  expiresAt TEXT NOT NULL,
  createdAt TEXT NOT NULL,
  updatedAt TEXT NOT NULL
) STRICT;
CREATE INDEX verification_of ON verification (identifier);
CREATE INDEX verification_end ON verification (expiresAt);
-- Many are never used: each that is made takes away those that are over.
CREATE TRIGGER verification_over AFTER INSERT ON verification BEGIN
  DELETE FROM verification WHERE expiresAt < NEW.createdAt;
END;

CREATE TABLE passkey (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT,
  publicKey TEXT NOT NULL,
  userId TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  credentialID TEXT NOT NULL UNIQUE,
  counter INTEGER NOT NULL,
  deviceType TEXT NOT NULL,
  backedUp INTEGER NOT NULL,
  transports TEXT,
  createdAt TEXT,
  aaguid TEXT
) STRICT;
CREATE INDEX passkey_of ON passkey (userId);

-- Whose account of the ledger. `wanted_name` is there while the ledger has not confirmed the account that a sign-up makes.
CREATE TABLE memberships (
  person TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  account_id TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('owner', 'reader')),
  wanted_name TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (person, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memberships_of ON memberships (account_id);

CREATE TABLE operators (
  person TEXT NOT NULL PRIMARY KEY REFERENCES person (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- To an account with a role, or to the console with neither. Only the SHA-256 of the link's secret is kept.
CREATE TABLE invitations (
  token_hash BLOB NOT NULL PRIMARY KEY,
  email TEXT NOT NULL CHECK (email = lower(email)),
  account_id TEXT,
  role TEXT CHECK (role IN ('owner', 'reader')),
  -- As in `memberships`: the account that this link makes.
  wanted_name TEXT,
  invited_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER,
  CHECK ((account_id IS NULL) = (role IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_of ON invitations (email);

-- One-time links that sign a person in on one listener.
CREATE TABLE links (
  token_hash BLOB NOT NULL PRIMARY KEY,
  person TEXT NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  listener TEXT NOT NULL CHECK (listener IN ('cabinet', 'console')),
  expires_at INTEGER NOT NULL,
  used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX links_of ON links (person);

-- What signs cookies.
CREATE TABLE secrets (
  name TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
