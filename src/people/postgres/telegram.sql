-- Private chats with the cabinet's bot, and what the bot still has to do. Times are Unix milliseconds; flags are 0 or 1. The same as
-- `../telegram.sql`. Rules: pages.md "Telegram".

-- A chat, whose id is also its user's, acts for one person in one account. `question`: JSON of what the bot asked for and has not got yet.
CREATE TABLE telegram_chats (
  chat BIGINT NOT NULL PRIMARY KEY,
  person TEXT COLLATE "C" NOT NULL,
  account_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  tells_alerts BIGINT NOT NULL CHECK (tells_alerts IN (0, 1)),
  question TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  FOREIGN KEY (person, account_id) REFERENCES memberships (person, account_id) ON DELETE CASCADE
);
CREATE INDEX telegram_chats_of ON telegram_chats (account_id);
CREATE INDEX telegram_chats_by ON telegram_chats (person, account_id);

-- One-time codes that link a chat; only the SHA-256 is kept. `chat`: the chat that used the code.
CREATE TABLE telegram_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  person TEXT COLLATE "C" NOT NULL,
  account_id TEXT COLLATE "C" NOT NULL,
  chat BIGINT,
  expires_at BIGINT NOT NULL,
  UNIQUE (person, account_id),
  FOREIGN KEY (person, account_id) REFERENCES memberships (person, account_id) ON DELETE CASCADE
);

-- A bot, the next update to ask Telegram for, when one was last taken, and the process that asks: until `claimed_until` no other does.
CREATE TABLE telegram_bots (
  bot BIGINT NOT NULL PRIMARY KEY,
  name TEXT COLLATE "C" NOT NULL DEFAULT '',
  next_update BIGINT NOT NULL DEFAULT 0,
  taken_at BIGINT NOT NULL DEFAULT 0,
  claimed_by TEXT COLLATE "C",
  claimed_until BIGINT NOT NULL DEFAULT 0
);

-- Updates that Telegram has handed over and that are not answered yet. Without the bot's token nothing can be made of `salt`, out of which new secrets are made.
CREATE TABLE telegram_updates (
  bot BIGINT NOT NULL,
  number BIGINT NOT NULL,
  chat BIGINT NOT NULL,
  body TEXT COLLATE "C" NOT NULL,
  salt BYTEA NOT NULL,
  taken_at BIGINT NOT NULL,
  PRIMARY KEY (bot, number)
);

-- Messages with a secret, and when they are deleted.
CREATE TABLE telegram_deletions (
  chat BIGINT NOT NULL,
  message BIGINT NOT NULL,
  delete_at BIGINT NOT NULL,
  PRIMARY KEY (chat, message)
);
CREATE INDEX telegram_deletions_next ON telegram_deletions (delete_at);
