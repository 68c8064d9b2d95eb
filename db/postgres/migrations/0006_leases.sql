-- Leases of what budgets leave of their windows. Rules: ledger.md "Leases"; money.md "Budgets". `move_leases` stays for nodes of an older program.

-- Where the windows of an hour begin and end, in the order hour, day, week (from Monday), month; all in whole hours since 1970, which was a Thursday.
CREATE FUNCTION window_starts(hour BIGINT) RETURNS BIGINT[] LANGUAGE sql IMMUTABLE AS
  $$SELECT ARRAY[hour, hour / 24 * 24, ((hour / 24 - 4) / 7 * 7 + 4) * 24,
    CAST(extract(epoch FROM date_trunc('month', to_timestamp(hour * 3600) AT TIME ZONE 'UTC')) AS BIGINT) / 3600]$$;
CREATE FUNCTION window_ends(hour BIGINT) RETURNS BIGINT[] LANGUAGE sql IMMUTABLE AS
  $$SELECT ARRAY[hour + 1, hour / 24 * 24 + 24, ((hour / 24 - 4) / 7 * 7 + 11) * 24,
    CAST(extract(epoch FROM date_trunc('month', to_timestamp(hour * 3600) AT TIME ZONE 'UTC') + INTERVAL '1 month') AS BIGINT) / 3600]$$;

CREATE FUNCTION key_spent_in(key BIGINT, starts BIGINT[], ends BIGINT[]) RETURNS BIGINT[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY[
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[1] AND hour < ends[1]), 0) AS BIGINT),
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[2] AND hour < ends[2]), 0) AS BIGINT),
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[3] AND hour < ends[3]), 0) AS BIGINT),
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[4] AND hour < ends[4]), 0) AS BIGINT)]
  FROM key_hours WHERE key_number = key AND hour >= least(starts[3], starts[4]) AND hour < greatest(ends[3], ends[4])$$;

-- `of_plan` NULL: the keys of all plans.
CREATE FUNCTION account_spent_in(account BIGINT, of_plan TEXT, starts BIGINT[], ends BIGINT[]) RETURNS BIGINT[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY[
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[1] AND hour < ends[1]), 0) AS BIGINT),
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[2] AND hour < ends[2]), 0) AS BIGINT),
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[3] AND hour < ends[3]), 0) AS BIGINT),
    CAST(coalesce(sum(spent_picos) FILTER (WHERE hour >= starts[4] AND hour < ends[4]), 0) AS BIGINT)]
  FROM account_hours
  WHERE account_number = account AND (of_plan IS NULL OR plan = of_plan) AND hour >= least(starts[3], starts[4]) AND hour < greatest(ends[3], ends[4])$$;

