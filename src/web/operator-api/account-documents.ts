/** Accounts, keys and credits as the operator's API shows them: exact amounts, ISO times. Rules: operator-api.md "Documents"; keys.md "Balance of a key". */

import { Type } from '@sinclair/typebox'
import { type Static, t } from 'elysia'
import type { Ledger } from '../../ledger/ledger.ts'
import type { AccountAtRest, ListedKey } from '../../ledger/reading/account-reports.ts'
import type { HeldSum } from '../../operator/held.ts'
import { accountDocument, creditDocument, listedAccount } from '../api/console-documents.ts'
import { keyDocument } from '../api/key-document.ts'
import { AT, AT_OR_NULL, EXACT, listOf, orNull } from './shapes.ts'

const LISTED_ACCOUNT = {
  id: t.String(),
  name: t.String({ description: '`""`: it has none' }),
  is_active: t.Boolean(),
  balance_usd: EXACT('credited less spent'),
  credited_usd: EXACT('the sum of its credits'),
  spent_usd: EXACT('what its keys were charged'),
  keys: Type.Integer({ description: 'Counted as far as `has_more_keys` says' }),
  has_more_keys: t.Boolean(),
  created_at: AT('when it was made'),
  topped_up_at: AT_OR_NULL('its last credit'),
}

export const ACCOUNT = t.Object(
  {
    ...LISTED_ACCOUNT,
    held_usd: EXACT('what requests in flight hold in the process that answers'),
    held_requests: Type.Integer(),
    plan: orNull(t.String(), 'The plan that new keys of its customers get; null: the default'),
    tags_user_ids: t.Boolean({ description: 'Whether requests without a tag are tagged by the id of the end user that they name' }),
    last_used_at: AT_OR_NULL('its newest settle'),
  },
  { title: 'Account', description: 'What keys are paid from' },
)
export const ACCOUNT_LIST = listOf(t.Object(LISTED_ACCOUNT, { title: 'ListedAccount', description: 'An account' }), 'AccountList')

const RATES = {
  requests_per_minute: orNull(t.Integer(), 'Requests'),
  input_tokens_per_minute: orNull(t.Integer(), 'Input tokens without cache reads'),
  output_tokens_per_minute: orNull(t.Integer(), 'Output tokens'),
  concurrent_requests: orNull(t.Integer(), 'Requests at once'),
}

const KEY_FIELDS = {
  id: t.String(),
  account_id: t.String(),
  account_name: t.String(),
  name: t.String(),
  display: t.String({ description: 'The end of its secret' }),
  plan: t.String(),
  state: t.String({ enum: ['live', 'disabled', 'expired'], description: 'Whether it may be used now' }),
  is_active: t.Boolean(),
  is_account_active: t.Boolean(),
  is_limit_used: t.Boolean(),
  limit_usd: orNull(t.String(), 'USD with all digits; null: no limit of its own'),
  rates: orNull(t.Object(RATES), 'Of its own, beside those of its plan'),
  spent_usd: EXACT('what it was charged'),
  running_requests: Type.Integer({ description: 'In the process that answers' }),
  created_at: AT('when it was made'),
  expires_at: AT_OR_NULL('its end; null: none'),
  last_used_at: AT_OR_NULL('its newest settle'),
  old_secret: orNull(
    t.Object({ display: t.String(), valid_until: AT('its end') }),
    'The secret before the last rotation, while it is valid',
  ),
}

export const KEY = t.Object(KEY_FIELDS, { title: 'Key', description: 'A key' })
export const KEY_LIST = listOf(KEY, 'KeyList')
export const KEY_WITH_SECRET = t.Object(
  {
    ...KEY_FIELDS,
    secret: orNull(t.String(), 'Shown this once; null in the answer to a repetition'),
    secret_shown: t.Boolean({ description: 'The first answer under this Idempotency-Key had the secret. If it was lost, rotate the key' }),
  },
  { title: 'KeyWithSecret', description: 'A key whose secret is shown once' },
)

export const CREDIT = t.Object(
  {
    id: t.String(),
    account_id: t.String(),
    account_name: t.String(),
    kind: t.String({ enum: ['top-up', 'refund', 'correction'] }),
    amount_usd: EXACT('negative where it was taken'),
    ref: t.String({ description: 'The payment’s reference; `""`: none' }),
    actor: t.String(),
    reason: t.String(),
    created_at: AT('when it was booked'),
  },
  { title: 'Credit', description: 'Money that came in or went out' },
)
export const CREDIT_LIST = listOf(CREDIT, 'CreditList')

export const CREDITED = t.Object(
  {
    credit_id: t.String(),
    account_id: t.String(),
    already: t.Boolean({ description: 'It was booked before, under the same reference or Idempotency-Key; nothing was done now' }),
    amount_usd: EXACT('negative where it was taken'),
    balance_usd: EXACT('the account’s balance now'),
  },
  { title: 'Credited', description: 'A credit, and the balance after it' },
)

export const accountOf = (account: AccountAtRest, held: HeldSum): Static<typeof ACCOUNT> => ({
  ...accountDocument(account, held),
  plan: account.plan,
  tags_user_ids: account.tagsUserIds,
})
export const listedAccountOf: (...of: Parameters<typeof listedAccount>) => Static<typeof ACCOUNT_LIST>['data'][number] = listedAccount
export const creditOf: (...of: Parameters<typeof creditDocument>) => Static<typeof CREDIT> = creditDocument

export const keyOf = (key: ListedKey, ledger: Ledger, running: number, now: number): Static<typeof KEY> => ({
  ...keyDocument(key, ledger, running, now),
  account_id: key.accountId,
  account_name: key.accountName,
})
