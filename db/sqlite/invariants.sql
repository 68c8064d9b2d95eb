-- What only a ledger in a SQLite file can break, beside invariants.sql, which says what the columns are.

SELECT 'a receipt is found by its key and time' AS rule, r.request_id AS subject, 0 AS stored, 0 AS high, 1 AS low
FROM receipts r LEFT JOIN receipt_pages p ON p.key_number = r.key_number AND p.settled_at = r.settled_at AND p.receipt_number = r.number
WHERE r.number <= (SELECT CAST(value AS BIGINT) FROM meta WHERE name = 'paged') AND p.key_number IS NULL;

SELECT 'what is found by key and time is a receipt' AS rule, 'receipt ' || p.receipt_number AS subject, 1 AS stored, 0 AS high, 0 AS low
FROM receipt_pages p LEFT JOIN receipts r ON r.number = p.receipt_number
WHERE r.key_number IS NOT p.key_number OR r.settled_at IS NOT p.settled_at OR p.receipt_number > (SELECT CAST(value AS BIGINT) FROM meta WHERE name = 'paged');

SELECT 'the mark of the page table is the number of a receipt' AS rule, 'paged' AS subject, coalesce(m.paged, 'none') AS stored, 0 AS high, r.last AS low
FROM (SELECT (SELECT value FROM meta WHERE name = 'paged') AS paged) m, (SELECT coalesce(max(number), 0) AS last FROM receipts) r
WHERE m.paged IS NULL OR CAST(m.paged AS INTEGER) NOT BETWEEN 0 AND r.last;

-- A relay of that process may have been there before it, and names itself as one (processes.md "Relays").
SELECT 'what is held is held by the process that opened the file last' AS rule, m.request_id AS subject, b.id AS stored, 0 AS high, coalesce(p.value, 'none') AS low
FROM marks m JOIN boots b ON b.number = m.boot_number LEFT JOIN meta p ON p.name = 'boot' WHERE b.id IS NOT p.value AND b.node <> 'relay';

SELECT 'the audit log has no gap' AS rule, 'audit_log, before ' || id AS subject, 0 AS stored, 0 AS high, id - before - 1 AS low
FROM (
  SELECT id, lag(id, 1, 0) OVER (ORDER BY id) AS before FROM audit_log
  UNION ALL SELECT seq + 1, (SELECT coalesce(max(id), 0) FROM audit_log) FROM sqlite_sequence WHERE name = 'audit_log'
)
WHERE id <> before + 1;
