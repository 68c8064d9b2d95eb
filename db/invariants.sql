-- What must hold at any time and after any crash: every query returns no row. A row that one returns is (rule, subject, stored, high, low): `stored` is what the
-- table says, `high * 1000000 + low` what its parts add up to (`low` alone where it is text). Sums are kept in two limbs, because sum() of int64 picodollars
-- overflows at 9.2 million USD; the differences that are compared are small again.

SELECT 'an account''s credits are the sum of its top-ups, refunds and corrections' AS rule, a.id AS subject, a.credited_picos AS stored, coalesce(t.high, 0) AS high, coalesce(t.low, 0) AS low
FROM accounts a LEFT JOIN (SELECT account_number, sum(amount_picos / 1000000) AS high, sum(amount_picos % 1000000) AS low FROM credits GROUP BY account_number) t ON t.account_number = a.number
WHERE (coalesce(t.high, 0) - a.credited_picos / 1000000) * 1000000 + coalesce(t.low, 0) - a.credited_picos % 1000000 <> 0;

SELECT 'an account''s spend is the sum of its receipts' AS rule, a.id AS subject, a.spent_picos AS stored, coalesce(r.high, 0) AS high, coalesce(r.low, 0) AS low
FROM accounts a LEFT JOIN (SELECT account_number, sum(cost_picos / 1000000) AS high, sum(cost_picos % 1000000) AS low FROM receipts GROUP BY account_number) r ON r.account_number = a.number
WHERE (coalesce(r.high, 0) - a.spent_picos / 1000000) * 1000000 + coalesce(r.low, 0) - a.spent_picos % 1000000 <> 0;

SELECT 'an account''s balance is its credits less its spend' AS rule, id AS subject, balance_picos AS stored, 0 AS high, credited_picos - spent_picos AS low
FROM accounts WHERE balance_picos <> credited_picos - spent_picos;

WITH sums AS MATERIALIZED (SELECT key_number, sum(cost_picos / 1000000) AS high, sum(cost_picos % 1000000) AS low, max(settled_at) AS last FROM receipts GROUP BY key_number)
SELECT 'a key''s spend is the sum of its receipts' AS rule, k.id AS subject, k.spent_picos AS stored, coalesce(r.high, 0) AS high, coalesce(r.low, 0) AS low
FROM keys k LEFT JOIN sums r ON r.key_number = k.number
WHERE (coalesce(r.high, 0) - k.spent_picos / 1000000) * 1000000 + coalesce(r.low, 0) - k.spent_picos % 1000000 <> 0
UNION ALL
SELECT 'a key''s last use is its newest settle', k.id, coalesce(k.last_used_at, 'never'), 0, coalesce(r.last, 'never')
FROM keys k LEFT JOIN sums r ON r.key_number = k.number WHERE k.last_used_at IS NOT r.last;

SELECT 'a receipt''s cost and waiver are its tokens at its rates' AS rule, request_id AS subject, cost_picos + waived_picos AS stored, 0 AS high, price AS low
FROM (
  SELECT request_id, cost_picos, waived_picos, input_tokens * input_rate_picos + output_tokens * output_rate_picos + cache_read_tokens * cache_read_rate_picos
    + cache_write_5m_tokens * cache_write_5m_rate_picos + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos AS price
  FROM receipts r LEFT JOIN price_versions p ON p.number = r.price_number
)
WHERE cost_picos + waived_picos IS NOT price;

SELECT 'what is charged is not waived' AS rule, request_id AS subject, waived_picos AS stored, 0 AS high, 0 AS low
FROM receipts WHERE waived_picos <> 0 AND (cost_picos <> 0 OR outcome NOT IN ('fault', 'drain', 'recovered'));

SELECT 'what is waived is not charged' AS rule, request_id || ' ' || outcome AS subject, cost_picos AS stored, 0 AS high, 0 AS low
FROM receipts WHERE cost_picos <> 0 AND outcome IN ('fault', 'drain', 'recovered');

SELECT 'a request is in flight or settled, never both' AS rule, m.request_id AS subject, 1 AS stored, 0 AS high, 2 AS low
FROM marks m JOIN receipts r ON r.request_id = m.request_id;

