/**
 * The embedded upstream: a native-format server as a function from Request to Response, so that it runs inside the process as the gateway's upstream, behind
 * a port, and in tests. It keeps a cache and counters, nothing else. Rules: faults.md "Simulator".
 */

import { boundedMap } from '../core/bounded-map.ts'
import type { SimulatedAnswer } from './answer.ts'
import { makePromptCache, promptTokens } from './cache.ts'
import { answerChat, CHAT_ROUTE, type Noted } from './chat.ts'
import { type MessageHead, wholeMessage } from './frames.ts'
import type { Fault, WantedRefusal } from './instructions.ts'
import { outputTokens } from './limit-answer.ts'
import { errorResponse, Problem } from './native-error.ts'
import { durationMs, pacedBody, SIMULATOR_CLOCK, type SimulatorClock } from './pace.ts'
import { type Prompt, readPrompt } from './prompt.ts'
import { readRequest } from './read-request.ts'
import type { NativeRequest } from './request.ts'
import { makeSeed } from './seed.ts'
import { StandingFaults } from './standing-faults.ts'
import { answerSteps, brokenSteps, faultySteps } from './steps.ts'
import { writeAnswer } from './write-answer.ts'

export type SimulatorOptions = Readonly<{
  /** Part of the ids in its answers; another name also answers the same prompt with other words, so that several simulators can be told apart. */
  name?: string
  /** The only key that the simulator accepts; by default it accepts any key, and requests without one. */
  apiKey?: string
  /** Default 0. */
  seed?: number
  /** Default 50; 0 is as fast as it is read. A prompt may ask for another speed. */
  tokensPerSecond?: number
  clock?: SimulatorClock
}>

/** Shaped like `fetch`: rejects only with the reason of `request.signal`, and only before the head. */
export type Simulator = (request: Request) => Promise<Response>

const TOKENS_PER_SECOND = 50
const CONTEXT_WINDOW = 200_000
const PROMPTS_REMEMBERED_MAX = 1_000

export function makeSimulator(options: SimulatorOptions = {}): Simulator {
  const clock = options.clock ?? SIMULATOR_CLOCK
  const { name = '', apiKey } = options
  const seed = makeSeed((options.seed ?? 0) + (name === '' ? 0 : Bun.hash.crc32(name)))
  const mark = name === '' ? 'sim' : `sim_${name}_`
  const standing = new StandingFaults()
  const cache = makePromptCache(seed, clock.nowMs)
  const failures = boundedMap<number>(PROMPTS_REMEMBERED_MAX)
  let requests = 0

  /** Whether this prompt still gets that failure: the same prompt gets it `timesMax` times. */
  const isDue =
    (prompt: Prompt, isCounting: boolean) =>
    (failure: WantedRefusal | Fault, index: number): boolean => {
      const key = seed.hash('failure', index, JSON.stringify([isCounting, failure, prompt.text]))
      const times = (failures.get(key) ?? 0) + 1
      failures.set(key, times)
      return times <= failure.timesMax
    }

  const askNative = async (request: Request, noted: Noted = {}): Promise<Response> => {
    const turn = seed.hash('request', ++requests)
    const requestId = `req_${mark}${turn}`
    if (apiKey !== undefined && request.headers.get('x-api-key') !== apiKey)
      return errorResponse(401, 'The Tollgate simulator was started with another --key', requestId)
    if (new URL(request.url).pathname === '/faults') return standing.answer(request)
    const read = await readCall(request)
    if (read instanceof Problem) return errorResponse(read.status, read.message, requestId)
    const prompt = readPrompt(read.native, standing.directives)
    noted.dialect = prompt.instructions.chatDialect
    await pause(prompt.instructions.waitMs, clock, request.signal)
    const refusal = prompt.instructions.refusals.find(isDue(prompt, read.isCounting))
    if (refusal !== undefined) return refuse(refusal, promptTokens(read.native), requestId)
    if (prompt.instructions.body !== 'answer') return otherBody(prompt.instructions.body)
    if (read.isCounting) return Response.json({ input_tokens: promptTokens(read.native) }, { headers: { 'request-id': requestId } })
    const input = cache.use(read.native)
    if (input instanceof Problem) return errorResponse(input.status, input.message, requestId)
    const answer = writeAnswer(read.native, prompt, seed, `${turn}:${read.native.messages.length}`)
    const usage = prompt.instructions.hasUsage ? { input, output: outputTokens(answer.blocks) } : undefined
    const head = { id: `msg_${mark}${turn}`, model: read.native.model, usage }
    const speed = prompt.instructions.tokensPerSecond ?? options.tokensPerSecond ?? TOKENS_PER_SECOND
    const faults = prompt.instructions.faults.filter(isDue(prompt, read.isCounting))
    if (!read.native.isStream) return wholeResponse(head, answer, faults, { requestId, speed, clock, signal: request.signal })
    const steps = faultySteps(answerSteps(head, answer, seed.dice('pieces', turn)), faults, requestId)
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'request-id': requestId }
    return new Response(pacedBody(steps, speed, clock, request.signal), { headers })
  }

  return (request) =>
    new URL(request.url).pathname === CHAT_ROUTE && request.method === 'POST'
      ? answerChat(request, askNative, Date.now)
      : askNative(request)
}

