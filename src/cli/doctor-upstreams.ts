/**
 * `tollgate doctor` on upstreams, called as the gateway calls them: each counts the tokens of one word with each model that it serves, which costs nothing,
 * and with `--calls` answers with one token, which costs money. Rules: operator.md "Commands".
 */

import type { Config, UpstreamConfig } from '../config/config.ts'
import { utf8Bytes } from '../core/bytes/byte-string.ts'
import type { Model } from '../core/catalog.ts'
import { nativeUsage } from '../core/formats/chat/reverse/usage.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { type Picos, picos, toUsdText, ZERO } from '../core/money.ts'
import { errorOfBody } from '../core/native/error.ts'
import { isSameModel } from '../core/native/model-echo.ts'
import { NATIVE_VERSION } from '../core/native/versions.ts'
import { holdFor } from '../core/pricing.ts'
import { doorOfUpstream } from '../members.ts'
import { CallStop } from '../relay/deadline.ts'
import type { BodyDecoder, Door } from '../upstream/doors/door.ts'
import { requestOf } from '../upstream/fetch-upstream.ts'
import { isFault, type UpstreamRequest } from '../upstream/upstream.ts'
import type { Finding } from './doctor-finding.ts'

const COUNT_TIMEOUT_MS = 10_000
const ANSWER_TIMEOUT_MS = 60_000
const ERROR_CHARS_MAX = 200

type Served = Readonly<{ model: Model; id: string }>
/** `opened`: the door of the upstream. */
type Called = UpstreamConfig & Readonly<{ opened: Door }>

/** `mayGenerate`: also makes calls that cost money; before the first of them `say` gets the most that they can cost. */
export async function upstreamFindings(config: Config, mayGenerate: boolean, say: (text: string) => void): Promise<readonly Finding[]> {
  const served = config.upstreams.map((upstream) => ({ upstream, models: servedBy(upstream, config) }))
  if (mayGenerate) say(costText(served.flatMap(({ models }) => models)))
  const found = await Promise.all(served.map(({ upstream, models }) => findingsOf(upstream, models, mayGenerate)))
  return found.flat()
}

const servedBy = ({ name }: UpstreamConfig, { catalog }: Config): readonly Served[] =>
  [...catalog.models.values()].flatMap((model) =>
    model.upstreams.filter((one) => one.name === name).map((one) => ({ model, id: one.model })),
  )

const costText = (models: readonly Served[]): string => {
  const most = models.reduce<Picos>((sum, { model, id }) => picos(sum + priceOf(model, answerBody(id))), ZERO)
  return `tollgate: calls for one token: ${models.length}, which cost at most $${toUsdText(most)} in all\n`
}

const priceOf = (model: Model, body: string): Picos =>
  holdFor(
    {
      bodyBytes: body.length,
      hasOpaqueInput: false,
      passes: 0,
      serverToolUsesMax: 0,
      cacheWrites: 'none',
      outputTokensMax: 1,
    },
    model,
    model.contextWindow,
  )

/** One model after another: an upstream that does not answer is reported once. */
async function findingsOf(configured: UpstreamConfig, models: readonly Served[], mayGenerate: boolean): Promise<readonly Finding[]> {
  // All calls of the upstream use one door, since a door may fetch a token first.
  const upstream = { ...configured, opened: doorOfUpstream(configured) }
  const check = `upstream ${upstream.name}`
  if (models.length === 0) return [{ check, status: 'warning', detail: 'serves no model' }]
  const findings: Finding[] = []
  for (const served of models) {
    const { id } = served
    const asked = upstream.door.kind === 'openai' ? knowsChat(upstream, served) : countsWith(upstream, served)
    const learnt = (await asked) ?? (mayGenerate ? await answersWith(upstream, served) : undefined)
    if (typeof learnt === 'string') return [...findings, { check, status: 'problem', detail: learnt }]
    findings.push({ check, status: 'ok', detail: `${id}: knows the model`, ...learnt })
  }
  return findings
}

