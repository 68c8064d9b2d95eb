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
  -- It may have been turned off since the start, for all or for the role.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
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

-- Requests that named themselves by an Idempotency-Key, over all nodes: those that run, and the answers to give again. Which request used a header up stands in
-- `idempotency`, written with the settle. Rules: requests.md "Repeated requests".

-- Written before the upstream is called, and gone after the answer is kept or given up. One whose boot is gone, or that is over, counts for nothing.
CREATE TABLE idempotency_claims (
  key_number BIGINT NOT NULL REFERENCES keys (number),
  header_hash BYTEA NOT NULL CHECK (length(header_hash) = 32),
  body_hash BYTEA NOT NULL CHECK (length(body_hash) = 32),
  lane BIGINT NOT NULL REFERENCES nodes (lane),
  boot_number BIGINT NOT NULL REFERENCES boots (number),
  -- Which of the boot's: an end that comes late must not end the next one.
  claim BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (key_number, header_hash)
);
CREATE INDEX idempotency_claims_lane ON idempotency_claims (lane);

-- A crash of Postgres empties it: then the request is known and its answer is not, as after a restart of a gateway with a file.
CREATE UNLOGGED TABLE idempotent_answers (
  key_number BIGINT NOT NULL,
  account_number BIGINT NOT NULL,
  header_hash BYTEA NOT NULL CHECK (length(header_hash) = 32),
  status BIGINT NOT NULL,
  content_type TEXT COLLATE "C" NOT NULL,
  answer BYTEA NOT NULL CHECK (length(answer) <= 8388608),
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (key_number, header_hash)
);
CREATE INDEX idempotent_answers_account ON idempotent_answers (account_number, expires_at);
CREATE INDEX idempotent_answers_expiry ON idempotent_answers (expires_at);

-- `claimed`: it runs here now. `running`: elsewhere. `used`: by `used_by`, whose answer comes with it where it is kept. The look at what was used comes after the
-- claim: whoever had it before has settled by then.
CREATE FUNCTION claim_request(
  own_lane BIGINT, own_boot BIGINT, own_epoch BIGINT, own_claim BIGINT, key_id TEXT, header BYTEA, body BYTEA, claim_ms BIGINT,
  OUT kind TEXT, OUT is_same BOOLEAN, OUT used_by TEXT, OUT status BIGINT, OUT content_type TEXT, OUT answer BYTEA
) LANGUAGE plpgsql AS $$
DECLARE
  own_key BIGINT;
  used_body BYTEA;
BEGIN
  PERFORM assert_node(own_lane, own_boot, own_epoch);
  SELECT number INTO STRICT own_key FROM keys WHERE id = key_id;
  INSERT INTO idempotency_claims AS c (key_number, header_hash, body_hash, lane, boot_number, claim, expires_at)
    VALUES (own_key, header, body, own_lane, own_boot, own_claim, clock_ms() + claim_ms)
    ON CONFLICT (key_number, header_hash) DO UPDATE
      SET body_hash = body, lane = own_lane, boot_number = own_boot, claim = own_claim, expires_at = clock_ms() + claim_ms
      WHERE c.expires_at <= clock_ms() OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.boot_number = c.boot_number AND lease_until > 0);
  IF NOT FOUND THEN
    kind := 'running';
    is_same := coalesce((SELECT c.body_hash = body FROM idempotency_claims AS c WHERE key_number = own_key AND header_hash = header), true);
    RETURN;
  END IF;
  SELECT u.request_id, u.body_hash INTO used_by, used_body FROM idempotency AS u
    WHERE key_number = own_key AND header_hash = header AND expires_at > clock_ms();
  IF NOT FOUND THEN
    kind := 'claimed';
    is_same := true;
    RETURN;
  END IF;
  DELETE FROM idempotency_claims WHERE key_number = own_key AND header_hash = header;
  kind := 'used';
  is_same := used_body = body;
  IF is_same THEN
    SELECT a.status, a.content_type, a.answer INTO status, content_type, answer FROM idempotent_answers AS a
      WHERE key_number = own_key AND header_hash = header AND expires_at > clock_ms();
  END IF;
END $$;

-- Ends a claim whose request used the header up. False: that is not written yet (the settle is in a spill), and without the claim it would be generated once more.
CREATE FUNCTION end_used_claim(own_boot BIGINT, own_claim BIGINT, key_id TEXT, header BYTEA) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  own_key BIGINT;
BEGIN
  SELECT number INTO STRICT own_key FROM keys WHERE id = key_id;
  DELETE FROM idempotency_claims AS c WHERE c.key_number = own_key AND c.header_hash = header AND c.boot_number = own_boot AND c.claim = own_claim
    AND (c.expires_at <= clock_ms()
      OR EXISTS (SELECT FROM idempotency AS u WHERE u.key_number = own_key AND u.header_hash = header AND u.expires_at > clock_ms()));
  RETURN FOUND OR NOT EXISTS (SELECT FROM idempotency_claims AS c
    WHERE c.key_number = own_key AND c.header_hash = header AND c.boot_number = own_boot AND c.claim = own_claim);
END $$;

-- Keeps an answer, if there is room: an account's own oldest go first, and beyond `total_max` of all nothing is kept. Then the claim goes, as there. Those that are over
-- go a few at a time.
CREATE FUNCTION keep_answer(
  own_boot BIGINT, own_claim BIGINT, key_id TEXT, header BYTEA, given_status BIGINT, given_type TEXT, given BYTEA, ttl_ms BIGINT, account_max BIGINT, total_max BIGINT
) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  own_key BIGINT;
  own_account BIGINT;
BEGIN
  SELECT number, account_number INTO STRICT own_key, own_account FROM keys WHERE id = key_id;
  DELETE FROM idempotent_answers WHERE (key_number, header_hash) IN (
    SELECT key_number, header_hash FROM idempotent_answers WHERE expires_at <= clock_ms() ORDER BY expires_at LIMIT 64 FOR UPDATE SKIP LOCKED);
  IF length(given) <= account_max AND pg_total_relation_size('idempotent_answers') + length(given) <= total_max THEN
    -- Two of an account at once would each see the room of both.
    PERFORM pg_advisory_xact_lock(1953460332, CAST(own_account % 2147483647 AS INTEGER));
    DELETE FROM idempotent_answers WHERE account_number = own_account AND (key_number, header_hash) NOT IN (
      SELECT key_number, header_hash FROM (
        SELECT key_number, header_hash, sum(length(answer)) OVER (ORDER BY expires_at DESC, header_hash) AS total
        FROM idempotent_answers WHERE account_number = own_account
      ) AS newest WHERE total + length(given) <= account_max);
    INSERT INTO idempotent_answers AS a (key_number, account_number, header_hash, status, content_type, answer, expires_at)
      VALUES (own_key, own_account, header, given_status, given_type, given, clock_ms() + ttl_ms)
      ON CONFLICT (key_number, header_hash) DO UPDATE
        SET status = given_status, content_type = given_type, answer = given, expires_at = clock_ms() + ttl_ms;
  END IF;
  RETURN end_used_claim(own_boot, own_claim, key_id, header);
END $$;
