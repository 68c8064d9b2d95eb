-- What must hold in any ledger at any time and after any crash: every query returns no row. A row that one returns is (rule, subject, stored, high, low, told): `stored`
-- is what the table says; its parts add up to `high * 1000000 + low`, or to `told` where it has one and that is not null, or to `low` alone where it is text. Sums are kept
-- in two limbs, because sum() of int64 picodollars overflows at 9.2 million USD; the differences that are compared are small again. What only one kind of
-- store can break stands in sqlite/invariants.sql and postgres/invariants.sql.

SELECT 'an account''s credits are the sum of its top-ups, refunds and corrections' AS rule, a.id AS subject, a.credited_picos AS stored, coalesce(t.high, 0) AS high, coalesce(t.low, 0) AS low
FROM accounts a LEFT JOIN (SELECT account_number, CAST(sum(amount_picos / 1000000) AS BIGINT) AS high, CAST(sum(amount_picos % 1000000) AS BIGINT) AS low FROM credits GROUP BY account_number) t ON t.account_number = a.number
WHERE (coalesce(t.high, 0) - a.credited_picos / 1000000) * 1000000 + coalesce(t.low, 0) - a.credited_picos % 1000000 <> 0;

SELECT 'an account''s spend is the sum of its receipts' AS rule, a.id AS subject, a.spent_picos AS stored, coalesce(r.high, 0) AS high, coalesce(r.low, 0) AS low
FROM accounts a LEFT JOIN (SELECT account_number, CAST(sum(cost_picos / 1000000) AS BIGINT) AS high, CAST(sum(cost_picos % 1000000) AS BIGINT) AS low FROM receipts GROUP BY account_number) r ON r.account_number = a.number
WHERE (coalesce(r.high, 0) - a.spent_picos / 1000000) * 1000000 + coalesce(r.low, 0) - a.spent_picos % 1000000 <> 0;

SELECT 'an account''s balance is its credits less its spend' AS rule, id AS subject, balance_picos AS stored, 0 AS high, credited_picos - spent_picos AS low
FROM accounts WHERE balance_picos <> credited_picos - spent_picos;

WITH sums AS MATERIALIZED (SELECT key_number, CAST(sum(cost_picos / 1000000) AS BIGINT) AS high, CAST(sum(cost_picos % 1000000) AS BIGINT) AS low, max(settled_at) AS last FROM receipts GROUP BY key_number)
SELECT 'a key''s spend is the sum of its receipts' AS rule, k.id AS subject, CAST(k.spent_picos AS TEXT) AS stored, coalesce(r.high, 0) AS high, coalesce(r.low, 0) AS low, CAST(NULL AS TEXT) AS told
FROM keys k LEFT JOIN sums r ON r.key_number = k.number
WHERE (coalesce(r.high, 0) - k.spent_picos / 1000000) * 1000000 + coalesce(r.low, 0) - k.spent_picos % 1000000 <> 0
UNION ALL
SELECT 'a key''s last use is its newest settle', k.id, coalesce(CAST(k.last_used_at AS TEXT), 'never'), 0, 0, coalesce(CAST(r.last AS TEXT), 'never')
FROM keys k LEFT JOIN sums r ON r.key_number = k.number WHERE k.last_used_at IS DISTINCT FROM r.last;

SELECT 'a receipt''s cost and waiver are its tokens at its rates' AS rule, request_id AS subject, cost_picos + waived_picos AS stored, 0 AS high, price AS low
FROM (
  SELECT request_id, cost_picos, waived_picos, input_tokens * input_rate_picos + output_tokens * output_rate_picos + cache_read_tokens * cache_read_rate_picos
    + cache_write_5m_tokens * cache_write_5m_rate_picos + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos AS price
  FROM receipts r LEFT JOIN price_versions p ON p.number = r.price_number
) priced
WHERE cost_picos + waived_picos IS DISTINCT FROM price;

SELECT 'a receipt''s price level is one that its prompt is above' AS rule, request_id AS subject, above_prompt_tokens AS stored, 0 AS high, prompt AS low
FROM (
  SELECT request_id, above_prompt_tokens, input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens AS prompt
  FROM receipts r JOIN price_versions p ON p.number = r.price_number WHERE p.above_prompt_tokens > 0
) levelled
WHERE prompt <= above_prompt_tokens;

