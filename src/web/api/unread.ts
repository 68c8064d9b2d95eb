/** The refusal for a page where the ledger's reader did not answer. Rules: ledger.md "Reads"; pages.md "Errors". */

import type { Unread } from '../../ledger/reading/reports.ts'
import { refuse } from './answers.ts'

export const refuseUnread = (unread: Unread): Response =>
  unread === 'tooMany'
    ? refuse(429, 'You asked for much at once. Try again in a moment', { retryAfterS: 1 })
    : refuse(503, 'This cannot be read at this moment. Try again', { retryAfterS: 1 })
