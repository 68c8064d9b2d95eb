-- Questions to Explore that people keep under a name. The same as `../views.sql`. Rules: pages.md "Saved views".

-- `account_id`: in whose cabinet it is opened; null: in the console. `view`: JSON, of the names that the page's address has.
CREATE TABLE saved_views (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  person TEXT COLLATE "C" NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  account_id TEXT COLLATE "C",
  name TEXT COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  view TEXT COLLATE "C" NOT NULL CHECK (length(view) <= 4000),
  created_at BIGINT NOT NULL,
  FOREIGN KEY (person, account_id) REFERENCES memberships (person, account_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX saved_views_of ON saved_views (person, coalesce(account_id, ''), name);
