/** What a transcoder wrote: in one piece, as a client gets it; what it leaves to be remembered, as objects. */

import type { Finished, Written } from '../../src/core/transcoder.ts'

export const inOnePiece = (written: Written = []): Buffer => Buffer.concat([written].flat() as Uint8Array[])

export const finishedJson = (finished: Finished | undefined): readonly unknown[] =>
  (finished?.items ?? []).map(({ json }) => JSON.parse(inOnePiece(json).toString()))
