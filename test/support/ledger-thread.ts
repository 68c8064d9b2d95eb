/** The Worker's entry in tests; in the product it is main itself. */

import { runLedgerThread } from '../../src/ledger/thread.ts'

runLedgerThread()