-- Rounded half to even: `whole` is the price with the factor, `parts` the millionths that are left.
SELECT 'a call''s cost at its upstream is its tokens at its version' AS rule, subject, CAST(coalesce(stored, -1) AS TEXT) AS stored, 0 AS high, 0 AS low,
  CAST(coalesce(whole + CASE WHEN parts * 2 > 1000000 OR (parts * 2 = 1000000 AND whole % 2 = 1) THEN 1 ELSE 0 END, -1) AS TEXT) AS told
FROM (
  SELECT subject, stored, price / 1000000 * factor_millionths + price % 1000000 * factor_millionths / 1000000 AS whole, price % 1000000 * factor_millionths % 1000000 AS parts
  FROM (
    SELECT subject, stored, factor_millionths, input_tokens * input_rate_picos + output_tokens * output_rate_picos + cache_read_tokens * cache_read_rate_picos
      + cache_write_5m_tokens * cache_write_5m_rate_picos + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos AS price
    FROM (
      SELECT request_id AS subject, upstream_cost_picos AS stored, upstream_cost_number AS version, input_tokens, output_tokens, cache_read_tokens,
        cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses
      FROM receipts WHERE upstream_cost_number IS NOT NULL OR upstream_cost_picos IS NOT NULL
      UNION ALL
      SELECT request_id || ' ' || attempt, upstream_cost_picos, upstream_cost_number, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
        cache_write_1h_tokens, server_tool_uses
      FROM attempts WHERE upstream_cost_number IS NOT NULL OR upstream_cost_picos IS NOT NULL
    ) calls LEFT JOIN price_versions p ON p.number = version
  ) priced
) costed
WHERE stored IS DISTINCT FROM whole + CASE WHEN parts * 2 > 1000000 OR (parts * 2 = 1000000 AND whole % 2 = 1) THEN 1 ELSE 0 END;

SELECT 'what is charged is not waived' AS rule, request_id AS subject, waived_picos AS stored, 0 AS high, 0 AS low
FROM receipts WHERE waived_picos <> 0 AND (cost_picos <> 0 OR outcome NOT IN ('fault', 'drain', 'recovered'));

SELECT 'what is waived is not charged' AS rule, request_id || ' ' || outcome AS subject, cost_picos AS stored, 0 AS high, 0 AS low
FROM receipts WHERE cost_picos <> 0 AND outcome IN ('fault', 'drain', 'recovered');

SELECT 'a request is in flight or settled, never both' AS rule, m.request_id AS subject, 1 AS stored, 0 AS high, 2 AS low
FROM marks m JOIN receipts r ON r.request_id = m.request_id;

SELECT 'a request belongs to its key''s account' AS rule, x.request_id AS subject, 1 AS stored, 0 AS high, 0 AS low
FROM (SELECT request_id, key_number, account_number FROM receipts UNION ALL SELECT request_id, key_number, account_number FROM attempts) x
LEFT JOIN keys k ON k.number = x.key_number WHERE k.account_number IS DISTINCT FROM x.account_number;

SELECT 'an attempt''s price is its tokens at its rates' AS rule, request_id || ' ' || attempt AS subject, price_picos AS stored, 0 AS high, price AS low
FROM (
  SELECT request_id, attempt, price_picos, input_tokens * input_rate_picos + output_tokens * output_rate_picos + cache_read_tokens * cache_read_rate_picos
    + cache_write_5m_tokens * cache_write_5m_rate_picos + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos AS price
  FROM attempts a LEFT JOIN price_versions p ON p.number = a.price_number
) priced
WHERE price_picos IS DISTINCT FROM price;

SELECT 'a credit has its line in the audit log' AS rule, coalesce(credit, 'audit_log') AS subject,
  coalesce(max(ours), 'none') AS stored, 0 AS high, CASE WHEN count(line) = 1 THEN max(line) ELSE count(line) || ' lines' END AS low
