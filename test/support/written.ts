/** What a transcoder wrote, in one piece, as a client gets it. */

import type { Written } from '../../src/core/transcoder.ts'

export const inOnePiece = (written: Written = []): Buffer => Buffer.concat([written].flat() as Uint8Array[])