SELECT 'a request belongs to its key''s account' AS rule, x.request_id AS subject, 1 AS stored, 0 AS high, 0 AS low
FROM (SELECT request_id, key_number, account_number FROM receipts UNION ALL SELECT request_id, key_number, account_number FROM attempts) x
LEFT JOIN keys k ON k.number = x.key_number WHERE k.account_number IS NOT x.account_number;

SELECT 'an attempt''s price is its tokens at its rates' AS rule, request_id || ' ' || attempt AS subject, price_picos AS stored, 0 AS high, price AS low
FROM (
  SELECT request_id, attempt, price_picos, input_tokens * input_rate_picos + output_tokens * output_rate_picos + cache_read_tokens * cache_read_rate_picos
    + cache_write_5m_tokens * cache_write_5m_rate_picos + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos AS price
  FROM attempts a LEFT JOIN price_versions p ON p.number = a.price_number
)
WHERE price_picos IS NOT price;

SELECT 'a receipt is found by its key and time' AS rule, r.request_id AS subject, 0 AS stored, 0 AS high, 1 AS low
FROM receipts r LEFT JOIN receipt_pages p ON p.key_number = r.key_number AND p.settled_at = r.settled_at AND p.receipt_number = r.number
WHERE r.number <= (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'paged') AND p.key_number IS NULL;

SELECT 'what is found by key and time is a receipt' AS rule, 'receipt ' || p.receipt_number AS subject, 1 AS stored, 0 AS high, 0 AS low
FROM receipt_pages p LEFT JOIN receipts r ON r.number = p.receipt_number
WHERE r.key_number IS NOT p.key_number OR r.settled_at IS NOT p.settled_at OR p.receipt_number > (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'paged');

SELECT 'the mark of the page table is the number of a receipt' AS rule, 'paged' AS subject, coalesce(m.paged, 'none') AS stored, 0 AS high, r.last AS low
FROM (SELECT (SELECT value FROM meta WHERE name = 'paged') AS paged) m, (SELECT coalesce(max(number), 0) AS last FROM receipts) r
WHERE m.paged IS NULL OR CAST(m.paged AS INTEGER) NOT BETWEEN 0 AND r.last;

SELECT 'what is held is held by the process that opened the file last' AS rule, m.request_id AS subject, b.id AS stored, 0 AS high, coalesce(p.value, 'none') AS low
FROM marks m JOIN boots b ON b.number = m.boot_number LEFT JOIN meta p ON p.name = 'boot' WHERE b.id IS NOT p.value;

SELECT 'the audit log has no gap' AS rule, 'audit_log, before ' || id AS subject, 0 AS stored, 0 AS high, id - before - 1 AS low
FROM (
  SELECT id, lag(id, 1, 0) OVER (ORDER BY id) AS before FROM audit_log
  UNION ALL SELECT seq + 1, (SELECT coalesce(max(id), 0) FROM audit_log) FROM sqlite_sequence WHERE name = 'audit_log'
)
WHERE id <> before + 1;

SELECT 'a credit has its line in the audit log' AS rule, coalesce(credit, 'audit_log') AS subject,
  iif(count(ours) = 0, 'none', max(ours)) AS stored, 0 AS high, iif(count(line) = 1, max(line), count(line) || ' lines') AS low
FROM (
  SELECT c.id AS credit, NULL AS line, concat_ws(' ', a.id, kind,
    rtrim(rtrim(printf('%s%d.%012d', iif(amount_picos < 0, '-', ''), abs(amount_picos) / 1000000000000, abs(amount_picos) % 1000000000000), '0'), '.'),
    c.created_at, actor, json_array(ref, reason)) AS ours
  FROM credits c LEFT JOIN accounts a ON a.number = account_number
  UNION ALL
  SELECT after ->> 'creditId', concat_ws(' ', target, after ->> 'kind', after ->> 'usd', at, actor, json_array(after ->> 'ref', reason)), NULL
  FROM audit_log WHERE action = 'credit'
)
GROUP BY credit HAVING count(ours) <> 1 OR count(line) <> 1 OR max(ours) IS NOT max(line);

SELECT 'a code that was redeemed and its credit are one' AS rule, ref AS subject,
  iif(count(code) = 0, 'none', max(code)) AS stored, 0 AS high, iif(count(credit) = 0, 'none', max(credit)) AS low