FROM (
  SELECT c.id AS credit, CAST(NULL AS TEXT) AS line, concat_ws(' ', a.id, kind, rtrim(rtrim(CASE WHEN amount_picos < 0 THEN '-' ELSE '' END
    || (abs(amount_picos) / 1000000000000) || '.' || substr(CAST(1000000000000 + abs(amount_picos) % 1000000000000 AS TEXT), 2), '0'), '.'),
    c.created_at, length(actor), actor, length(ref), ref, reason) AS ours
  FROM credits c LEFT JOIN accounts a ON a.number = account_number
  UNION ALL
  SELECT json_extract(after, '$.creditId'), concat_ws(' ', target, json_extract(after, '$.kind'), json_extract(after, '$.usd'), at, length(actor), actor,
    length(json_extract(after, '$.ref')), json_extract(after, '$.ref'), reason), NULL
  FROM audit_log WHERE action = 'credit'
) sides
GROUP BY credit HAVING count(line) <> 1 OR max(ours) IS DISTINCT FROM max(line);

SELECT 'a code that was redeemed and its credit are one' AS rule, ref AS subject,
  coalesce(max(code), 'none') AS stored, 0 AS high, CASE WHEN count(credit) < 2 THEN coalesce(max(credit), 'none') ELSE count(credit) || ' credits' END AS low
FROM (
  SELECT concat('code:', b.id, '-', place) AS ref, concat_ws(' ', credit_id, account_number, 'top-up', amount_picos, redeemed_at) AS code, CAST(NULL AS TEXT) AS credit
  FROM codes LEFT JOIN code_batches b ON b.number = batch_number WHERE credit_id IS NOT NULL
  UNION ALL
  SELECT ref, NULL, concat_ws(' ', id, account_number, kind, amount_picos, created_at) FROM credits WHERE ref >= 'code:' AND ref < 'code;'
) sides
GROUP BY ref HAVING count(credit) <> 1 OR max(code) IS DISTINCT FROM max(credit);

-- A day of a key and price as the roll-up has it and as its receipts have it are two rows of one group: a FULL JOIN of the two compares each with each.
WITH sides AS (
  SELECT key_number, day, model_number, price_number, 1 AS is_stored, cost_picos / 1000000 AS cost_high, cost_picos % 1000000 AS cost_low, waived_picos / 1000000 AS waived_high,
    waived_picos % 1000000 AS waived_low, estimated_picos / 1000000 AS estimated_high, estimated_picos % 1000000 AS estimated_low,
    concat_ws(' ', requests, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses) AS counts
  FROM usage_daily
  UNION ALL
  SELECT key_number, day, model_number, price_number, 0, sum(cost_picos / 1000000), sum(cost_picos % 1000000), sum(waived_picos / 1000000), sum(waived_picos % 1000000),
    sum(CASE WHEN basis = 'estimated' THEN cost_picos / 1000000 ELSE 0 END), sum(CASE WHEN basis = 'estimated' THEN cost_picos % 1000000 ELSE 0 END),
    concat_ws(' ', count(*), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens), sum(cache_write_1h_tokens), sum(server_tool_uses))
  FROM receipts JOIN price_versions ON price_versions.number = price_number GROUP BY 1, 2, 3, 4
),
days AS MATERIALIZED (
  SELECT key_number, day, model_number, price_number,
    sum((1 - 2 * is_stored) * cost_high) * 1000000 + sum((1 - 2 * is_stored) * cost_low) AS cost_off,
    sum((1 - 2 * is_stored) * waived_high) * 1000000 + sum((1 - 2 * is_stored) * waived_low) AS waived_off,
    sum((1 - 2 * is_stored) * estimated_high) * 1000000 + sum((1 - 2 * is_stored) * estimated_low) AS estimated_off,
    sum(is_stored * ((cost_high + waived_high) * 1000000 + cost_low + waived_low)) AS stored,
    sum(is_stored * (estimated_high * 1000000 + estimated_low)) AS estimated_stored,
    sum((1 - is_stored) * estimated_high) AS estimated_high, sum((1 - is_stored) * estimated_low) AS estimated_low,
    sum((1 - is_stored) * (cost_high + waived_high)) AS high, sum((1 - is_stored) * (cost_low + waived_low)) AS low,
    coalesce(max(CASE WHEN is_stored = 1 THEN counts END), '') AS counts_stored, coalesce(max(CASE WHEN is_stored = 0 THEN counts END), '') AS counts
  FROM sides GROUP BY key_number, day, model_number, price_number
)
SELECT rule, coalesce(k.id, CAST(x.key_number AS TEXT)) || ' ' || coalesce(m.id, CAST(x.model_number AS TEXT)) || ' day ' || x.day AS subject, stored,
  CAST(high AS BIGINT) AS high, CAST(low AS BIGINT) AS low, told
