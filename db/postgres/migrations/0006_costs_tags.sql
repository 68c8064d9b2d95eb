-- What an upstream charges for a model is a price version, too: its own rates, or ours with a factor in millionths.
ALTER TABLE price_versions ADD COLUMN factor_millionths BIGINT NOT NULL DEFAULT 1000000 CHECK (factor_millionths >= 0);
DROP INDEX price_versions_rates;
CREATE UNIQUE INDEX price_versions_rates ON price_versions (
  model_number, input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos, cache_write_1h_rate_picos,
  server_tool_use_rate_picos, price_group, above_prompt_tokens, factor_millionths
);

-- The name that the client gave a request; null where it gave none.
ALTER TABLE receipts ADD COLUMN tag TEXT COLLATE "C";
-- What the call that answered cost us, by which version; null where that is not known. Of it, what wrote the prompt into a second cache.
ALTER TABLE receipts ADD COLUMN upstream_cost_number BIGINT;
ALTER TABLE receipts ADD COLUMN upstream_cost_picos BIGINT CHECK (upstream_cost_picos >= 0);
ALTER TABLE receipts ADD COLUMN cache_lost_picos BIGINT CHECK (cache_lost_picos >= 0);
ALTER TABLE attempts ADD COLUMN upstream_cost_number BIGINT REFERENCES price_versions (number);
ALTER TABLE attempts ADD COLUMN upstream_cost_picos BIGINT CHECK (upstream_cost_picos >= 0);
ALTER TABLE marks ADD COLUMN tag TEXT COLLATE "C";
ALTER TABLE marks ADD COLUMN upstream_cost_number BIGINT REFERENCES price_versions (number);
-- Whether the ids of end users that an account's requests bring are their tags.
ALTER TABLE accounts ADD COLUMN tags_user_ids BIGINT NOT NULL DEFAULT 0 CHECK (tags_user_ids IN (0, 1));

-- Roll-ups of the receipts that have a tag, as usage_daily has them of all. The first 200 tags of a key and day have rows of their own, all others share those of ''.
CREATE TABLE usage_tags (
  key_number BIGINT NOT NULL REFERENCES keys (number),
  day BIGINT NOT NULL,
  tag TEXT COLLATE "C" NOT NULL,
  model_number BIGINT NOT NULL REFERENCES models (number),
  price_number BIGINT NOT NULL REFERENCES price_versions (number),
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
  PRIMARY KEY (key_number, day, tag, model_number, price_number)
);

-- Roll-ups of what was charged and of what it cost us, where that is known: of receipts (`requests`), and of attempts (`calls`), which count on the day on which
-- they began.
CREATE TABLE margin_daily (
  day BIGINT NOT NULL,
  account_number BIGINT NOT NULL REFERENCES accounts (number),
  model_number BIGINT NOT NULL REFERENCES models (number),
  upstream_number BIGINT NOT NULL REFERENCES upstreams (number),
  lane BIGINT NOT NULL CHECK (lane >= 0),
  requests BIGINT NOT NULL CHECK (requests >= 0),
  calls BIGINT NOT NULL CHECK (calls >= 0),
  cost_picos BIGINT NOT NULL CHECK (cost_picos >= 0),
  waived_picos BIGINT NOT NULL CHECK (waived_picos >= 0),
  upstream_cost_picos BIGINT NOT NULL CHECK (upstream_cost_picos >= 0),
  calls_cost_picos BIGINT NOT NULL CHECK (calls_cost_picos >= 0),
  cache_lost_picos BIGINT NOT NULL CHECK (cache_lost_picos >= 0),
  PRIMARY KEY (day, account_number, model_number, upstream_number, lane)
);

