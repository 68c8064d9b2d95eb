/** The triggers that guard the rows of the ledger's tables. */

/** The table that each trigger guards, by the trigger's name. They are listed here because drizzle has no triggers. */
export const TRIGGERS: Readonly<Record<string, string>> = {
  receipts_exact_price: 'receipts',
  marks_not_settled: 'marks',
  codes_only_redeemed: 'codes',
  codes_in_time: 'codes',
  codes_no_delete: 'codes',
  code_batches_only_disabled: 'code_batches',
  code_batches_no_delete: 'code_batches',
  accounts_no_delete: 'accounts',
  keys_no_delete: 'keys',
  api_tokens_only_revoked: 'api_tokens',
  api_tokens_no_delete: 'api_tokens',
  ...Object.fromEntries(
    ['receipts', 'attempts', 'credits', 'price_versions', 'models', 'upstreams', 'boots', 'audit_log', 'imported_keys'].flatMap((table) => [
      [`${table}_no_update`, table],
      [`${table}_no_delete`, table],
    ]),
  ),
}