/** A text: what is wrong with every model. An object: what is wrong with this model. Undefined: nothing is wrong. */
type Learnt = string | Readonly<{ status: Finding['status']; detail: string }> | undefined

async function countsWith(upstream: Called, served: Served): Promise<Learnt> {
  const { id } = served
  const answer = await post(upstream, served, '/v1/messages/count_tokens', countBody(id), COUNT_TIMEOUT_MS)
  if (typeof answer === 'string') return answer
  const { status, json } = answer
  if (status === 404 && !isAboutModel(answer, id)) return withoutCount(upstream, served)
  if (status !== 200) return refused(answer, id)
  const tokens = isObject(json) ? json['input_tokens'] : undefined
  if (!Number.isSafeInteger(tokens)) return problem(id, 'answers 200, but not in the native format: is base_url that of such a server?')
  if (upstream.countTokens !== 'yes' && tokens !== 0)
    return { status: 'warning', detail: `${id}: counts tokens, but count_tokens = "${upstream.countTokens}" keeps requests from it` }
  return tokens === 0 ? { status: 'warning', detail: `${id}: counts 0 tokens for a word: its usage is estimated` } : undefined
}

/** An empty request is free: a server that has the path refuses it by its form. */
async function withoutCount(upstream: Called, served: Served): Promise<Learnt> {
  const { id } = served
  const answer = await post(upstream, served, '/v1/messages', JSON.stringify({ model: id }), COUNT_TIMEOUT_MS)
  if (typeof answer === 'string') return answer
  if (answer.status === 400 || answer.status === 422)
    return upstream.countTokens === 'yes'
      ? {
          status: 'warning',
          detail: `${id}: has no count_tokens, so clients get 404 for it, unless count_tokens is "no" or "estimate"; /v1/messages is there`,
        }
      : undefined
  if (answer.status === 404 && !isAboutModel(answer, id))
    return `404 for ${upstream.baseUrl}/v1/messages: base_url is what stands before /v1`
  return refused(answer, id)
}

/** Servers of chat count nothing, and refuse an empty request by its form as well. */
async function knowsChat(upstream: Called, served: Served): Promise<Learnt> {
  const { id } = served
  const answer = await post(upstream, served, CHAT_ROUTE, JSON.stringify({ model: id }), COUNT_TIMEOUT_MS)
  if (typeof answer === 'string') return answer
  if (answer.status === 400 || answer.status === 422) return undefined
  if (answer.status === 404 && !isAboutModel(answer, id))
    return `404 for ${upstream.baseUrl}${CHAT_ROUTE}: base_url is what stands before it, its /v1 included`
  return answer.status === 200 ? undefined : refused(answer, id)
}

const CHAT_ROUTE = '/chat/completions'

async function answersWith(upstream: Called, served: Served): Promise<Learnt> {
  const { id } = served
  const { door } = upstream
  const isChat = door.kind === 'openai'
  const [route, cap] = isChat ? ([CHAT_ROUTE, door.dialect.maxTokensField] as const) : (['/v1/messages', 'max_tokens'] as const)
  const answer = await post(upstream, served, route, answerBody(id, cap), ANSWER_TIMEOUT_MS)
  if (typeof answer === 'string') return answer
  if (answer.status !== 200) return refused(answer, id)
  const { usage, model: named } = isObject(answer.json) ? answer.json : {}
  if (upstream.echo !== 'any' && !isSameModel(id, named)) return otherModel(upstream, id, named)
  if (!isObject(usage) && !isChat) return problem(id, 'answers 200, but not in the native format')
  const { input_tokens: input, output_tokens: output }: JsonObject = (isChat ? nativeUsage(usage) : Object(usage)) ?? {}
  return typeof input === 'number' && typeof output === 'number' && input + output > 1
    ? { status: 'ok', detail: `${id}: answers (${input} tokens in, ${output} out)` }
    : { status: 'warning', detail: `${id}: answers, but reports no usage that can be true: it is estimated` }
}

