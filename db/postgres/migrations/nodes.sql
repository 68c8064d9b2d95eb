-- Who may write: each process that does is a node and owns a lane, until its lease is over by this database's clock. Rules: nodes.md "Lanes and leases",
-- "Fencing", "Take-over". What is done in more than one statement is a function, so that it is one round trip and one transaction, and the same when it comes twice.

-- Begins every transaction that writes. KEY SHARE, so that neither waits for the heartbeat nor makes it wait, which changes no key: a take-over's FOR UPDATE
-- is what it excludes.
CREATE FUNCTION assert_node(own_lane BIGINT, own_boot BIGINT, own_epoch BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM nodes WHERE lane = own_lane AND boot_number = own_boot AND epoch = own_epoch AND lease_until > 0 FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'this node was fenced: another has taken its lane over' USING ERRCODE = 'TG001';
  END IF;
END $$;

-- Frees the lanes whose lease has been over for longer than `grace_ms`, with all that was leased to them; what is settled at this moment goes first, and its lane stays
-- for the next look. How many there were.
CREATE FUNCTION fence_expired(grace_ms BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
  expired BIGINT[];
BEGIN
  expired := ARRAY (SELECT lane FROM nodes WHERE lease_until > 0 AND lease_until + grace_ms < clock_ms() ORDER BY lane FOR UPDATE SKIP LOCKED);
  PERFORM free_lanes(expired);
  RETURN cardinality(expired);
END $$;

-- Whoever calls it has locked their rows.
CREATE FUNCTION free_lanes(given BIGINT[]) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  UPDATE nodes SET epoch = epoch + 1, lease_until = 0 WHERE lane = ANY (given);
  DELETE FROM leases WHERE lane = ANY (given);
  DELETE FROM key_leases WHERE lane = ANY (given);
  DELETE FROM idempotency_claims WHERE lane = ANY (given);
END $$;

-- The lowest lane that is free, or has been over for a term, else a new one. A boot that has one already keeps it.
CREATE FUNCTION register_node(own_name TEXT, boot_id TEXT, term_ms BIGINT, OUT own_lane BIGINT, OUT own_boot BIGINT, OUT own_epoch BIGINT, OUT now_ms BIGINT)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(8390880602311700582);
  now_ms := clock_ms();
  UPDATE nodes SET beat_at = now_ms, lease_until = now_ms + term_ms FROM boots
    WHERE boots.id = boot_id AND boots.number = boot_number AND lease_until > 0
    RETURNING lane, boot_number, epoch INTO own_lane, own_boot, own_epoch;
  IF FOUND THEN
    RETURN;
  END IF;
  PERFORM fence_expired(term_ms);
  INSERT INTO boots (id, node, started_at) VALUES (boot_id, own_name, now_ms) RETURNING number INTO own_boot;
  SELECT lane INTO own_lane FROM nodes WHERE lease_until = 0 ORDER BY lane LIMIT 1 FOR UPDATE;
  IF FOUND THEN
    UPDATE nodes
      SET name = own_name, boot_number = own_boot, epoch = epoch + 1, started_at = now_ms, beat_at = now_ms, lease_until = now_ms + term_ms
      WHERE lane = own_lane
      RETURNING epoch INTO own_epoch;
  ELSE
    INSERT INTO nodes (lane, name, boot_number, epoch, started_at, beat_at, lease_until)
      SELECT coalesce(max(lane) + 1, 0), own_name, own_boot, 1, now_ms, now_ms, now_ms + term_ms FROM nodes
      RETURNING lane, epoch INTO own_lane, own_epoch;
  END IF;
END $$;

-- False: it was fenced before.
CREATE FUNCTION leave_node(own_lane BIGINT, own_boot BIGINT, own_epoch BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM nodes WHERE lane = own_lane AND boot_number = own_boot AND epoch = own_epoch AND lease_until > 0 FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM free_lanes(ARRAY[own_lane]);
  RETURN true;
END $$;
