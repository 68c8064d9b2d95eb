-- Sums of receipts by key, UTC hour, price, upstream, format, outcome and tag, filled in batches behind the settles: receipts whose number is above `summed` are in no row yet.
-- `upstream_number` 0: no upstream. `tag`: as usage_tags has it, '' for those that share a row there; '(none)', which is no tag, for what has none. `costed`: the requests
-- whose cost at their upstream is known.
CREATE TABLE spend_hours (
  key_number BIGINT NOT NULL REFERENCES keys (number),
  hour BIGINT NOT NULL,
  price_number BIGINT NOT NULL REFERENCES price_versions (number),
  upstream_number BIGINT NOT NULL,
  format TEXT COLLATE "C" NOT NULL,
  outcome TEXT COLLATE "C" NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,
  requests BIGINT NOT NULL CHECK (requests > 0),
  input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),
  output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens BIGINT NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens BIGINT NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens BIGINT NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses BIGINT NOT NULL CHECK (server_tool_uses >= 0),
  cost_picos BIGINT NOT NULL CHECK (cost_picos >= 0),
  waived_picos BIGINT NOT NULL CHECK (waived_picos >= 0),
  estimated_picos BIGINT NOT NULL CHECK (estimated_picos >= 0),
  upstream_cost_picos BIGINT NOT NULL CHECK (upstream_cost_picos >= 0),
  costed BIGINT NOT NULL CHECK (costed >= 0),
  PRIMARY KEY (key_number, hour, price_number, upstream_number, format, outcome, tag)
);
INSERT INTO meta (name, value) VALUES ('summed', '0');