FROM (
  SELECT concat('code:', b.id, '-', place) AS ref, concat_ws(' ', credit_id, account_number, 'top-up', amount_picos, redeemed_at) AS code, NULL AS credit
  FROM codes LEFT JOIN code_batches b ON b.number = batch_number WHERE credit_id IS NOT NULL
  UNION ALL
  SELECT ref, NULL, concat_ws(' ', id, account_number, kind, amount_picos, created_at) FROM credits WHERE ref >= 'code:' AND ref < 'code;'
)
GROUP BY ref HAVING count(code) <> 1 OR count(credit) <> 1 OR max(code) IS NOT max(credit);

-- A day of a key and price as the roll-up has it and as its receipts have it are two rows of one group: a FULL JOIN of the two compares each with each.
WITH sides AS (
  SELECT key_number, day, model_number, price_number, 1 AS is_stored, cost_picos / 1000000 AS cost_high, cost_picos % 1000000 AS cost_low, waived_picos / 1000000 AS waived_high,
    waived_picos % 1000000 AS waived_low, estimated_picos / 1000000 AS estimated_high, estimated_picos % 1000000 AS estimated_low,
    concat_ws(' ', requests, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, server_tool_uses) AS counts
  FROM usage_daily
  UNION ALL
  SELECT key_number, day, model_number, price_number, 0, sum(cost_picos / 1000000), sum(cost_picos % 1000000), sum(waived_picos / 1000000), sum(waived_picos % 1000000),
    sum(iif(basis = 'estimated', cost_picos / 1000000, 0)), sum(iif(basis = 'estimated', cost_picos % 1000000, 0)),
    concat_ws(' ', count(*), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_5m_tokens), sum(cache_write_1h_tokens), sum(server_tool_uses))
  FROM receipts JOIN price_versions ON price_versions.number = price_number GROUP BY 1, 2, 3, 4
),
days AS MATERIALIZED (
  SELECT key_number, day, model_number, price_number,
    sum(iif(is_stored, -cost_high, cost_high)) * 1000000 + sum(iif(is_stored, -cost_low, cost_low)) AS cost_off,
    sum(iif(is_stored, -waived_high, waived_high)) * 1000000 + sum(iif(is_stored, -waived_low, waived_low)) AS waived_off,
    sum(iif(is_stored, -estimated_high, estimated_high)) * 1000000 + sum(iif(is_stored, -estimated_low, estimated_low)) AS estimated_off,
    sum(iif(is_stored, (cost_high + waived_high) * 1000000 + cost_low + waived_low, 0)) AS stored,
    sum(iif(is_stored, estimated_high * 1000000 + estimated_low, 0)) AS estimated_stored,
    sum(iif(is_stored, 0, estimated_high)) AS estimated_high, sum(iif(is_stored, 0, estimated_low)) AS estimated_low,
    sum(iif(is_stored, 0, cost_high + waived_high)) AS high, sum(iif(is_stored, 0, cost_low + waived_low)) AS low,
    coalesce(max(iif(is_stored, counts, NULL)), '') AS counts_stored, coalesce(max(iif(is_stored, NULL, counts)), '') AS counts
  FROM sides GROUP BY key_number, day, model_number, price_number
)
SELECT rule, coalesce(k.id, x.key_number) || ' ' || coalesce(m.id, x.model_number) || ' day ' || x.day AS subject, stored, high, low
FROM (
  SELECT 'a daily roll-up''s amounts are the sums of its receipts' AS rule, key_number, day, model_number, stored, high, low
  FROM days WHERE cost_off <> 0 OR waived_off <> 0
  UNION ALL
  SELECT 'a daily roll-up''s estimated part is the sum of its estimated receipts', key_number, day, model_number, estimated_stored, estimated_high, estimated_low
  FROM days WHERE estimated_off <> 0
  UNION ALL
  SELECT 'a daily roll-up''s counts (requests, input, output, cache read, cache write 5m, 1h, tool uses) are the sums of its receipts',
    key_number, day, model_number, counts_stored, 0, counts
  FROM days WHERE counts IS NOT counts_stored
) x LEFT JOIN keys k ON k.number = x.key_number LEFT JOIN models m ON m.number = x.model_number;
