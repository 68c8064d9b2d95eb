-- What a node may spend of balances and limits without asking. Rules: ledger.md "Leases". The moves of a group are one statement. Accounts, then keys, are locked in
-- the order of their numbers, as everywhere.

-- What of the balance, or of what a limit leaves, is neither leased to others nor runs at the asking node, and how much more than the request may be leased with it.
CREATE FUNCTION lease_share(free NUMERIC, amount BIGINT, live_nodes BIGINT) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS
  'SELECT least(trunc((free - amount) / (4 * live_nodes)), 4096 * CAST(amount AS NUMERIC))';

-- Parameters are columns: a row a move, in the order in which they were sent. `amounts`: what a request holds; NULL: nothing is asked for, and the leases go down to
-- what `…_runs` says, where it says something. Returns a row for each of them, in their order.
CREATE FUNCTION move_leases(
  own_lane BIGINT, own_boot BIGINT, own_epoch BIGINT,
  numbers BIGINT[], account_numbers BIGINT[], account_runs BIGINT[], key_numbers BIGINT[], key_runs BIGINT[], amounts BIGINT[]
) RETURNS TABLE (
  verdict TEXT, refused_by TEXT, account_backed BIGINT, account_has_more BIGINT, account_is_small BIGINT, key_backed BIGINT, key_has_more BIGINT, key_is_small BIGINT,
  balance BIGINT, key_spent BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
  live_nodes BIGINT;
  may_use BOOLEAN;
  is_late BOOLEAN;
  account_own BIGINT;
  account_others NUMERIC;
  account_moved BIGINT;
  account_free NUMERIC;
  account_share NUMERIC;
  key_limit BIGINT;
  key_left BIGINT;
  key_own BIGINT;
  key_others NUMERIC;
  key_moved BIGINT;
  key_free NUMERIC;
  key_share NUMERIC;
BEGIN
  PERFORM assert_node(own_lane, own_boot, own_epoch);
  PERFORM FROM accounts WHERE number = ANY (account_numbers) ORDER BY number FOR NO KEY UPDATE;
  PERFORM FROM keys WHERE number = ANY (key_numbers) ORDER BY number FOR NO KEY UPDATE;
  SELECT greatest(count(*), 1) INTO live_nodes FROM nodes WHERE lease_until > clock_ms();

  FOR i IN 1 .. cardinality(numbers) LOOP
    IF amounts[i] IS NULL THEN
      UPDATE leases SET amount_picos = least(amount_picos, account_runs[i]), moved = numbers[i]
        WHERE account_number = account_numbers[i] AND lane = own_lane AND moved <= numbers[i] AND account_runs[i] IS NOT NULL;
      UPDATE key_leases SET amount_picos = least(amount_picos, key_runs[i]), moved = numbers[i]
        WHERE key_number = key_numbers[i] AND lane = own_lane AND moved <= numbers[i] AND key_runs[i] IS NOT NULL;
    END IF;

    SELECT accounts.balance_picos, accounts.is_active = 1 INTO balance, may_use FROM accounts WHERE number = account_numbers[i];
    SELECT limit_picos, spent_picos, may_use AND keys.is_active = 1 INTO key_limit, key_spent, may_use FROM keys WHERE number = key_numbers[i];
    SELECT coalesce(sum(amount_picos) FILTER (WHERE lane <> own_lane), 0), coalesce(max(amount_picos) FILTER (WHERE lane = own_lane), 0),
      coalesce(max(moved) FILTER (WHERE lane = own_lane), 0)
      INTO account_others, account_own, account_moved FROM leases WHERE account_number = account_numbers[i];
    key_left := key_limit - key_spent;
    SELECT coalesce(sum(amount_picos) FILTER (WHERE lane <> own_lane), 0), coalesce(max(amount_picos) FILTER (WHERE lane = own_lane), 0),
      coalesce(max(moved) FILTER (WHERE lane = own_lane), 0)
      INTO key_others, key_own, key_moved FROM key_leases WHERE key_number = key_numbers[i];

    refused_by := NULL;
    account_is_small := 0;
    key_is_small := 0;
    IF amounts[i] IS NULL THEN
      verdict := 'released';
    ELSE
      account_free := balance - account_others - account_runs[i];
      account_share := lease_share(account_free, amounts[i], live_nodes);
      account_is_small := CAST(account_share < amounts[i] AS INTEGER);
      key_free := key_left - key_others - key_runs[i];
      key_share := lease_share(key_free, amounts[i], live_nodes);
      key_is_small := CAST(coalesce(key_share < amounts[i], false) AS INTEGER);
      is_late := account_moved > numbers[i] OR (key_limit IS NOT NULL AND key_moved > numbers[i]);
      verdict := CASE
        WHEN may_use IS NOT TRUE THEN 'disabled'
        WHEN balance <= 0 OR key_left <= 0 THEN 'exhausted'
        WHEN NOT is_late AND account_free > 0 AND (key_limit IS NULL OR key_free > 0) THEN 'granted'
        WHEN account_others > 0 OR (key_limit IS NOT NULL AND key_others > 0) THEN 'wanted'
        ELSE 'reserved'
      END;

      IF verdict = 'granted' THEN
        account_own := account_own + leased_more(account_own, account_runs[i], amounts[i], account_share);
        INSERT INTO leases (account_number, lane, amount_picos, moved) VALUES (account_numbers[i], own_lane, account_own, numbers[i])
          ON CONFLICT (account_number, lane) DO UPDATE SET amount_picos = excluded.amount_picos, moved = excluded.moved;
        IF key_limit IS NOT NULL THEN
          key_own := key_own + leased_more(key_own, key_runs[i], amounts[i], key_share);
          INSERT INTO key_leases (key_number, lane, amount_picos, moved) VALUES (key_numbers[i], own_lane, key_own, numbers[i])
            ON CONFLICT (key_number, lane) DO UPDATE SET amount_picos = excluded.amount_picos, moved = excluded.moved;
        END IF;
      ELSE
        -- Whether an ask of another key of the account would hear the same.
        refused_by := CASE
          WHEN verdict = 'exhausted' AND balance <= 0 OR verdict IN ('wanted', 'reserved') AND account_free <= 0 THEN 'account'
          ELSE 'key'
        END;
        -- The node hears of its rows, too, so that nothing older may change them any more.
        UPDATE leases SET moved = numbers[i] WHERE account_number = account_numbers[i] AND lane = own_lane AND moved < numbers[i];
        UPDATE key_leases SET moved = numbers[i] WHERE key_number = key_numbers[i] AND lane = own_lane AND moved < numbers[i];
      END IF;
      IF verdict = 'wanted' THEN
        PERFORM pg_notify('tollgate_ledger', CAST(json_build_array(1, json_build_object(
          'kind', 'giveBack', 'lane', own_lane, 'accountNumber', account_numbers[i], 'keyNumber', key_numbers[i])) AS TEXT));
      END IF;
    END IF;

    account_backed := least(account_own, balance - account_others);
    account_has_more := CAST(account_backed < account_own AS INTEGER);
    key_backed := CASE WHEN key_limit IS NULL THEN 0 ELSE least(key_own, key_left - key_others) END;
    key_has_more := CAST(key_limit IS NOT NULL AND key_backed < key_own AS INTEGER);
    RETURN NEXT;
  END LOOP;
END $$;

-- By how much a lease must grow for a request beside what runs, and with it the share where there is one.
CREATE FUNCTION leased_more(own BIGINT, runs BIGINT, amount BIGINT, share NUMERIC) RETURNS NUMERIC LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN runs + amount <= own THEN 0 ELSE CAST(runs AS NUMERIC) + amount - own + CASE WHEN share >= amount THEN share ELSE 0 END END';