type Call = Readonly<{ native: NativeRequest; isCounting: boolean }>

async function readCall(request: Request): Promise<Call | Problem> {
  const { pathname } = new URL(request.url)
  const isCounting = pathname === '/v1/messages/count_tokens'
  if (!isCounting && pathname !== '/v1/messages') return new Problem(404, `The Tollgate simulator has no ${pathname}`)
  if (request.method !== 'POST') return new Problem(405, `The Tollgate simulator takes only POST at ${pathname}`)
  const native = readRequest(parse(await request.text()), isCounting)
  return native instanceof Problem ? native : { native, isCounting }
}

/** The JSON value; undefined when the text is not JSON, which is then refused like any value that is no object. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function pause(waitMs: number, clock: SimulatorClock, signal: AbortSignal): Promise<void> {
  if (waitMs >= 1) await clock.sleep(waitMs, signal)
  signal.throwIfAborted()
}

function refuse({ kind, status, message, retryAfterSeconds }: WantedRefusal, tokens: number, requestId: string): Response {
  if (kind === 'error') return errorResponse(status, message, requestId, retryAfterSeconds)
  return errorResponse(status, `prompt is too long: ${CONTEXT_WINDOW + tokens} tokens > ${CONTEXT_WINDOW} maximum`, requestId)
}

const otherBody = (kind: 'html' | 'empty'): Response =>
  kind === 'html'
    ? new Response('<!doctype html><title>Tollgate simulator</title><p>Not an answer.</p>', { headers: { 'content-type': 'text/html' } })
    : new Response(null, { headers: { 'content-type': 'application/json' } })

type Delivery = Readonly<{ requestId: string; speed: number; clock: SimulatorClock; signal: AbortSignal }>

/** The response to a request without `stream`: its head comes when the answer is finished. A fault inside the answer becomes an error status or a body that breaks off. */
async function wholeResponse(head: MessageHead, answer: SimulatedAnswer, faults: readonly Fault[], delivery: Delivery): Promise<Response> {
  const { requestId, speed, clock, signal } = delivery
  const stallMs = faults.reduce((sum, fault) => sum + (fault.kind === 'stall' ? fault.waitMs : 0), 0)
  await pause(durationMs(outputTokens(answer.blocks).all, speed) + stallMs, clock, signal)
  const fault = faults.find(({ kind }) => kind !== 'stall')
  if (fault?.kind === 'error') return errorResponse(fault.status, fault.message, requestId)
  const json = JSON.stringify(wholeMessage(head, answer))
  const headers = { 'content-type': 'application/json', 'request-id': requestId }
  if (fault === undefined) return new Response(json, { headers })
  return new Response(pacedBody(brokenSteps(json, fault.kind === 'reset'), 0, clock, signal), { headers })
}
