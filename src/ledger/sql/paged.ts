/** How far receipts have their rows in the page table; the writer that fills it and the readers of pages use the same expression. Rules: ledger.md "Pages". */

/** The number of the last receipt that has its row. */
export const PAGED_TO = "(SELECT CAST(value AS BIGINT) FROM meta WHERE name = 'paged')"
