/** New prepaid codes and what the ledger keeps of them. Rules: pages.md "Codes". */

import { codeDisplayOf, makeCode } from '../../core/prepaid-code.ts'
import type { NewCode } from '../operation.ts'
import { hashOf } from './secret-hash.ts'

/** `codes`: what the ledger gets, with the hashes. `shown`: the codes themselves, in the same order, which are not kept. */
export function newCodes(count: number): Readonly<{ shown: readonly string[]; codes: readonly NewCode[] }> {
  const shown = Array.from({ length: count }, () => makeCode(() => crypto.getRandomValues(new Uint8Array(24))))
  return { shown, codes: shown.map((code) => ({ codeHash: hashOf(code), display: codeDisplayOf(code) })) }
}