FROM (
  SELECT 'a daily roll-up''s amounts are the sums of its receipts' AS rule, key_number, day, model_number, CAST(stored AS TEXT) AS stored, high, low,
    CAST(NULL AS TEXT) AS told
  FROM days WHERE cost_off <> 0 OR waived_off <> 0
  UNION ALL
  SELECT 'a daily roll-up''s estimated part is the sum of its estimated receipts', key_number, day, model_number, CAST(estimated_stored AS TEXT), estimated_high,
    estimated_low, NULL
  FROM days WHERE estimated_off <> 0
  UNION ALL
  SELECT 'a daily roll-up''s counts (requests, input, output, cache read, cache write 5m, 1h, tool uses) are the sums of its receipts',
    key_number, day, model_number, counts_stored, 0, 0, counts
  FROM days WHERE counts <> counts_stored
) x LEFT JOIN keys k ON k.number = x.key_number LEFT JOIN models m ON m.number = x.model_number;

-- As above: the two sides of a day are rows of one group.
SELECT 'a day''s margin is the sum of its receipts and attempts' AS rule, coalesce(a.id, CAST(account_number AS TEXT)) || ' ' || coalesce(m.id, CAST(model_number AS TEXT)) || ' '
  || coalesce(u.name, CAST(upstream_number AS TEXT)) || ' day ' || day AS subject, stored, 0 AS high, 0 AS low, told
