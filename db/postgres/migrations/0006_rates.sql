-- Rates of plans and keys over all nodes, by this database's clock alone: token buckets, and how many requests run at once. Rules: keys.md "Rates", "Rates over nodes". A
-- crash of the server empties the tables, which costs nobody anything.

-- Rates of a key's own, beside those of its plan: JSON with the names of the settings, only those that are set; null: none.
ALTER TABLE keys ADD COLUMN rates TEXT COLLATE "C";

-- What is taken of each bucket and has not flowed back, at `at_us`.
CREATE UNLOGGED TABLE rate_levels (
  owner TEXT COLLATE "C" PRIMARY KEY,
  requests DOUBLE PRECISION NOT NULL,
  input DOUBLE PRECISION NOT NULL,
  output DOUBLE PRECISION NOT NULL,
  at_us BIGINT NOT NULL
) WITH (fillfactor = 50);

-- How many requests of the owner a boot runs. `asked`: the number of its last word about it.
CREATE UNLOGGED TABLE rate_running (
  owner TEXT COLLATE "C" NOT NULL,
  lane BIGINT NOT NULL,
  boot_number BIGINT NOT NULL,
  running BIGINT NOT NULL CHECK (running >= 0),
  asked BIGINT NOT NULL,
  PRIMARY KEY (owner, lane)
) WITH (fillfactor = 50);

-- A level after so much time, less what flows back; nothing where there is no limit. A millionth is less than anything that is counted, and more than the error of a sum.
CREATE FUNCTION rate_left(level DOUBLE PRECISION, per_minute DOUBLE PRECISION, passed_us DOUBLE PRECISION) RETURNS DOUBLE PRECISION LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN per_minute IS NULL OR level - passed_us * per_minute / 60000000 < 1e-6 THEN 0 ELSE level - passed_us * per_minute / 60000000 END
$$;

-- Whether a bucket lets so much in: what fits, and anything where nothing is taken. A request that has none of it, `wanted` null, does not mind.
CREATE FUNCTION rate_fits(level DOUBLE PRECISION, per_minute DOUBLE PRECISION, wanted DOUBLE PRECISION) RETURNS BOOLEAN LANGUAGE sql IMMUTABLE AS $$
  SELECT per_minute IS NULL OR wanted IS NULL OR level < 1e-6 OR level + greatest(1, wanted) - per_minute < 1e-6
$$;

-- The owner's levels now, locked until the transaction ends. A clock that was set back lets nothing flow back.
CREATE FUNCTION lock_rates(one JSONB) RETURNS rate_levels LANGUAGE plpgsql AS $$
DECLARE
  found_levels rate_levels;
  now_us BIGINT;
BEGIN
  INSERT INTO rate_levels VALUES (one ->> 'name', 0, 0, 0, 0) ON CONFLICT (owner) DO NOTHING;
  SELECT * INTO found_levels FROM rate_levels WHERE owner = one ->> 'name' FOR UPDATE;
  now_us := trunc(extract(epoch FROM clock_timestamp()) * 1000000);
  found_levels.requests := rate_left(found_levels.requests, (one ->> 'requestsPerMinute')::float8, greatest(0, now_us - found_levels.at_us));
  found_levels.input := rate_left(found_levels.input, (one ->> 'inputTokensPerMinute')::float8, greatest(0, now_us - found_levels.at_us));
  found_levels.output := rate_left(found_levels.output, (one ->> 'outputTokensPerMinute')::float8, greatest(0, now_us - found_levels.at_us));
  found_levels.at_us := now_us;
  RETURN found_levels;
END $$;