-- `settle`, with what is new of receipts and with the roll-ups of it. Nodes of an older program go on to call that.
CREATE FUNCTION settle_6(
  own_lane BIGINT, own_boot BIGINT, own_epoch BIGINT,
  request_ids TEXT[], account_numbers BIGINT[], key_numbers BIGINT[], price_numbers BIGINT[], boot_numbers BIGINT[], upstream_numbers BIGINT[],
  upstream_message_ids TEXT[], upstream_request_ids TEXT[], attempt_counts BIGINT[], formats TEXT[], are_streams BIGINT[], outcomes TEXT[], bases TEXT[],
  bytes_per_token BIGINT[], statuses BIGINT[], inputs BIGINT[], outputs BIGINT[], cache_reads BIGINT[], cache_writes_5m BIGINT[], cache_writes_1h BIGINT[],
  tool_uses BIGINT[], costs BIGINT[], waived BIGINT[], holds BIGINT[], session_hashes BYTEA[], started BIGINT[], settled BIGINT[], days BIGINT[],
  first_bytes BIGINT[], durations BIGINT[], tags TEXT[], cost_versions BIGINT[], upstream_costs BIGINT[], caches_lost BIGINT[], seqs BIGINT[], hashes BYTEA[],
  marked_ids TEXT[],
  claim_keys BIGINT[], header_hashes BYTEA[], body_hashes BYTEA[], claim_request_ids TEXT[], expiries BIGINT[], claimed BIGINT[],
  own_accounts BIGINT[], account_costs BIGINT[], heads_from BIGINT[], heads_to BIGINT[], head_hashes BYTEA[],
  own_keys BIGINT[], key_costs BIGINT[], used BIGINT[],
  day_keys BIGINT[], day_days BIGINT[], day_prices BIGINT[], day_requests BIGINT[], day_inputs BIGINT[], day_outputs BIGINT[], day_cache_reads BIGINT[],
  day_cache_writes_5m BIGINT[], day_cache_writes_1h BIGINT[], day_tool_uses BIGINT[], day_costs BIGINT[], day_waived BIGINT[], day_estimated BIGINT[]
) RETURNS TEXT[] LANGUAGE plpgsql
-- Plans are kept, and the first ones are made while the tables are small: each row is looked for by its index, however few there are.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
  known TEXT[];
  written BIGINT;
  begun BIGINT;
  tagged RECORD;
