/** A moment as the operator's socket carries it. An incoming one is checked whole. Shape: moment.ts. Rules: operator.md "Socket". */

import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { parseMessage, REPORTS } from './message-json.ts'
import { id, orNull, picos, shape, time } from './message-parts.ts'
import type { Moment } from './moment.ts'

const count = Type.Number({ minimum: 0 })
const bins = Type.Array(count)

const MINUTE = shape({
  requests: count,
  lastSecond: count,
  refusals: Type.Array(shape({ name: Type.String(), count })),
  firstBytes: bins,
  commits: bins,
  groups: count,
  grouped: count,
  calls: shape({ answered: count, failed: count, retried: count }),
  cacheLostPicos: picos,
  thinkingLost: count,
  streams: count,
  spillBytes: count,
})

const MOMENT = shape({
  processes: count,
  running: count,
  held: Type.Array(Type.Tuple([id, id, count, picos])),
  upstreams: REPORTS,
  lastAnswers: Type.Record(Type.String(), time),
  minute: MINUTE,
  alarms: Type.Array(shape({ what: Type.String(), count, firstAt: time, lastAt: time, detail: Type.String() })),
  memoryBytes: count,
  descriptors: orNull(count),
})

export function readMoment(text: string): Moment | undefined {
  const value = parseMessage(text)
  return Value.Check(MOMENT, value) ? (value as Static<typeof MOMENT> & Moment) : undefined
}