-- Adds to the owner's locked levels, which are never less than nothing and stay nothing where there is no limit, and notes how many of its requests the boot runs. An
-- older word about these than the last one changes nothing.
CREATE FUNCTION change_rates(
  own_lane BIGINT, own_boot BIGINT, own_number BIGINT, one JSONB, locked rate_levels,
  more_requests DOUBLE PRECISION, more_input DOUBLE PRECISION, more_output DOUBLE PRECISION, now_running BIGINT
) RETURNS rate_levels LANGUAGE plpgsql AS $$
BEGIN
  IF one ->> 'requestsPerMinute' IS NOT NULL THEN locked.requests := greatest(0, locked.requests + more_requests); END IF;
  IF one ->> 'inputTokensPerMinute' IS NOT NULL THEN locked.input := greatest(0, locked.input + more_input); END IF;
  IF one ->> 'outputTokensPerMinute' IS NOT NULL THEN locked.output := greatest(0, locked.output + more_output); END IF;
  UPDATE rate_levels SET requests = locked.requests, input = locked.input, output = locked.output, at_us = locked.at_us WHERE owner = locked.owner;
  INSERT INTO rate_running AS own (owner, lane, boot_number, running, asked)
    VALUES (locked.owner, own_lane, own_boot, greatest(0, now_running), own_number)
    ON CONFLICT (owner, lane) DO UPDATE SET boot_number = excluded.boot_number, running = excluded.running, asked = excluded.asked
    WHERE own.boot_number < excluded.boot_number OR (own.boot_number = excluded.boot_number AND own.asked < excluded.asked);
  RETURN locked;
END $$;

-- Lets a request in, counting it in the buckets of all its owners, or in none. `asked` is a list of owners in one order for all who ask, so that none waits for another
-- crosswise; `input` null: the request has no tokens to count. The standings come in that order.
CREATE FUNCTION take_rates(
  own_lane BIGINT, own_boot BIGINT, own_number BIGINT, owners TEXT, input DOUBLE PRECISION, slots BIGINT,
  OUT is_admitted BOOLEAN, OUT standings TEXT, OUT live_nodes BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
  asked JSONB[] := ARRAY (SELECT jsonb_array_elements(owners::jsonb));
  locked rate_levels[];
  one rate_levels;
  is_full BOOLEAN[];
  others BIGINT;
  told JSONB := '[]';
BEGIN
  SELECT count(*) INTO live_nodes FROM nodes WHERE lease_until > clock_ms();
  is_admitted := true;
  FOR i IN 1 .. cardinality(asked) LOOP
    one := lock_rates(asked[i]);
    locked[i] := one;
    SELECT coalesce(sum(running), 0) INTO others FROM rate_running JOIN nodes USING (lane)
      WHERE owner = one.owner AND lane <> own_lane AND nodes.boot_number = rate_running.boot_number AND lease_until > 0;
    is_full[i] := slots > 0 AND coalesce(others + (asked[i] ->> 'running')::bigint > (asked[i] ->> 'concurrentRequests')::bigint, false);
    is_admitted := is_admitted AND NOT is_full[i]
      AND rate_fits(one.requests, (asked[i] ->> 'requestsPerMinute')::float8, 1)
      AND rate_fits(one.input, (asked[i] ->> 'inputTokensPerMinute')::float8, input)
      AND rate_fits(one.output, (asked[i] ->> 'outputTokensPerMinute')::float8, CASE WHEN input IS NULL THEN NULL ELSE 0 END);
  END LOOP;
  FOR i IN 1 .. cardinality(asked) LOOP
    one := change_rates(
      own_lane, own_boot, own_number, asked[i], locked[i],
      is_admitted::int, is_admitted::int * coalesce(input, 0), 0, (asked[i] ->> 'running')::bigint - CASE WHEN is_admitted THEN 0 ELSE slots END
    );
    told := told || jsonb_build_object('requests', one.requests, 'input', one.input, 'output', one.output, 'isFull', is_full[i]);
  END LOOP;
  standings := told::text;
END $$;

-- Corrects what was counted, in the same order of owners.
CREATE FUNCTION correct_rates(own_lane BIGINT, own_boot BIGINT, own_number BIGINT, corrections TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
  one JSONB;
BEGIN
  FOR one IN SELECT jsonb_array_elements(corrections::jsonb) LOOP
    PERFORM change_rates(
      own_lane, own_boot, own_number, one, lock_rates(one),
      (one ->> 'requests')::float8, (one ->> 'input')::float8, (one ->> 'output')::float8, (one ->> 'running')::bigint
    );
  END LOOP;
END $$;
