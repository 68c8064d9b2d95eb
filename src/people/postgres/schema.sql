-- Who may come in. The first five tables are better-auth's own (https://better-auth.com/docs/concepts/database), under names that say what they hold; the rest is ours.
-- The same as `../schema.sql`, column by column, as a test finds out; texts are compared as bytes, as SQLite does. The schema is the connection's own: `people`.
-- Rules: pages.md "People", "Sessions".

CREATE TABLE person (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL,
  email TEXT COLLATE "C" NOT NULL UNIQUE CHECK (email = lower(email) AND email <> ''),
  "emailVerified" BIGINT NOT NULL,
  image TEXT COLLATE "C",
  "createdAt" TEXT COLLATE "C" NOT NULL,
  "updatedAt" TEXT COLLATE "C" NOT NULL
);

CREATE TABLE session (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  "expiresAt" TEXT COLLATE "C" NOT NULL,
  token TEXT COLLATE "C" NOT NULL UNIQUE,
  "createdAt" TEXT COLLATE "C" NOT NULL,
  "updatedAt" TEXT COLLATE "C" NOT NULL,
  "ipAddress" TEXT COLLATE "C",
  "userAgent" TEXT COLLATE "C",
  "userId" TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  listener TEXT COLLATE "C" NOT NULL CHECK (listener IN ('cabinet', 'console'))
);
CREATE INDEX session_of ON session ("userId");
-- A person has so many sessions at most, and the oldest end, so that no person fills the store by signing in.
CREATE FUNCTION session_bound() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM session WHERE id IN (
    SELECT id FROM session WHERE "userId" = NEW."userId" AND listener = NEW.listener AND id <> NEW.id ORDER BY "createdAt" DESC, id DESC OFFSET 49
  );
  RETURN NULL;
END $$;
CREATE TRIGGER session_bound AFTER INSERT ON session FOR EACH ROW EXECUTE FUNCTION session_bound();

CREATE TABLE credential (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  "accountId" TEXT COLLATE "C" NOT NULL,
  "providerId" TEXT COLLATE "C" NOT NULL,
  "userId" TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  "accessToken" TEXT COLLATE "C",
  "refreshToken" TEXT COLLATE "C",
  "idToken" TEXT COLLATE "C",
  "accessTokenExpiresAt" TEXT COLLATE "C",
  "refreshTokenExpiresAt" TEXT COLLATE "C",
  scope TEXT COLLATE "C",
  password TEXT COLLATE "C",
  "createdAt" TEXT COLLATE "C" NOT NULL,
  "updatedAt" TEXT COLLATE "C" NOT NULL,
  UNIQUE ("userId", "providerId")
);

CREATE TABLE verification (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  identifier TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  "expiresAt" TEXT COLLATE "C" NOT NULL,
  "createdAt" TEXT COLLATE "C" NOT NULL,
  "updatedAt" TEXT COLLATE "C" NOT NULL
);
CREATE INDEX verification_of ON verification (identifier);
CREATE INDEX verification_end ON verification ("expiresAt");
-- Many are never used: each that is made takes away those that are over.
CREATE FUNCTION verification_over() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM verification WHERE "expiresAt" < NEW."createdAt";
  RETURN NULL;
END $$;
CREATE TRIGGER verification_over AFTER INSERT ON verification FOR EACH ROW EXECUTE FUNCTION verification_over();

CREATE TABLE passkey (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  name TEXT COLLATE "C",
  "publicKey" TEXT COLLATE "C" NOT NULL,
  "userId" TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  "credentialID" TEXT COLLATE "C" NOT NULL UNIQUE,
  counter BIGINT NOT NULL,
  "deviceType" TEXT COLLATE "C" NOT NULL,
  "backedUp" BIGINT NOT NULL,
  transports TEXT COLLATE "C",
  "createdAt" TEXT COLLATE "C",
  aaguid TEXT COLLATE "C"
);
CREATE INDEX passkey_of ON passkey ("userId");

-- Whose account of the ledger. `wanted_name` is there while the ledger has not confirmed the account that a sign-up makes.
CREATE TABLE memberships (
  person TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  account_id TEXT COLLATE "C" NOT NULL,
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('owner', 'reader')),
  wanted_name TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  PRIMARY KEY (person, account_id)
);
CREATE INDEX memberships_of ON memberships (account_id);

CREATE TABLE operators (
  person TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES person (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL
);

-- To an account with a role, or to the console with neither. Only the SHA-256 of the link's secret is kept.
CREATE TABLE invitations (
  token_hash BYTEA NOT NULL PRIMARY KEY,
  email TEXT COLLATE "C" NOT NULL CHECK (email = lower(email)),
  account_id TEXT COLLATE "C",
  role TEXT COLLATE "C" CHECK (role IN ('owner', 'reader')),
  -- As in `memberships`: the account that this link makes.
  wanted_name TEXT COLLATE "C",
  invited_by TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT,
  CHECK ((account_id IS NULL) = (role IS NULL))
);
CREATE INDEX invitations_of ON invitations (email);

-- One-time links that sign a person in on one listener.
CREATE TABLE links (
  token_hash BYTEA NOT NULL PRIMARY KEY,
  person TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  listener TEXT COLLATE "C" NOT NULL CHECK (listener IN ('cabinet', 'console')),
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX links_of ON links (person);

-- What signs cookies.
CREATE TABLE secrets (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  value BYTEA NOT NULL
);
