/**
 * Requests of a key or an account as CSV, one page of the ledger at a time and no faster than the client takes the pages. Each page is a read of its own, so a slow
 * download keeps no transaction open. Rules: requests.md "Usage"; ledger.md "Reads".
 */

import { type Cell, csvLine } from '../core/csv.ts'
import type { AccountReceipt } from '../ledger/reading/account-reports.ts'
import type { Unread } from '../ledger/reading/reports.ts'
import { requestDocument } from './usage-documents.ts'

type Document = ReturnType<typeof requestDocument>

const COLUMNS: readonly Readonly<{ name: string; of: (request: Document) => Cell }>[] = [
  { name: 'request_id', of: ({ request_id }) => request_id },
  { name: 'started_at', of: ({ started_at }) => started_at },
  { name: 'settled_at', of: ({ settled_at }) => settled_at },
  { name: 'model', of: ({ model }) => model },
  { name: 'format', of: ({ format }) => format },
  { name: 'stream', of: ({ stream }) => stream },
  { name: 'outcome', of: ({ outcome }) => outcome },
  { name: 'status', of: ({ status }) => status },
  { name: 'basis', of: ({ basis }) => basis },
  { name: 'attempts', of: ({ attempts }) => attempts },
  { name: 'input_tokens', of: ({ usage }) => usage.input_tokens },
  { name: 'output_tokens', of: ({ usage }) => usage.output_tokens },
  { name: 'cache_read_input_tokens', of: ({ usage }) => usage.cache_read_input_tokens },
  { name: 'ephemeral_5m_input_tokens', of: ({ usage }) => usage.cache_creation.ephemeral_5m_input_tokens },
  { name: 'ephemeral_1h_input_tokens', of: ({ usage }) => usage.cache_creation.ephemeral_1h_input_tokens },
  { name: 'server_tool_uses', of: ({ usage }) => usage.server_tool_uses },
  { name: 'cost_usd', of: ({ cost_usd }) => cost_usd },
  { name: 'cost_usd_exact', of: ({ cost_usd_exact }) => cost_usd_exact },
  { name: 'waived_usd', of: ({ waived_usd }) => waived_usd },
  { name: 'waived_usd_exact', of: ({ waived_usd_exact }) => waived_usd_exact },
  { name: 'not_charged', of: ({ not_charged }) => not_charged },
  { name: 'first_byte_ms', of: ({ first_byte_ms }) => first_byte_ms },
  { name: 'duration_ms', of: ({ duration_ms }) => duration_ms },
  { name: 'tag', of: ({ tag }) => tag },
]

/** Columns that only some files have, after the others. */
export type MoreColumn = Readonly<{ name: string; of: (receipt: AccountReceipt) => Cell }>

/** A download tries so often, at this distance, to get its turn before it breaks off. */
const PAUSE_MS = 100
const PAUSES_MAX = 100

type Page = Readonly<{ rows: readonly AccountReceipt[]; next: string | null }>
type Next = (after: string) => Promise<Page | Unread>

/** Streams `first` and the pages after it. A page that cannot be read breaks the stream, so that a part is not taken for the whole. */
export function csvStream(first: Page, next: Next, more: readonly MoreColumn[] = []): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let text = csvLine([...COLUMNS, ...more].map(({ name }) => name)) + linesOf(first, more)
  let after = first.next
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A pull that enqueued nothing would be the last one.
        while (text === '' && after !== null) {
          const page = await patient(next, after)
          if (typeof page === 'string') return controller.error(new Error(`the ledger answered ${page}`))
          text = linesOf(page, more)
          after = page.next
        }
        if (text !== '') controller.enqueue(encoder.encode(text))
        text = ''
        if (after === null) controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

async function patient(next: Next, after: string): Promise<Page | Unread> {
  let page = await next(after)
  for (let pauses = 0; (page === 'tooMany' || page === 'overloaded') && pauses < PAUSES_MAX; pauses++) {
    await Bun.sleep(PAUSE_MS)
    page = await next(after)
  }
  return page
}

function linesOf({ rows }: Page, more: readonly MoreColumn[]): string {
  return rows.map((row) => csvLine([...lineOf(requestDocument(row)), ...more.map(({ of }) => of(row))])).join('')
}

const lineOf = (request: Document): readonly Cell[] => COLUMNS.map(({ of }) => of(request))
