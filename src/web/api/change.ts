/** A page's change of one thing in the ledger: the thing must exist, and the answer shows it as it is afterwards. Rules: pages.md "Keys of an account", "Acts of operators". */

import type { Operation } from '../../ledger/operation.ts'

/** `found`, `perform`: a `Response` says why the thing cannot be found or changed. `document`: the thing as it is now. */
type Changed<Row, Document> = Readonly<{
  found: Promise<Row | Response>
  perform: (operation: Operation) => Promise<unknown>
  document: () => Promise<Document | Response>
}>

/** Performs one operation after the other, until one is refused. */
export async function change<Row, Document>(
  { found, perform, document }: Changed<Row, Document>,
  operationsOn: (row: Row) => readonly Operation[] | Response,
): Promise<Document | Response> {
  const row = await found
  const operations = row instanceof Response ? row : operationsOn(row)
  if (operations instanceof Response) return operations
  for (const operation of operations) {
    const done = await perform(operation)
    if (done instanceof Response) return done
  }
  return document()
}
