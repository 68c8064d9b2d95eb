/**
 * What a kind of upstream adds to a call of 4 kB before it leaves: its edit, its target and its proof. Goal: a signature in 25 µs. Run:
 * `bun bench/doors.bench.ts [calls] [rounds]`.
 */

import type { DoorSettings } from '../src/core/door.ts'
import type { Door } from '../src/upstream/doors/door.ts'
import { doorOf } from '../src/upstream/doors/doors.ts'
import { editedBy } from '../src/upstream/doors/request-edit.ts'
import { requestFields } from '../src/upstream/native-request.ts'
import { makeTestModel } from '../test/support/world.ts'
import { bestOf, print } from './measure.ts'

const CALLS = Number(process.argv[2] ?? 20_000)
const ROUNDS = Number(process.argv[3] ?? 7)
const PROOF = {
  by: 'signature',
  region: 'us-east-1',
  service: 'bedrock',
  credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: undefined },
} as const
const KINDS: Readonly<Record<string, DoorSettings>> = {
  native: { kind: 'native' },
  'bedrock, signed': { kind: 'bedrock', proof: PROOF },
  'bedrock-invoke, signed': { kind: 'bedrock-invoke', proof: PROOF, apiVersion: undefined },
  'bedrock-invoke, by key': { kind: 'bedrock-invoke', proof: { by: 'key' }, apiVersion: undefined },
}
const EDITS = { dropBetas: [], renameBetas: {}, dropFields: [], hasDefaults: true }
const BODY = Buffer.from(
  JSON.stringify({ model: 'm', max_tokens: 1, stream: true, messages: [{ role: 'user', content: 'word '.repeat(800) }] }),
)
const ASKED = {
  path: '/v1/messages',
  query: '',
  model: makeTestModel(),
  body: BODY,
  isStream: true,
  version: '2023-06-01',
  betas: '',
} as const

function run(door: Door): number {
  for (let call = 0; call < CALLS; call++) {
    const request = editedBy(door, ASKED)
    const { sent } = request
    if (sent instanceof Promise) throw new Error('a small body is edited at once')
    const target = door.target(request)
    if (door.prove !== undefined) void door.prove({ host: 'h', target, fields: requestFields(request, door.fields), body: sent })
  }
  return CALLS
}

const contestants = Object.entries(KINDS).map(([name, settings]) => {
  const door = doorOf(settings, EDITS, { apiKey: 'k' })
  return { name, run: () => run(door) }
})
print(await bestOf(contestants, ROUNDS, 'cpu'), 'call', 'bedrock, signed')
