/** A patience without an end: for what is asked of a Postgres that answers. */

import type { Patience } from '../../src/ledger/admission/patience.ts'

export const PATIENT: Pick<Patience, 'isOver' | 'whileHeard'> = { isOver: false, whileHeard: (working) => working }
