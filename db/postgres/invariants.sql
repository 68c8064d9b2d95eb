-- What only a ledger on Postgres can break, beside ../invariants.sql, which says what the columns are.

-- To an insert of receipts this is a look once a statement, no foreign key.
SELECT 'every row has its parent' AS rule, 'receipts' AS subject, r.request_id AS stored, 0 AS high, 'an account, a key, a boot and an upstream' AS low
FROM receipts r LEFT JOIN accounts a ON a.number = r.account_number LEFT JOIN keys k ON k.number = r.key_number LEFT JOIN boots b ON b.number = r.boot_number
  LEFT JOIN upstreams u ON u.number = r.upstream_number
WHERE a.number IS NULL OR k.number IS NULL OR b.number IS NULL OR (r.upstream_number IS NOT NULL AND u.number IS NULL);

SELECT 'what is held is held by a node' AS rule, m.request_id AS subject, b.id AS stored, 0 AS high, 'the boot of a node' AS low
FROM marks m JOIN boots b ON b.number = m.boot_number LEFT JOIN nodes n ON n.boot_number = m.boot_number
WHERE n.lane IS NULL OR n.lease_until = 0;

SELECT 'what is leased is leased by a node' AS rule, what || ' ' || id || ', lane ' || l.lane AS subject, l.amount_picos AS stored, 0 AS high, 0 AS low
FROM (
  SELECT 'account' AS what, a.id, lane, amount_picos FROM leases JOIN accounts a ON a.number = account_number
  UNION ALL SELECT 'key', k.id, lane, amount_picos FROM key_leases JOIN keys k ON k.number = key_number
) l LEFT JOIN nodes n ON n.lane = l.lane
WHERE n.lane IS NULL OR n.lease_until = 0;

SELECT 'pages are of all receipts' AS rule, 'paged' AS subject, coalesce(max(value), 'none') AS stored, 0 AS high, '9007199254740991' AS low
FROM meta WHERE name = 'paged' HAVING coalesce(max(value), 'none') <> '9007199254740991';

SELECT 'the audit log has no gap' AS rule, 'audit_log, before ' || id AS subject, 0 AS stored, 0 AS high, id - before - 1 AS low
FROM (
  SELECT id, lag(id, 1, CAST(0 AS BIGINT)) OVER (ORDER BY id) AS before FROM audit_log
  UNION ALL SELECT CAST(value AS BIGINT) + 1, (SELECT coalesce(max(id), 0) FROM audit_log) FROM meta WHERE name = 'audited'
) lines
WHERE id <> before + 1;