-- The caps in force, in the order of the windows; `key` 0: those of the account.
CREATE FUNCTION caps_of(account BIGINT, key BIGINT) RETURNS BIGINT[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY[min(cap_picos) FILTER (WHERE per = 'hour'), min(cap_picos) FILTER (WHERE per = 'day'), min(cap_picos) FILTER (WHERE per = 'week'),
    min(cap_picos) FILTER (WHERE per = 'month')]
  FROM budgets WHERE account_number = account AND key_number = key$$;

-- What the windows leave beside what others lease and what runs at the asking node, and what of its lease they back; NULL: there is no cap. In a window that began with this
-- hour only what was admitted, or is leased, for this hour counts. `used`: of the windows that are used up the one that ends last.
CREATE FUNCTION window_view(
  own_hour BIGINT, starts BIGINT[], ends BIGINT[], caps BIGINT[], spent BIGINT[], others NUMERIC, others_now NUMERIC, runs BIGINT, earlier BIGINT,
  OUT free NUMERIC, OUT backed NUMERIC, OUT used INTEGER
) LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  FOR w IN 1 .. 4 LOOP
    CONTINUE WHEN caps[w] IS NULL;
    IF starts[w] = own_hour THEN
      free := least(free, caps[w] - spent[w] - others_now - (coalesce(runs, 0) - earlier));
      backed := least(backed, caps[w] - spent[w] - others_now + earlier);
    ELSE
      free := least(free, caps[w] - spent[w] - others - coalesce(runs, 0));
      backed := least(backed, caps[w] - spent[w] - others);
    END IF;
    IF caps[w] <= spent[w] AND (used IS NULL OR ends[w] > ends[used]) THEN
      used := w;
    END IF;
  END LOOP;
END $$;

-- The part of what a node holds that was admitted before the hour. A node whose hour is behind counts all; one that knows none, or whose hour is ahead, nothing.
CREATE FUNCTION earlier_of(known BIGINT, own_hour BIGINT, held BIGINT, earlier BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN known IS NULL OR held IS NULL OR known > own_hour THEN 0 WHEN known = own_hour THEN earlier ELSE held END';

-- As `move_leases`, and beside that: `hours`: the newest hour that the node knows; `plans`: on which budgets hold for all keys of the account together, NULL: none, with
-- what runs of it and its caps; `…_held`, `…_earlier`: of each lease what requests hold, and the part of it that was admitted before that hour. NULL: the node knows of no budget.
-- `window_hour` NULL: no budget holds.
CREATE FUNCTION move_leases_6(
  own_lane BIGINT, own_boot BIGINT, own_epoch BIGINT,
  numbers BIGINT[], account_numbers BIGINT[], account_runs BIGINT[], key_numbers BIGINT[], key_runs BIGINT[], amounts BIGINT[],
  hours BIGINT[], plans TEXT[], plan_runs BIGINT[], hour_caps BIGINT[], day_caps BIGINT[], week_caps BIGINT[], month_caps BIGINT[],
  account_held BIGINT[], account_earlier BIGINT[], plan_held BIGINT[], plan_earlier BIGINT[], key_held BIGINT[], key_earlier BIGINT[]
) RETURNS TABLE (
  verdict TEXT, refused_by TEXT, account_backed BIGINT, account_has_more BIGINT, account_is_small BIGINT, plan_backed BIGINT, plan_has_more BIGINT, plan_is_small BIGINT,
  key_backed BIGINT, key_has_more BIGINT, key_is_small BIGINT, balance BIGINT, key_spent BIGINT, window_hour BIGINT, ledger_ms BIGINT, used_per TEXT, used_until BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
  live_nodes BIGINT;
  may_use BOOLEAN;
  is_late BOOLEAN;
  own_hour BIGINT;
  starts BIGINT[];
  ends BIGINT[];
  has_budgets BOOLEAN;
  of_account RECORD;
  account_view RECORD;
  account_caps BIGINT[];
  account_sums BIGINT[];
  account_before BIGINT;
  account_free NUMERIC;
  account_share NUMERIC;
  account_own BIGINT;
  of_plan RECORD;
  plan_view RECORD;
  plan_caps BIGINT[];
  plan_sums BIGINT[];
  plan_before BIGINT;
  plan_share NUMERIC;
  plan_own BIGINT;
  of_key RECORD;
  key_view RECORD;
  key_caps BIGINT[];
  key_sums BIGINT[];
  key_before BIGINT;
  key_limit BIGINT;
  key_left BIGINT;
  key_free NUMERIC;
  key_share NUMERIC;
  key_own BIGINT;
  has_key BOOLEAN;
  used INTEGER;
BEGIN
  PERFORM assert_node(own_lane, own_boot, own_epoch);
  PERFORM FROM accounts WHERE number = ANY (account_numbers) ORDER BY number FOR NO KEY UPDATE;
  PERFORM FROM keys WHERE number = ANY (key_numbers) ORDER BY number FOR NO KEY UPDATE;
  SELECT greatest(count(*), 1) INTO live_nodes FROM nodes WHERE lease_until > clock_ms();

  FOR i IN 1 .. cardinality(numbers) LOOP
    IF amounts[i] IS NULL THEN
      UPDATE leases l SET amount_picos = least(l.amount_picos, account_runs[i]), moved = numbers[i]
        WHERE l.account_number = account_numbers[i] AND l.lane = own_lane AND l.moved <= numbers[i] AND account_runs[i] IS NOT NULL;
      UPDATE plan_leases l SET amount_picos = least(l.amount_picos, plan_runs[i]), moved = numbers[i]
        WHERE l.account_number = account_numbers[i] AND l.plan = plans[i] AND l.lane = own_lane AND l.moved <= numbers[i] AND plan_runs[i] IS NOT NULL;
      UPDATE key_leases l SET amount_picos = least(l.amount_picos, key_runs[i]), moved = numbers[i]
        WHERE l.key_number = key_numbers[i] AND l.lane = own_lane AND l.moved <= numbers[i] AND key_runs[i] IS NOT NULL;
    END IF;

    SELECT a.balance_picos, a.is_active = 1 INTO balance, may_use FROM accounts a WHERE a.number = account_numbers[i];
    SELECT k.limit_picos, k.spent_picos, may_use AND k.is_active = 1 INTO key_limit, key_spent, may_use FROM keys k WHERE k.number = key_numbers[i];
    ledger_ms := clock_ms();
    -- A clock that goes back, as after a failover, does not open an earlier window again.
    SELECT greatest(ledger_ms / 3600000, max(l.hour)) INTO own_hour FROM leases l WHERE l.account_number = account_numbers[i];

    SELECT coalesce(sum(l.amount_picos) FILTER (WHERE l.lane <> own_lane), 0) AS others,
      coalesce(sum(least(l.amount_picos, l.current_picos)) FILTER (WHERE l.lane <> own_lane AND l.hour >= own_hour), 0) AS others_now,
      coalesce(max(l.amount_picos) FILTER (WHERE l.lane = own_lane), 0) AS own, coalesce(max(l.moved) FILTER (WHERE l.lane = own_lane), 0) AS moved
      INTO of_account FROM leases l WHERE l.account_number = account_numbers[i];
    SELECT coalesce(sum(l.amount_picos) FILTER (WHERE l.lane <> own_lane), 0) AS others,
      coalesce(sum(least(l.amount_picos, l.current_picos)) FILTER (WHERE l.lane <> own_lane AND l.hour >= own_hour), 0) AS others_now,
      coalesce(max(l.amount_picos) FILTER (WHERE l.lane = own_lane), 0) AS own, coalesce(max(l.moved) FILTER (WHERE l.lane = own_lane), 0) AS moved
      INTO of_plan FROM plan_leases l WHERE l.account_number = account_numbers[i] AND l.plan = plans[i];
    SELECT coalesce(sum(l.amount_picos) FILTER (WHERE l.lane <> own_lane), 0) AS others,
      coalesce(sum(least(l.amount_picos, l.current_picos)) FILTER (WHERE l.lane <> own_lane AND l.hour >= own_hour), 0) AS others_now,
      coalesce(max(l.amount_picos) FILTER (WHERE l.lane = own_lane), 0) AS own, coalesce(max(l.moved) FILTER (WHERE l.lane = own_lane), 0) AS moved
      INTO of_key FROM key_leases l WHERE l.key_number = key_numbers[i];
    account_own := of_account.own;
    plan_own := of_plan.own;
    key_own := of_key.own;
    key_left := key_limit - key_spent;

    account_caps := NULL;
    plan_caps := NULL;
    key_caps := NULL;
    account_sums := NULL;
    plan_sums := NULL;
    key_sums := NULL;
    SELECT EXISTS (SELECT 1 FROM budgets b WHERE b.account_number = account_numbers[i]) INTO has_budgets;
    IF has_budgets OR plans[i] IS NOT NULL THEN
      starts := window_starts(own_hour);
      ends := window_ends(own_hour);
      IF has_budgets THEN
        account_caps := caps_of(account_numbers[i], 0);
        key_caps := caps_of(account_numbers[i], key_numbers[i]);
        account_sums := account_spent_in(account_numbers[i], NULL, starts, ends);
        key_sums := key_spent_in(key_numbers[i], starts, ends);
      END IF;
      IF plans[i] IS NOT NULL THEN
        plan_caps := ARRAY[hour_caps[i], day_caps[i], week_caps[i], month_caps[i]];
        plan_sums := account_spent_in(account_numbers[i], plans[i], starts, ends);
      END IF;
    END IF;
    account_before := earlier_of(hours[i], own_hour, account_held[i], account_earlier[i]);
    plan_before := earlier_of(hours[i], own_hour, plan_held[i], plan_earlier[i]);
    key_before := earlier_of(hours[i], own_hour, key_held[i], key_earlier[i]);
    account_view := window_view(own_hour, starts, ends, account_caps, account_sums, of_account.others, of_account.others_now, account_runs[i], account_before);
    plan_view := window_view(own_hour, starts, ends, plan_caps, plan_sums, of_plan.others, of_plan.others_now, plan_runs[i], plan_before);
    key_view := window_view(own_hour, starts, ends, key_caps, key_sums, of_key.others, of_key.others_now, key_runs[i], key_before);
    has_key := key_limit IS NOT NULL OR key_view.free IS NOT NULL;
    window_hour := CASE WHEN coalesce(account_view.free, plan_view.free, key_view.free) IS NOT NULL THEN own_hour END;

    refused_by := NULL;
    used_per := NULL;
    used_until := NULL;
    account_is_small := 0;
    plan_is_small := 0;
    key_is_small := 0;
    IF amounts[i] IS NULL THEN
      verdict := 'released';
    ELSE
      account_free := least(balance - of_account.others - account_runs[i], account_view.free);
      account_share := lease_share(account_free, amounts[i], live_nodes);
      account_is_small := CAST(account_share < amounts[i] AS INTEGER);
      plan_share := lease_share(plan_view.free, amounts[i], live_nodes);
      plan_is_small := CAST(coalesce(plan_share < amounts[i], false) AS INTEGER);
      key_free := least(key_left - of_key.others - key_runs[i], key_view.free);
      key_share := lease_share(key_free, amounts[i], live_nodes);
      key_is_small := CAST(coalesce(key_share < amounts[i], false) AS INTEGER);
      is_late := of_account.moved > numbers[i] OR (plans[i] IS NOT NULL AND of_plan.moved > numbers[i]) OR (has_key AND of_key.moved > numbers[i]);
      used := (SELECT w FROM unnest(ARRAY[account_view.used, plan_view.used, key_view.used]) AS w WHERE w IS NOT NULL ORDER BY ends[w] DESC LIMIT 1);
      verdict := CASE
        WHEN may_use IS NOT TRUE THEN 'disabled'
        WHEN balance <= 0 OR key_left <= 0 OR used IS NOT NULL THEN 'exhausted'
        WHEN NOT is_late AND account_free > 0 AND (plan_view.free IS NULL OR plan_view.free > 0) AND (NOT has_key OR key_free > 0) THEN 'granted'
        WHEN of_account.others > 0 OR (plans[i] IS NOT NULL AND of_plan.others > 0) OR (has_key AND of_key.others > 0) THEN 'wanted'
        ELSE 'reserved'
      END;
      IF verdict = 'exhausted' AND used IS NOT NULL AND balance > 0 AND (key_left IS NULL OR key_left > 0) THEN
        used_per := (ARRAY['hour', 'day', 'week', 'month'])[used];
        used_until := ends[used] * 3600000;
      END IF;

      IF verdict = 'granted' THEN
        account_own := account_own + leased_more(account_own, account_runs[i], amounts[i], account_share);
        INSERT INTO leases AS l (account_number, lane, amount_picos, moved, hour, current_picos)
          VALUES (account_numbers[i], own_lane, account_own, numbers[i], own_hour, account_own - account_before)
          ON CONFLICT (account_number, lane) DO UPDATE
          SET amount_picos = excluded.amount_picos, moved = excluded.moved, hour = excluded.hour, current_picos = excluded.current_picos;
        IF plan_view.free IS NOT NULL THEN
          plan_own := plan_own + leased_more(plan_own, plan_runs[i], amounts[i], plan_share);
          INSERT INTO plan_leases AS l (account_number, plan, lane, amount_picos, moved, hour, current_picos)
            VALUES (account_numbers[i], plans[i], own_lane, plan_own, numbers[i], own_hour, plan_own - plan_before)
            ON CONFLICT (account_number, plan, lane) DO UPDATE
            SET amount_picos = excluded.amount_picos, moved = excluded.moved, hour = excluded.hour, current_picos = excluded.current_picos;
        END IF;
        IF has_key THEN
          key_own := key_own + leased_more(key_own, key_runs[i], amounts[i], key_share);
          INSERT INTO key_leases AS l (key_number, lane, amount_picos, moved, hour, current_picos)
            VALUES (key_numbers[i], own_lane, key_own, numbers[i], own_hour, key_own - key_before)
            ON CONFLICT (key_number, lane) DO UPDATE
            SET amount_picos = excluded.amount_picos, moved = excluded.moved, hour = excluded.hour, current_picos = excluded.current_picos;
        END IF;
      ELSE
        -- Whether an ask of another key of the account would hear the same.
        refused_by := CASE
          WHEN verdict = 'exhausted' AND (balance <= 0 OR account_view.used IS NOT NULL) OR verdict IN ('wanted', 'reserved') AND account_free <= 0 THEN 'account'
          ELSE 'key'
        END;
        -- The node hears of its rows, too, so that nothing older may change them any more.
        UPDATE leases l SET moved = numbers[i] WHERE l.account_number = account_numbers[i] AND l.lane = own_lane AND l.moved < numbers[i];
        UPDATE plan_leases l SET moved = numbers[i]
          WHERE l.account_number = account_numbers[i] AND l.plan = plans[i] AND l.lane = own_lane AND l.moved < numbers[i];
        UPDATE key_leases l SET moved = numbers[i] WHERE l.key_number = key_numbers[i] AND l.lane = own_lane AND l.moved < numbers[i];
      END IF;
      IF verdict = 'wanted' THEN
        PERFORM pg_notify('tollgate_ledger', CAST(json_build_array(1, json_build_object(
          'kind', 'giveBack', 'lane', own_lane, 'accountNumber', account_numbers[i], 'keyNumber', key_numbers[i])) AS TEXT));
      END IF;
    END IF;

    account_backed := least(account_own, balance - of_account.others, account_view.backed);
    account_has_more := CAST(account_backed < account_own AS INTEGER);
    plan_backed := CASE WHEN plan_view.free IS NULL THEN NULL ELSE least(plan_own, plan_view.backed) END;
    plan_has_more := CAST(plan_backed < plan_own AS INTEGER);
    key_backed := CASE WHEN has_key THEN least(key_own, key_left - of_key.others, key_view.backed) ELSE 0 END;
    key_has_more := CAST(has_key AND key_backed < key_own AS INTEGER);
    RETURN NEXT;
  END LOOP;
END $$;