FROM (
  SELECT day, account_number, model_number, upstream_number, coalesce(max(CASE WHEN is_stored = 1 THEN sums END), 'none') AS stored,
    coalesce(max(CASE WHEN is_stored = 0 THEN sums END), 'none') AS told
  FROM (
    SELECT day, account_number, model_number, upstream_number, is_stored, concat_ws(' ', sum(requests), sum(calls),
      CAST(sum(cost_picos / 1000000) AS BIGINT) + CAST(sum(cost_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(cost_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(waived_picos / 1000000) AS BIGINT) + CAST(sum(waived_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(waived_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(upstream_cost_picos / 1000000) AS BIGINT) + CAST(sum(upstream_cost_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(upstream_cost_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(calls_cost_picos / 1000000) AS BIGINT) + CAST(sum(calls_cost_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(calls_cost_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(cache_lost_picos / 1000000) AS BIGINT) + CAST(sum(cache_lost_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(cache_lost_picos % 1000000) AS BIGINT) % 1000000) AS sums
    FROM (
      SELECT day, account_number, model_number, upstream_number, 1 AS is_stored, requests, calls, cost_picos, waived_picos, upstream_cost_picos, calls_cost_picos,
        cache_lost_picos
      FROM margin_daily
      UNION ALL
      SELECT day, account_number, model_number, upstream_number, 0, 1, 0, cost_picos, waived_picos, upstream_cost_picos, 0, coalesce(cache_lost_picos, 0)
      FROM receipts JOIN price_versions p ON p.number = upstream_cost_number
      UNION ALL
      SELECT started_at / 86400000, account_number, model_number, upstream_number, 0, 0, 1, 0, 0, 0, upstream_cost_picos, 0
      FROM attempts JOIN price_versions p ON p.number = upstream_cost_number
    ) sides GROUP BY day, account_number, model_number, upstream_number, is_stored
  ) sums GROUP BY day, account_number, model_number, upstream_number
) x LEFT JOIN accounts a ON a.number = account_number LEFT JOIN models m ON m.number = model_number LEFT JOIN upstreams u ON u.number = upstream_number
WHERE stored <> told;

-- A tag without a row of its own is in the row of '' of its key and day.
SELECT 'a roll-up of a tag is the sum of its receipts' AS rule, coalesce(k.id, CAST(key_number AS TEXT)) || ' ' || tag || ' day ' || day AS subject, stored, 0 AS high, 0 AS low, told
FROM (
  SELECT key_number, day, tag, model_number, price_number, coalesce(max(CASE WHEN is_stored = 1 THEN sums END), 'none') AS stored,
    coalesce(max(CASE WHEN is_stored = 0 THEN sums END), 'none') AS told
  FROM (
    SELECT key_number, day, tag, model_number, price_number, is_stored, concat_ws(' ', sum(requests), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
      sum(cache_write_5m_tokens), sum(cache_write_1h_tokens), sum(server_tool_uses),
      CAST(sum(cost_picos / 1000000) AS BIGINT) + CAST(sum(cost_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(cost_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(waived_picos / 1000000) AS BIGINT) + CAST(sum(waived_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(waived_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(estimated_picos / 1000000) AS BIGINT) + CAST(sum(estimated_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(estimated_picos % 1000000) AS BIGINT) % 1000000) AS sums
    FROM (
      SELECT key_number, day, tag, model_number, price_number, 1 AS is_stored, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
        cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, estimated_picos
      FROM usage_tags
      UNION ALL
      SELECT r.key_number, r.day, coalesce(t.tag, ''), model_number, r.price_number, 0, 1, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
        cache_write_1h_tokens, server_tool_uses, cost_picos, waived_picos, CASE WHEN basis = 'estimated' THEN cost_picos ELSE 0 END
      FROM receipts r JOIN price_versions p ON p.number = r.price_number
        LEFT JOIN (SELECT DISTINCT key_number, day, tag FROM usage_tags) t ON t.key_number = r.key_number AND t.day = r.day AND t.tag = r.tag
      WHERE r.tag IS NOT NULL
    ) sides GROUP BY key_number, day, tag, model_number, price_number, is_stored
  ) sums GROUP BY key_number, day, tag, model_number, price_number
) x LEFT JOIN keys k ON k.number = key_number
WHERE stored <> told;

SELECT 'a key has at most 200 tags a day in its roll-ups' AS rule, coalesce(k.id, CAST(key_number AS TEXT)) || ' day ' || day AS subject, tags AS stored, 0 AS high, 200 AS low
FROM (SELECT key_number, day, count(DISTINCT tag) AS tags FROM usage_tags WHERE tag <> '' GROUP BY key_number, day) t LEFT JOIN keys k ON k.number = key_number
WHERE tags > 200;

-- Receipts above the mark are in no row yet. A tag that shares a row in usage_tags shares one here.
SELECT 'a sum by hour is that of its receipts' AS rule,
  coalesce(k.id, CAST(key_number AS TEXT)) || ' hour ' || hour || ' price ' || price_number || ' ' || format || ' ' || outcome || ' ' || tag AS subject, stored, 0 AS high, 0 AS low, told
FROM (
  SELECT key_number, hour, price_number, upstream_number, format, outcome, tag, coalesce(max(CASE WHEN is_stored = 1 THEN sums END), 'none') AS stored, coalesce(max(CASE WHEN is_stored = 0 THEN sums END), 'none') AS told
  FROM (
    SELECT key_number, hour, price_number, upstream_number, format, outcome, tag, is_stored, concat_ws(' ', sum(requests), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens), sum(cache_write_1h_tokens), sum(server_tool_uses), sum(costed),
      CAST(sum(cost_picos / 1000000) AS BIGINT) + CAST(sum(cost_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(cost_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(waived_picos / 1000000) AS BIGINT) + CAST(sum(waived_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(waived_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(estimated_picos / 1000000) AS BIGINT) + CAST(sum(estimated_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(estimated_picos % 1000000) AS BIGINT) % 1000000,
      CAST(sum(upstream_cost_picos / 1000000) AS BIGINT) + CAST(sum(upstream_cost_picos % 1000000) AS BIGINT) / 1000000, CAST(sum(upstream_cost_picos % 1000000) AS BIGINT) % 1000000) AS sums
    FROM (
      SELECT key_number, hour, price_number, upstream_number, format, outcome, tag, 1 AS is_stored, requests, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses, costed,
        cost_picos, waived_picos, estimated_picos, upstream_cost_picos
      FROM spend_hours
      UNION ALL
      SELECT r.key_number, CASE WHEN r.day = settled_at / 86400000 THEN settled_at / 3600000 ELSE started_at / 3600000 END, price_number, coalesce(upstream_number, 0), format,
        outcome, CASE WHEN r.tag IS NULL THEN '(none)' ELSE coalesce(t.tag, '') END, 0, 1, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
        cache_write_1h_tokens, server_tool_uses, CASE WHEN upstream_cost_picos IS NULL THEN 0 ELSE 1 END,
        cost_picos, waived_picos, CASE WHEN basis = 'estimated' THEN cost_picos ELSE 0 END, coalesce(upstream_cost_picos, 0)
      FROM receipts r LEFT JOIN (SELECT DISTINCT key_number, day, tag FROM usage_tags) t ON t.key_number = r.key_number AND t.day = r.day AND t.tag = r.tag
      WHERE r.number <= (SELECT CAST(value AS BIGINT) FROM meta WHERE name = 'summed')
    ) sides GROUP BY key_number, hour, price_number, upstream_number, format, outcome, tag, is_stored
  ) both_sides GROUP BY key_number, hour, price_number, upstream_number, format, outcome, tag
) x LEFT JOIN keys k ON k.number = key_number
WHERE stored <> told;

SELECT 'the mark of the sums by hour is the number of a receipt, or lower' AS rule, 'summed' AS subject, coalesce(m.summed, 'none') AS stored, 0 AS high, r.last AS low
FROM (SELECT max(value) AS summed FROM meta WHERE name = 'summed') m, (SELECT coalesce(max(number), 0) AS last FROM receipts) r
WHERE m.summed IS NULL OR CAST(m.summed AS BIGINT) NOT BETWEEN 0 AND r.last;

-- Without it the next rule would compare nothing.
SELECT 'the first hour of which sums are whole is known' AS rule, 'hours_from' AS subject, 'none' AS stored, 0 AS high, 0 AS low
FROM (SELECT max(value) AS told FROM meta WHERE name = 'hours_from') m
WHERE m.told IS NULL;

-- Both sides of an hour are two rows of one group. Of an hour before `hours_from` the row is a part: what a clock that stepped back added to it.
WITH begun AS (SELECT CAST(value AS BIGINT) AS first_hour FROM meta WHERE name = 'hours_from'),
sides AS (
  SELECT key_number, hour, spent_picos / 1000000 AS stored_high, spent_picos % 1000000 AS stored_low, 0 AS high, 0 AS low
  FROM key_hours CROSS JOIN begun WHERE hour >= first_hour
  UNION ALL
  SELECT key_number, started_at / 3600000, 0, 0, CAST(sum(cost_picos / 1000000) AS BIGINT), CAST(sum(cost_picos % 1000000) AS BIGINT)
  FROM receipts CROSS JOIN begun WHERE started_at >= first_hour * 3600000 GROUP BY key_number, started_at / 3600000
),
hours AS (
  SELECT key_number, hour, sum(stored_high) * 1000000 + sum(stored_low) AS stored, sum(high) AS high, sum(low) AS low
  FROM sides GROUP BY key_number, hour
)
SELECT 'what a key spent in an hour is the sum of its receipts' AS rule, coalesce(k.id, CAST(h.key_number AS TEXT)) || ' hour ' || h.hour AS subject,
  CAST(h.stored AS TEXT) AS stored, CAST(h.high AS BIGINT) AS high, CAST(h.low AS BIGINT) AS low
FROM hours h LEFT JOIN keys k ON k.number = h.key_number WHERE h.stored <> h.high * 1000000 + h.low;

WITH sides AS (
  SELECT account_number, hour, plan, spent_picos / 1000000 AS stored_high, spent_picos % 1000000 AS stored_low, 0 AS high, 0 AS low FROM account_hours
  UNION ALL
  SELECT k.account_number, h.hour, k.plan, 0, 0, h.spent_picos / 1000000, h.spent_picos % 1000000 FROM key_hours h JOIN keys k ON k.number = h.key_number
),
hours AS (
  SELECT account_number, hour, plan, sum(stored_high) * 1000000 + sum(stored_low) AS stored, sum(high) AS high, sum(low) AS low
  FROM sides GROUP BY account_number, hour, plan
)
SELECT 'what an account spent in an hour is the sum of its keys of each plan' AS rule,
  coalesce(a.id, CAST(h.account_number AS TEXT)) || ' hour ' || h.hour || ' plan ' || h.plan AS subject,
  CAST(h.stored AS TEXT) AS stored, CAST(h.high AS BIGINT) AS high, CAST(h.low AS BIGINT) AS low
FROM hours h LEFT JOIN accounts a ON a.number = h.account_number WHERE h.stored <> h.high * 1000000 + h.low;
