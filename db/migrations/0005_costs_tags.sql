-- What an upstream charges for a model is a price version, too: its own rates, or ours with a factor in millionths.
ALTER TABLE price_versions ADD COLUMN factor_millionths INTEGER NOT NULL DEFAULT 1000000 CHECK (factor_millionths >= 0);
DROP INDEX price_versions_rates;
CREATE UNIQUE INDEX price_versions_rates ON price_versions (
  model_number, input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos, cache_write_1h_rate_picos,
  server_tool_use_rate_picos, price_group, above_prompt_tokens, factor_millionths
);

-- The name that the client gave a request; null where it gave none.
ALTER TABLE receipts ADD COLUMN tag TEXT;
-- What the call that answered cost us, by which version; null where that is not known. Of it, what wrote the prompt into a second cache.
ALTER TABLE receipts ADD COLUMN upstream_cost_number INTEGER REFERENCES price_versions (number);
ALTER TABLE receipts ADD COLUMN upstream_cost_picos INTEGER CHECK (upstream_cost_picos >= 0);
ALTER TABLE receipts ADD COLUMN cache_lost_picos INTEGER CHECK (cache_lost_picos >= 0);
ALTER TABLE attempts ADD COLUMN upstream_cost_number INTEGER REFERENCES price_versions (number);
ALTER TABLE attempts ADD COLUMN upstream_cost_picos INTEGER CHECK (upstream_cost_picos >= 0);
ALTER TABLE marks ADD COLUMN tag TEXT;
ALTER TABLE marks ADD COLUMN upstream_cost_number INTEGER REFERENCES price_versions (number);
-- Whether the ids of end users that an account's requests bring are their tags.
ALTER TABLE accounts ADD COLUMN tags_user_ids INTEGER NOT NULL DEFAULT 0 CHECK (tags_user_ids IN (0, 1));

-- Roll-ups of the receipts that have a tag, as usage_daily has them of all. The first 200 tags of a key and day have rows of their own, all others share those of ''.
CREATE TABLE usage_tags (
  key_number INTEGER NOT NULL REFERENCES keys (number),
  day INTEGER NOT NULL,
  tag TEXT NOT NULL,
  model_number INTEGER NOT NULL REFERENCES models (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  requests INTEGER NOT NULL CHECK (requests > 0),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  cost_picos INTEGER NOT NULL CHECK (cost_picos >= 0),
  waived_picos INTEGER NOT NULL CHECK (waived_picos >= 0),
  estimated_picos INTEGER NOT NULL CHECK (estimated_picos >= 0),
  PRIMARY KEY (key_number, day, tag, model_number, price_number)
) STRICT, WITHOUT ROWID;

-- Roll-ups of what was charged and of what it cost us, where that is known: of receipts (`requests`), and of attempts (`calls`), which count on the day on which
-- they began.
CREATE TABLE margin_daily (
  day INTEGER NOT NULL,
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  model_number INTEGER NOT NULL REFERENCES models (number),
  upstream_number INTEGER NOT NULL REFERENCES upstreams (number),
  lane INTEGER NOT NULL CHECK (lane >= 0),
  requests INTEGER NOT NULL CHECK (requests >= 0),
  calls INTEGER NOT NULL CHECK (calls >= 0),
  cost_picos INTEGER NOT NULL CHECK (cost_picos >= 0),
  waived_picos INTEGER NOT NULL CHECK (waived_picos >= 0),
  upstream_cost_picos INTEGER NOT NULL CHECK (upstream_cost_picos >= 0),
  calls_cost_picos INTEGER NOT NULL CHECK (calls_cost_picos >= 0),
  cache_lost_picos INTEGER NOT NULL CHECK (cache_lost_picos >= 0),
  PRIMARY KEY (day, account_number, model_number, upstream_number, lane)
) STRICT, WITHOUT ROWID;
