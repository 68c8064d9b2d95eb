/** Calls as the responses format reads them, for tests: under the golden model and bounds, so that goldens and properties share one request. */

import type { Model } from '../../../../src/core/catalog.ts'
import type { Call, ReadContext, Stamp } from '../../../../src/core/format.ts'
import { responsesFormat } from '../../../../src/core/formats/responses/format.ts'
import type { ResponsesEcho } from '../../../../src/core/formats/responses/wire.ts'
import { Refusal } from '../../../../src/core/refusal.ts'
import { sha256Hex } from '../../../../src/relay/read-context.ts'
import { GOLDEN_BOUNDS, GOLDEN_MODEL } from '../../../support/golden.ts'

export const STAMP: Stamp = { createdSeconds: 1_800_000_000, requestId: 'req_0195f0000000700080000000000000aa' }

export type ReadOptions = Readonly<{ model?: Partial<Model>; recall?: ReadContext['recall'] }>

/** Reads a request body; the model is found under its own id only. */
export function read(json: unknown, { model, recall }: ReadOptions = {}): Call<ResponsesEcho> | Refusal {
  const body = json as Readonly<Record<string, unknown>>
  const known: Model = { ...GOLDEN_MODEL, ...model }
  return responsesFormat.read(
    { bytes: Buffer.from(JSON.stringify(json)), json: body, members: [] },
    { headers: new Headers(), find: (id) => (id === known.id ? known : undefined), recall: recall ?? (() => 'unknown'), sha256Hex },
  )
}

/** Reads a request that must be fine. The model is added where it is missing. */
export function readFine(json: Readonly<Record<string, unknown>>, options: ReadOptions = {}): Call<ResponsesEcho> {
  const call = read({ model: GOLDEN_MODEL.id, input: 'hi', ...json }, options)
  if (call instanceof Refusal) throw new Error(`refused: ${call.message}`)
  return call
}

/** The native body that a request becomes. */
export const nativeOf = (json: Readonly<Record<string, unknown>>, options: ReadOptions = {}): Record<string, unknown> =>
  JSON.parse(Buffer.from(readFine(json, options).body).toString('utf8'))

/** The message of the refusal; fails when there is none. */
export function refusalOf(json: Readonly<Record<string, unknown>>, options: ReadOptions = {}): string {
  const call = read({ model: GOLDEN_MODEL.id, input: 'hi', ...json }, options)
  if (!(call instanceof Refusal)) throw new Error(`not refused: ${Buffer.from(call.body).toString('utf8')}`)
  if (call.row.status !== 400) throw new Error(`status ${call.row.status}`)
  return call.message
}

/** The request that the golden streams answer: two functions, a custom tool and a namespace. */
export const GOLDEN_CALL: Call<ResponsesEcho> = {
  ...readFine({
    stream: true,
    tools: [
      { type: 'function', name: 'f' },
      { type: 'function', name: 'g' },
      { type: 'custom', name: 'apply_patch' },
      { type: 'namespace', name: 'agents', description: '', tools: [{ type: 'function', name: 'spawn' }] },
    ],
  }),
  bounds: GOLDEN_BOUNDS,
}
