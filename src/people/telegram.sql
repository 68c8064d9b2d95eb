-- Private chats with the cabinet's bot, and what the bot still has to do. Times are Unix milliseconds; flags are 0 or 1. Rules: pages.md "Telegram".

-- A chat, whose id is also its user's, acts for one person in one account. `question`: JSON of what the bot asked for and has not got yet.
CREATE TABLE telegram_chats (
  chat INTEGER NOT NULL PRIMARY KEY,
  person TEXT NOT NULL,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  tells_alerts INTEGER NOT NULL CHECK (tells_alerts IN (0, 1)),
  question TEXT,
  created_at INTEGER NOT NULL,
  FOREIGN KEY (person, account_id) REFERENCES memberships (person, account_id) ON DELETE CASCADE
) STRICT;
CREATE INDEX telegram_chats_of ON telegram_chats (account_id);
CREATE INDEX telegram_chats_by ON telegram_chats (person, account_id);

-- One-time codes that link a chat; only the SHA-256 is kept. `chat`: the chat that used the code.
CREATE TABLE telegram_codes (
  code_hash BLOB NOT NULL PRIMARY KEY,
  person TEXT NOT NULL,
  account_id TEXT NOT NULL,
  chat INTEGER,
  expires_at INTEGER NOT NULL,
  UNIQUE (person, account_id),
  FOREIGN KEY (person, account_id) REFERENCES memberships (person, account_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- A bot, the next update to ask Telegram for, when one was last taken, and the process that asks: until `claimed_until` no other does.
CREATE TABLE telegram_bots (
  bot INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL DEFAULT '',
  next_update INTEGER NOT NULL DEFAULT 0,
  taken_at INTEGER NOT NULL DEFAULT 0,
  claimed_by TEXT,
  claimed_until INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Updates that Telegram has handed over and that are not answered yet. Without the bot's token nothing can be made of `salt`, out of which new secrets are made.
CREATE TABLE telegram_updates (
  bot INTEGER NOT NULL,
  number INTEGER NOT NULL,
  chat INTEGER NOT NULL,
  body TEXT NOT NULL,
  salt BLOB NOT NULL,
  taken_at INTEGER NOT NULL,
  PRIMARY KEY (bot, number)
) STRICT, WITHOUT ROWID;

-- Messages with a secret, and when they are deleted.
CREATE TABLE telegram_deletions (
  chat INTEGER NOT NULL,
  message INTEGER NOT NULL,
  delete_at INTEGER NOT NULL,
  PRIMARY KEY (chat, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX telegram_deletions_next ON telegram_deletions (delete_at);
