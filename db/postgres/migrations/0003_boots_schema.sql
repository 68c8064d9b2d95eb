-- Which version of these tables the program of a boot knows: a migration that takes something away asks it of the nodes that live. Those before this column
-- knew 2, and go on to register by `register_node`, which leaves it at that.
ALTER TABLE boots ADD COLUMN schema_version BIGINT NOT NULL DEFAULT 2;

-- As `register_node`, of a program that says what it knows.
CREATE FUNCTION register_node_3(
  own_name TEXT, boot_id TEXT, term_ms BIGINT, own_schema BIGINT, OUT own_lane BIGINT, OUT own_boot BIGINT, OUT own_epoch BIGINT, OUT now_ms BIGINT
) LANGUAGE plpgsql AS $$
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
  INSERT INTO boots (id, node, started_at, schema_version) VALUES (boot_id, own_name, now_ms, own_schema) RETURNING number INTO own_boot;
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
