-- Requests of a key over all nodes, by this database's clock alone. Rules: keys.md "Limits over nodes". A crash of the server empties the tables, which costs nobody
-- anything.

-- When the key's allowance is whole again, in microseconds.
CREATE UNLOGGED TABLE key_rates (
  key_id TEXT COLLATE "C" PRIMARY KEY,
  whole_at_us BIGINT NOT NULL
) WITH (fillfactor = 50);

-- How many requests at once a boot may run of the key. `asked`: the number of its last word about it.
CREATE UNLOGGED TABLE key_places (
  key_id TEXT COLLATE "C" NOT NULL,
  lane BIGINT NOT NULL,
  boot_number BIGINT NOT NULL,
  places BIGINT NOT NULL CHECK (places >= 0),
  asked BIGINT NOT NULL,
  PRIMARY KEY (key_id, lane)
) WITH (fillfactor = 50);

-- A node takes so many requests of the minute as there are, at most those that it wants, and has from now on so many places of those at once as others leave, at most
-- those that it wants. `wait_ms`: until one more request of the minute is there; 0: it is. An older word than the last one changes nothing.
CREATE FUNCTION take_limits(
  own_lane BIGINT, own_boot BIGINT, own_number BIGINT, own_key TEXT, wanted_requests BIGINT, wanted_places BIGINT, per_minute BIGINT, at_once BIGINT,
  OUT requests BIGINT, OUT granted_places BIGINT, OUT wait_ms BIGINT, OUT live_nodes BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
  minute_us CONSTANT NUMERIC := 60000000;
  now_us NUMERIC := trunc(extract(epoch FROM clock_timestamp()) * 1000000);
  from_us NUMERIC;
  others BIGINT;
BEGIN
  INSERT INTO key_rates (key_id, whole_at_us) VALUES (own_key, 0) ON CONFLICT (key_id) DO NOTHING;
  SELECT whole_at_us INTO from_us FROM key_rates WHERE key_id = own_key FOR UPDATE;
  SELECT count(*) INTO live_nodes FROM nodes WHERE lease_until > clock_ms();

  from_us := least(greatest(from_us, now_us), now_us + minute_us);
  requests := least(wanted_requests, trunc((now_us + minute_us - from_us) * per_minute / minute_us));
  from_us := from_us + ceil(requests * minute_us / per_minute);
  UPDATE key_rates SET whole_at_us = from_us WHERE key_id = own_key AND requests > 0;
  wait_ms := greatest(0, ceil((from_us + ceil(minute_us / per_minute) - minute_us - now_us) / 1000));

  SELECT coalesce(sum(places), 0) INTO others FROM key_places JOIN nodes USING (lane)
    WHERE key_id = own_key AND lane <> own_lane AND nodes.boot_number = key_places.boot_number AND lease_until > 0;
  INSERT INTO key_places AS own (key_id, lane, boot_number, places, asked)
    VALUES (own_key, own_lane, own_boot, greatest(0, least(wanted_places, at_once - others)), own_number)
    ON CONFLICT (key_id, lane) DO UPDATE SET boot_number = excluded.boot_number, places = excluded.places, asked = excluded.asked
    WHERE own.boot_number < excluded.boot_number OR (own.boot_number = excluded.boot_number AND own.asked < excluded.asked);
  SELECT places INTO granted_places FROM key_places WHERE key_id = own_key AND lane = own_lane AND boot_number = own_boot;
END $$;