BEGIN
  PERFORM assert_node(own_lane, own_boot, own_epoch);
  SELECT array_agg(request_id) INTO known FROM receipts WHERE request_id = ANY (request_ids);
  IF known IS NOT NULL THEN
    RETURN known;
  END IF;

  PERFORM FROM accounts WHERE number = ANY (own_accounts) ORDER BY number FOR NO KEY UPDATE;
  PERFORM FROM keys WHERE number = ANY (own_keys) ORDER BY number FOR NO KEY UPDATE;

  INSERT INTO receipts (request_id, account_number, key_number, price_number, boot_number, upstream_number, upstream_message_id, upstream_request_id, attempts,
    format, is_stream, outcome, basis, bytes_per_token_thousandths, status, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
    cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, hold_picos, session_hash, started_at, settled_at, day, first_byte_ms, duration_ms,
    tag, upstream_cost_number, upstream_cost_picos, cache_lost_picos, seq, hash, lane)
  SELECT made.*, own_lane FROM unnest(request_ids, account_numbers, key_numbers, price_numbers, boot_numbers, upstream_numbers, upstream_message_ids,
    upstream_request_ids, attempt_counts, formats, are_streams, outcomes, bases, bytes_per_token, statuses, inputs, outputs, cache_reads, cache_writes_5m,
    cache_writes_1h, tool_uses, costs, waived, holds, session_hashes, started, settled, days, first_bytes, durations, tags, cost_versions,
    upstream_costs, caches_lost, seqs, hashes) AS made
  ON CONFLICT (request_id) DO NOTHING;
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written <> cardinality(request_ids) THEN
    RAISE EXCEPTION 'another node settled one of these requests at the same moment' USING ERRCODE = 'serialization_failure';
  END IF;

  INSERT INTO chain_heads (account_number, lane, chain_count, chain_hash)
    SELECT account, own_lane, head_to, hash FROM unnest(own_accounts, heads_from, heads_to, head_hashes) AS own (account, head_from, head_to, hash)
    WHERE head_from = 0
    ON CONFLICT (account_number, lane) DO NOTHING;
  GET DIAGNOSTICS begun = ROW_COUNT;
  UPDATE chain_heads SET chain_count = head_to, chain_hash = hash
    FROM unnest(own_accounts, heads_from, heads_to, head_hashes) AS own (account, head_from, head_to, hash)
    WHERE head_from > 0 AND account_number = account AND lane = own_lane AND chain_count = head_from;
  GET DIAGNOSTICS written = ROW_COUNT;
  IF begun + written <> cardinality(own_accounts) THEN
    RAISE EXCEPTION 'a chain of lane % ends elsewhere than its node thought', own_lane USING ERRCODE = 'serialization_failure';
  END IF;

  UPDATE accounts SET spent_picos = spent_picos + cost, balance_picos = balance_picos - cost
    FROM unnest(own_accounts, account_costs) AS own (account, cost) WHERE number = account;
  UPDATE leases SET amount_picos = greatest(amount_picos - cost, 0)
    FROM unnest(own_accounts, account_costs) AS own (account, cost) WHERE account_number = account AND lane = own_lane AND cost > 0;
  UPDATE keys SET spent_picos = spent_picos + cost, last_synced_at = greatest(last_synced_at, used_at), last_used_at = greatest(last_used_at, used_at)
    FROM unnest(own_keys, key_costs, used) AS own (key, cost, used_at) WHERE number = key;
  UPDATE key_leases SET amount_picos = greatest(amount_picos - cost, 0)
    FROM unnest(own_keys, key_costs) AS own (key, cost) WHERE key_number = key AND lane = own_lane AND cost > 0;

  INSERT INTO usage_daily (key_number, day, model_number, price_number, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
    cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, estimated_picos)
  SELECT key, day, model_number, price, CAST(sum(requests) AS BIGINT), CAST(sum(input) AS BIGINT), CAST(sum(output) AS BIGINT), CAST(sum(cache_read) AS BIGINT),
    CAST(sum(cache_write_5m) AS BIGINT), CAST(sum(cache_write_1h) AS BIGINT), CAST(sum(uses) AS BIGINT), CAST(sum(cost) AS BIGINT),
    CAST(sum(waiver) AS BIGINT), CAST(sum(estimated) AS BIGINT)
  FROM unnest(day_keys, day_days, day_prices, day_requests, day_inputs, day_outputs, day_cache_reads, day_cache_writes_5m, day_cache_writes_1h, day_tool_uses,
    day_costs, day_waived, day_estimated)
    AS own (key, day, price, requests, input, output, cache_read, cache_write_5m, cache_write_1h, uses, cost, waiver, estimated)
  JOIN price_versions ON price_versions.number = price
  GROUP BY key, day, model_number, price
  ON CONFLICT (key_number, day, model_number, price_number) DO UPDATE SET requests = usage_daily.requests + excluded.requests,
    input_tokens = usage_daily.input_tokens + excluded.input_tokens, output_tokens = usage_daily.output_tokens + excluded.output_tokens,
    cache_read_tokens = usage_daily.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_5m_tokens = usage_daily.cache_write_5m_tokens + excluded.cache_write_5m_tokens,
    cache_write_1h_tokens = usage_daily.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
    server_tool_uses = usage_daily.server_tool_uses + excluded.server_tool_uses, cost_picos = usage_daily.cost_picos + excluded.cost_picos,
    waived_picos = usage_daily.waived_picos + excluded.waived_picos, estimated_picos = usage_daily.estimated_picos + excluded.estimated_picos;

  INSERT INTO margin_daily (day, account_number, model_number, upstream_number, lane, requests, calls, cost_picos, waived_picos, upstream_cost_picos,
    calls_cost_picos, cache_lost_picos)
  SELECT day, account, model_number, upstream, own_lane, count(*), 0, CAST(sum(cost) AS BIGINT), CAST(sum(waiver) AS BIGINT), CAST(sum(upstream_cost) AS BIGINT), 0,
    CAST(sum(coalesce(lost, 0)) AS BIGINT)
  FROM unnest(days, account_numbers, cost_versions, upstream_numbers, costs, waived, upstream_costs, caches_lost)
    AS own (day, account, version, upstream, cost, waiver, upstream_cost, lost)
  JOIN price_versions ON price_versions.number = version
  GROUP BY day, account, model_number, upstream
  ON CONFLICT (day, account_number, model_number, upstream_number, lane) DO UPDATE SET requests = margin_daily.requests + excluded.requests,
    cost_picos = margin_daily.cost_picos + excluded.cost_picos, waived_picos = margin_daily.waived_picos + excluded.waived_picos,
    upstream_cost_picos = margin_daily.upstream_cost_picos + excluded.upstream_cost_picos,
    cache_lost_picos = margin_daily.cache_lost_picos + excluded.cache_lost_picos;

  -- One by one: whether a tag has rows of its own depends on those before it.
  IF cardinality(array_remove(tags, NULL)) > 0 THEN
    FOR tagged IN
      SELECT key, day, tag AS name, model_number AS model, price, count(*) AS requests, CAST(sum(input) AS BIGINT) AS input, CAST(sum(output) AS BIGINT) AS output,
        CAST(sum(cache_read) AS BIGINT) AS cache_read, CAST(sum(cache_write_5m) AS BIGINT) AS cache_write_5m, CAST(sum(cache_write_1h) AS BIGINT) AS cache_write_1h,
        CAST(sum(uses) AS BIGINT) AS uses, CAST(sum(cost) AS BIGINT) AS cost, CAST(sum(waiver) AS BIGINT) AS waiver,
        CAST(sum(CASE WHEN basis = 'estimated' THEN cost ELSE 0 END) AS BIGINT) AS estimated
      FROM unnest(key_numbers, days, tags, price_numbers, inputs, outputs, cache_reads, cache_writes_5m, cache_writes_1h, tool_uses, costs, waived, bases)
        AS own (key, day, tag, price, input, output, cache_read, cache_write_5m, cache_write_1h, uses, cost, waiver, basis)
      JOIN price_versions ON price_versions.number = price
      WHERE tag IS NOT NULL GROUP BY key, day, tag, model_number, price ORDER BY key, day, tag, price
    LOOP
      INSERT INTO usage_tags (key_number, day, tag, model_number, price_number, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
        cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, estimated_picos)
      VALUES (tagged.key, tagged.day,
        CASE
          WHEN EXISTS (SELECT FROM usage_tags WHERE key_number = tagged.key AND day = tagged.day AND tag = tagged.name) THEN tagged.name
          WHEN EXISTS (SELECT FROM usage_tags WHERE key_number = tagged.key AND day = tagged.day AND tag = '') THEN ''
          WHEN (SELECT count(DISTINCT tag) FROM usage_tags WHERE key_number = tagged.key AND day = tagged.day) < 200 THEN tagged.name
          ELSE ''
        END,
        tagged.model, tagged.price, tagged.requests, tagged.input, tagged.output, tagged.cache_read, tagged.cache_write_5m, tagged.cache_write_1h, tagged.uses,
        tagged.cost, tagged.waiver, tagged.estimated)
      ON CONFLICT (key_number, day, tag, model_number, price_number) DO UPDATE SET requests = usage_tags.requests + excluded.requests,
        input_tokens = usage_tags.input_tokens + excluded.input_tokens, output_tokens = usage_tags.output_tokens + excluded.output_tokens,
        cache_read_tokens = usage_tags.cache_read_tokens + excluded.cache_read_tokens,
        cache_write_5m_tokens = usage_tags.cache_write_5m_tokens + excluded.cache_write_5m_tokens,
        cache_write_1h_tokens = usage_tags.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
        server_tool_uses = usage_tags.server_tool_uses + excluded.server_tool_uses, cost_picos = usage_tags.cost_picos + excluded.cost_picos,
        waived_picos = usage_tags.waived_picos + excluded.waived_picos, estimated_picos = usage_tags.estimated_picos + excluded.estimated_picos;
    END LOOP;
  END IF;

  IF cardinality(marked_ids) > 0 THEN
    DELETE FROM marks WHERE request_id = ANY (marked_ids);
  END IF;
  IF cardinality(claim_keys) > 0 THEN
    -- One that still counts stays, and of two in the group the first.
    DELETE FROM idempotency USING unnest(claim_keys, header_hashes, claimed) AS own (key, header, at)
      WHERE key_number = key AND header_hash = header AND expires_at <= at;
    INSERT INTO idempotency (key_number, header_hash, body_hash, request_id, expires_at)
      SELECT * FROM unnest(claim_keys, header_hashes, body_hashes, claim_request_ids, expiries)
      ON CONFLICT (key_number, header_hash) DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
