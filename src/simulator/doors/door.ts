/**
 * The simulator behind the doors of the clouds: each call must prove itself as the cloud demands; it is then translated to native, and the answer leaves in the door's own form.
 * Rules: faults.md "Simulator"; doors.md "Kinds".
 */

import { errorResponse, Problem } from '../native-error.ts'
import { makeSimulator, type Simulator, type SimulatorOptions } from '../simulator.ts'
import { signatureProblem } from './aws-signature.ts'
import { bedrockResponse } from './bedrock-answer.ts'
import type { AwsKey, SimulatedKind } from './kinds.ts'
import { nativeRequest } from './native-request.ts'
import { IssuedTokens } from './tokens.ts'

type DoorOptions = SimulatorOptions &
  Readonly<{
    kind: SimulatedKind
    /** Requests must be signed with this key. Undefined: `apiKey` proves a request, or any key where that is undefined, too. */
    awsKey?: AwsKey | undefined
  }>

export function makeSimulatedDoor({ kind, awsKey, ...options }: DoorOptions): Simulator {
  const { apiKey, ...inner } = options
  const simulator = makeSimulator(kind === 'native' ? options : inner)
  if (kind === 'native') return simulator
  const tokens = new IssuedTokens()
  return async (request) => {
    const url = new URL(request.url)
    if (url.pathname === '/faults') return simulator(request)
    if (url.pathname === '/token') return tokens.answer(request)
    const body = new Uint8Array(await request.arrayBuffer())
    const problem = proofProblem(kind, request, body, { apiKey, awsKey, tokens }) ?? doorProblem(kind, request)
    const native = problem ?? nativeRequest(kind, url, body)
    const answer =
      native instanceof Problem
        ? errorResponse(native.status, native.message, 'req_sim_door')
        : await simulator(
            new Request(native.url, { method: request.method, headers: request.headers, body: native.body, signal: request.signal }),
          )
    return kind === 'bedrock-invoke' ? bedrockResponse(answer, url.pathname.endsWith('/count-tokens')) : answer
  }
}

type Proofs = Readonly<{ apiKey: string | undefined; awsKey: AwsKey | undefined; tokens: IssuedTokens }>

/** What is wrong with the call's proof (its key, token or signature). */
function proofProblem(kind: SimulatedKind, request: Request, body: Uint8Array, { apiKey, awsKey, tokens }: Proofs): Problem | undefined {
  const authorization = request.headers.get('authorization') ?? ''
  if (kind === 'vertex' || kind === 'claude-google')
    return tokens.has(authorization) ? undefined : new Problem(401, 'The token is none that /token of this simulator has given')
  if (kind === 'foundry' && authorization !== '')
    return tokens.has(authorization) ? undefined : new Problem(401, 'The token is none that /token of this simulator has given')
  if (kind !== 'foundry' && awsKey !== undefined) {
    const wrong = signatureProblem(request, body, awsKey)
    return wrong === undefined ? undefined : new Problem(403, wrong)
  }
  const given = kind === 'foundry' ? request.headers.get('x-api-key') : /^Bearer (.+)$/.exec(authorization)?.[1]
  if (given === undefined || given === null) return new Problem(401, 'The call is not proven')
  return apiKey === undefined || given === apiKey ? undefined : new Problem(401, 'The Tollgate simulator was started with another --key')
}

function doorProblem(kind: SimulatedKind, request: Request): Problem | undefined {
  if (kind === 'claude-aws' && request.headers.get('anthropic-workspace-id') === null)
    return new Problem(400, 'anthropic-workspace-id: Field required')
  return undefined
}