const otherModel = ({ echo }: UpstreamConfig, id: string, named: unknown): Learnt =>
  echo === 'fail'
    ? problem(id, `answers with model ${JSON.stringify(named)}, so each answer fails by echo = "fail"`)
    : { status: 'warning', detail: `${id}: answers with model ${JSON.stringify(named)}: where that is the same, set echo = "any"` }

const countBody = (model: string): string => JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] })
const answerBody = (model: string, cap = 'max_tokens'): string =>
  JSON.stringify({ model, [cap]: 1, messages: [{ role: 'user', content: 'Hi' }] })

type UpstreamReply = Readonly<{ status: number; json: unknown; error: string }>

/** The reply, or a text that says why there is none. A reply's error is in the upstream's words, without our key. */
async function post(
  upstream: Called,
  { model, id }: Served,
  path: UpstreamRequest['path'],
  body: string,
  timeoutMs: number,
): Promise<UpstreamReply | string> {
  const { baseUrl, proxyUrl } = upstream
  const asked = {
    path,
    query: '',
    model: { ...model, upstreamModel: id },
    body: utf8Bytes(body),
    isStream: false,
    version: path === CHAT_ROUTE ? '' : NATIVE_VERSION,
    betas: '',
  }
  const sent = await requestOf({ ...upstream, door: upstream.opened }, asked, new CallStop())
  if (isFault(sent)) return `no call can be made (${sent.cause})`
  try {
    const response = await fetch(sent.url, {
      method: 'POST',
      headers: sent.headers,
      body: sent.body as Uint8Array<ArrayBuffer>,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...(proxyUrl === undefined ? {} : { proxy: proxyUrl }),
    })
    const reading = response.ok ? upstream.opened.reading?.(asked, response.headers.get('content-type') ?? '', {}) : undefined
    const text = reading === undefined ? await response.text() : textOf(reading.decoder, await response.bytes())
    const json = parse(text)
    const message = withoutSecrets(errorOfBody(text)?.message ?? '', upstream)
    return { status: response.status, json, error: (message === '' ? '' : `: ${message}`).slice(0, ERROR_CHARS_MAX) }
  } catch (error) {
    return `${baseUrl} does not answer (${causeOf(error)})`
  }
}

const textOf = (decoder: BodyDecoder, bytes: Uint8Array): string =>
  [decoder.push(bytes), decoder.end()].map((piece) => new TextDecoder().decode(piece)).join('')

/** The system's code (`ECONNREFUSED`) where there is one: the error's name does not tell a wrong address from a timeout. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** Secrets are removed before the text is cut, since a cut could leave half a key. The configured headers may hold a password, too. */
const withoutSecrets = (text: string, { apiKey = '', headers, secretHeaders }: UpstreamConfig): string =>
  [apiKey, ...Object.values(headers), ...Object.values(secretHeaders)].reduce(
    (left, secret) => (secret === '' ? left : left.replaceAll(secret, '***')),
    text,
  )

function refused(answer: UpstreamReply, id: string): Learnt {
  const { status, error } = answer
  if (status === 401 || status === 403) return problem(id, `refuses the key (${status}${error})`)
  if (status === 404) return problem(id, `does not know the model (404${error})`)
  if (status === 429 || status === 503 || status === 529) return { status: 'warning', detail: `${id}: is busy (${status}${error})` }
  return problem(id, `answers ${status}${error}`)
}

/** A vendor's 404 for an unknown model names the model; its 404 for an unknown path does not. */
const isAboutModel = ({ error }: UpstreamReply, id: string): boolean => error.includes(id) || /\bmodel\b/i.test(error)

const problem = (id: string, detail: string): Learnt => ({ status: 'problem', detail: `${id}: ${detail}` })

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
