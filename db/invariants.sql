-- What must hold at any time and after any crash: every query returns no row. A row that one returns is (rule, subject, stored, high, low): `stored` is what the
-- table says, `high * 1000000 + low` what its parts add up to (`low` alone where it is text). Sums are kept in two limbs, because sum() of int64 picodollars
-- overflows at 9.2 million USD; the differences that are compared are small again.

SELECT 'an account''s credits are the sum of its top-ups' AS rule, a.id AS subject, a.credited_picos AS stored, coalesce(t.high, 0) AS high, coalesce(t.low, 0) AS low
FROM accounts a LEFT JOIN (SELECT account_id, sum(amount_picos / 1000000) AS high, sum(amount_picos % 1000000) AS low FROM top_ups GROUP BY account_id) t ON t.account_id = a.id
WHERE (coalesce(t.high, 0) - a.credited_picos / 1000000) * 1000000 + coalesce(t.low, 0) - a.credited_picos % 1000000 <> 0;

SELECT 'an account''s spend is the sum of its receipts' AS rule, a.id AS subject, a.spent_picos AS stored, coalesce(r.high, 0) AS high, coalesce(r.low, 0) AS low
FROM accounts a LEFT JOIN (SELECT account_id, sum(cost_picos / 1000000) AS high, sum(cost_picos % 1000000) AS low FROM receipts GROUP BY account_id) r ON r.account_id = a.id
WHERE (coalesce(r.high, 0) - a.spent_picos / 1000000) * 1000000 + coalesce(r.low, 0) - a.spent_picos % 1000000 <> 0;

SELECT 'an account''s balance is its credits less its spend' AS rule, id AS subject, balance_picos AS stored, 0 AS high, credited_picos - spent_picos AS low
FROM accounts WHERE balance_picos <> credited_picos - spent_picos;

SELECT 'an account''s held amount is the sum of its holds' AS rule, a.id AS subject, a.held_picos AS stored, coalesce(h.high, 0) AS high, coalesce(h.low, 0) AS low
FROM accounts a LEFT JOIN (SELECT account_id, sum(amount_picos / 1000000) AS high, sum(amount_picos % 1000000) AS low FROM holds GROUP BY account_id) h ON h.account_id = a.id
WHERE (coalesce(h.high, 0) - a.held_picos / 1000000) * 1000000 + coalesce(h.low, 0) - a.held_picos % 1000000 <> 0;

SELECT 'a key''s spend is the sum of its receipts' AS rule, k.id AS subject, k.spent_picos AS stored, coalesce(r.high, 0) AS high, coalesce(r.low, 0) AS low
FROM keys k LEFT JOIN (SELECT key_id, sum(cost_picos / 1000000) AS high, sum(cost_picos % 1000000) AS low FROM receipts GROUP BY key_id) r ON r.key_id = k.id
WHERE (coalesce(r.high, 0) - k.spent_picos / 1000000) * 1000000 + coalesce(r.low, 0) - k.spent_picos % 1000000 <> 0;

SELECT 'a key''s held amount is the sum of its holds' AS rule, k.id AS subject, k.held_picos AS stored, coalesce(h.high, 0) AS high, coalesce(h.low, 0) AS low
FROM keys k LEFT JOIN (SELECT key_id, sum(amount_picos / 1000000) AS high, sum(amount_picos % 1000000) AS low FROM holds GROUP BY key_id) h ON h.key_id = k.id
WHERE (coalesce(h.high, 0) - k.held_picos / 1000000) * 1000000 + coalesce(h.low, 0) - k.held_picos % 1000000 <> 0;

SELECT 'a receipt''s cost and waiver are its tokens at its rates' AS rule, request_id AS subject, cost_picos + waived_picos AS stored, 0 AS high,
  input_tokens * input_rate_picos + output_tokens * output_rate_picos + cache_read_tokens * cache_read_rate_picos
    + cache_write_5m_tokens * cache_write_5m_rate_picos + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos AS low
FROM receipts
WHERE cost_picos + waived_picos <> input_tokens * input_rate_picos + output_tokens * output_rate_picos + cache_read_tokens * cache_read_rate_picos
    + cache_write_5m_tokens * cache_write_5m_rate_picos + cache_write_1h_tokens * cache_write_1h_rate_picos + server_tool_uses * server_tool_use_rate_picos;

SELECT 'a request is in flight or settled, never both' AS rule, h.request_id AS subject, 1 AS stored, 0 AS high, 2 AS low
FROM holds h JOIN receipts r ON r.request_id = h.request_id;

SELECT 'a request belongs to its key''s account' AS rule, x.request_id AS subject, 1 AS stored, 0 AS high, 0 AS low
FROM (SELECT request_id, key_id, account_id FROM holds UNION ALL SELECT request_id, key_id, account_id FROM receipts) x
LEFT JOIN keys k ON k.id = x.key_id WHERE k.account_id IS NOT x.account_id;

SELECT 'a daily roll-up''s amounts are the sums of its receipts' AS rule, coalesce(u.key_id, r.key_id) || ' ' || coalesce(u.model_id, r.model_id) || ' day ' || coalesce(u.day, r.day) AS subject,
  coalesce(u.cost_picos + u.waived_picos, 0) AS stored, coalesce(r.cost_high + r.waived_high, 0) AS high, coalesce(r.cost_low + r.waived_low, 0) AS low
FROM usage_daily u FULL JOIN (
  SELECT account_id, key_id, settled_at / 86400000 AS day, model_id, sum(cost_picos / 1000000) AS cost_high, sum(cost_picos % 1000000) AS cost_low,
    sum(waived_picos / 1000000) AS waived_high, sum(waived_picos % 1000000) AS waived_low
  FROM receipts GROUP BY 1, 2, 3, 4
) r ON r.account_id = u.account_id AND r.key_id = u.key_id AND r.day = u.day AND r.model_id = u.model_id
WHERE u.key_id IS NULL OR r.key_id IS NULL
  OR (r.cost_high - u.cost_picos / 1000000) * 1000000 + r.cost_low - u.cost_picos % 1000000 <> 0
  OR (r.waived_high - u.waived_picos / 1000000) * 1000000 + r.waived_low - u.waived_picos % 1000000 <> 0;

SELECT 'a daily roll-up''s counts (requests, input, output, cache read, cache write 5m, 1h, tool uses) are the sums of its receipts' AS rule,
  coalesce(u.key_id, r.key_id) || ' ' || coalesce(u.model_id, r.model_id) || ' day ' || coalesce(u.day, r.day) AS subject,
  concat_ws(' ', u.requests, u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens, u.server_tool_uses) AS stored, 0 AS high,
  concat_ws(' ', r.requests, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_5m_tokens, r.cache_write_1h_tokens, r.server_tool_uses) AS low
FROM usage_daily u FULL JOIN (
  SELECT account_id, key_id, settled_at / 86400000 AS day, model_id, count(*) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
    sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_5m_tokens) AS cache_write_5m_tokens, sum(cache_write_1h_tokens) AS cache_write_1h_tokens,
    sum(server_tool_uses) AS server_tool_uses
  FROM receipts GROUP BY 1, 2, 3, 4
) r ON r.account_id = u.account_id AND r.key_id = u.key_id AND r.day = u.day AND r.model_id = u.model_id
WHERE (u.requests, u.input_tokens, u.output_tokens, u.cache_read_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens, u.server_tool_uses)
  IS NOT (r.requests, r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_5m_tokens, r.cache_write_1h_tokens, r.server_tool_uses);
