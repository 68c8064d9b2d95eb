-- Budgets by window: a cap on what a key, or all keys of an account together (`key_number` 0), may spend in each hour, day, week or month of UTC. An operator and a customer each
-- have a row, and the least of the two holds.
CREATE TABLE budgets (
  account_number BIGINT NOT NULL REFERENCES accounts (number),
  key_number BIGINT NOT NULL,
  per TEXT COLLATE "C" NOT NULL CHECK (per = 'hour' OR per = 'day' OR per = 'week' OR per = 'month'),
  set_by TEXT COLLATE "C" NOT NULL CHECK (set_by = 'operator' OR set_by = 'customer'),
  cap_picos BIGINT NOT NULL CHECK (cap_picos >= 0),
  PRIMARY KEY (account_number, key_number, per, set_by)
);

-- What the receipts of a key cost, by the hour in which their requests were admitted (whole hours since 1970): windows are summed from it.
CREATE TABLE key_hours (
  key_number BIGINT NOT NULL REFERENCES keys (number),
  hour BIGINT NOT NULL,
  spent_picos BIGINT NOT NULL CHECK (spent_picos >= 0),
  PRIMARY KEY (key_number, hour)
);

-- The same of an account's keys together, by their plan: an account may have too many keys to add them up for a request.
CREATE TABLE account_hours (
  account_number BIGINT NOT NULL REFERENCES accounts (number),
  hour BIGINT NOT NULL,
  plan TEXT COLLATE "C" NOT NULL,
  spent_picos BIGINT NOT NULL CHECK (spent_picos >= 0),
  PRIMARY KEY (account_number, hour, plan)
);

-- The plan that new keys of the account's customers get; null: the configuration's default.
ALTER TABLE accounts ADD COLUMN plan TEXT COLLATE "C";

-- The part of a lease that was granted for requests that are admitted in `hour`. In a window that began with a later hour it counts for nothing; what requests that were
-- admitted before `hour` hold is the rest of the amount.
ALTER TABLE leases ADD COLUMN hour BIGINT NOT NULL DEFAULT 0, ADD COLUMN current_picos BIGINT NOT NULL DEFAULT 0;
ALTER TABLE key_leases ADD COLUMN hour BIGINT NOT NULL DEFAULT 0, ADD COLUMN current_picos BIGINT NOT NULL DEFAULT 0;

-- What a node may spend of the budgets that a plan has for an account over all its keys of that plan. The account's row is locked whenever one of these changes.
CREATE TABLE plan_leases (
  account_number BIGINT NOT NULL REFERENCES accounts (number),
  plan TEXT COLLATE "C" NOT NULL,
  lane BIGINT NOT NULL REFERENCES nodes (lane),
  amount_picos BIGINT NOT NULL CHECK (amount_picos >= 0),
  moved BIGINT NOT NULL,
  hour BIGINT NOT NULL,
  current_picos BIGINT NOT NULL,
  PRIMARY KEY (account_number, plan, lane)
);
CREATE INDEX plan_leases_lane ON plan_leases (lane);

-- Beside `free_lanes`, which nodes of an older program call as well.
CREATE FUNCTION free_plan_leases() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM plan_leases WHERE lane = NEW.lane;
  RETURN NULL;
END $$;
CREATE TRIGGER nodes_free_plan_leases AFTER UPDATE ON nodes FOR EACH ROW WHEN (NEW.lease_until = 0) EXECUTE FUNCTION free_plan_leases();

-- A trigger, because nodes of an older program settle by a function that knows nothing of hours. Whoever inserts receipts has locked the rows of their accounts and keys.
CREATE FUNCTION count_hours() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO key_hours (key_number, hour, spent_picos)
    SELECT key_number, started_at / 3600000, CAST(sum(cost_picos) AS BIGINT) FROM made WHERE cost_picos > 0 GROUP BY key_number, started_at / 3600000
    ON CONFLICT (key_number, hour) DO UPDATE SET spent_picos = key_hours.spent_picos + excluded.spent_picos;
  INSERT INTO account_hours (account_number, hour, plan, spent_picos)
    SELECT made.account_number, made.started_at / 3600000, plan, CAST(sum(cost_picos) AS BIGINT) FROM made JOIN keys ON keys.number = key_number
    WHERE cost_picos > 0 GROUP BY made.account_number, made.started_at / 3600000, plan
    ON CONFLICT (account_number, hour, plan) DO UPDATE SET spent_picos = account_hours.spent_picos + excluded.spent_picos;
  UPDATE plan_leases SET amount_picos = greatest(amount_picos - cost, 0)
    FROM (
      SELECT made.account_number AS account, keys.plan AS of_plan, made.lane AS of_lane, CAST(sum(cost_picos) AS BIGINT) AS cost
      FROM made JOIN keys ON keys.number = key_number WHERE cost_picos > 0 GROUP BY made.account_number, keys.plan, made.lane
    ) own
    WHERE account_number = account AND plan = of_plan AND lane = of_lane;
  RETURN NULL;
END $$;
CREATE TRIGGER receipts_sum_hours AFTER INSERT ON receipts REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION count_hours();

-- The first hour of which these rows say everything: that of the running month, or week, where it began earlier; 0 where no receipt was before them.
INSERT INTO meta (name, value) VALUES ('hours_from', CASE WHEN EXISTS (SELECT 1 FROM receipts) THEN CAST(CAST(extract(epoch FROM least(
  date_trunc('month', now() AT TIME ZONE 'UTC'), date_trunc('week', now() AT TIME ZONE 'UTC'))) AS BIGINT) / 3600 AS TEXT) ELSE '0' END);
INSERT INTO key_hours (key_number, hour, spent_picos)
  SELECT key_number, started_at / 3600000, CAST(sum(cost_picos) AS BIGINT) FROM receipts
  WHERE cost_picos > 0 AND started_at >= (SELECT CAST(value AS BIGINT) FROM meta WHERE name = 'hours_from') * 3600000
  GROUP BY key_number, started_at / 3600000;
INSERT INTO account_hours (account_number, hour, plan, spent_picos)
  SELECT account_number, hour, plan, CAST(sum(key_hours.spent_picos) AS BIGINT) FROM key_hours JOIN keys ON keys.number = key_number
  GROUP BY account_number, hour, plan;
