/** Clients that ask in every way that is billed, and say of each answer that they saw complete what it cost in tokens. */

import type { Call } from './book-keeper.ts'

export const MODEL_ID = 'sonnet'
/** Sent by every client: it must stand in no log and in no database. */
export const PROMPT = 'canary-prompt-7f3a'

export type Answer = Readonly<{ requestId: string; inputTokens: number; outputTokens: number }>
export type Way = keyof typeof WAYS

type Body = Record<string, unknown>
type Counts = Readonly<{ input: number; output: number }>

const messages = [{ role: 'user', content: PROMPT }]
const message = { path: '/v1/messages', body: { model: MODEL_ID, max_tokens: 100, messages } }
const chat = { path: '/v1/chat/completions', body: { model: MODEL_ID, messages } }
const responses = { path: '/v1/responses', body: { model: MODEL_ID, input: PROMPT } }

/** `read` gives what the client was told; undefined when the answer is not complete. Input counts cached tokens, as two of the formats do. */
const WAYS = {
  messages: { ...message, read: (text: string) => nativeCounts(JSON.parse(text)) },
  chat: { ...chat, read: (text: string) => chatCounts(JSON.parse(text)) },
  responses: { ...responses, read: (text: string) => responsesCounts(JSON.parse(text)) },
  messagesStream: {
    ...streamed(message),
    read: (text: string) => nativeCounts(eventOf(text, 'message_delta'), text.includes('event: message_stop')),
  },
  chatStream: {
    ...streamed(chat),
    read: (text: string) =>
      chatCounts(
        dataOf(text).find(({ usage }) => usage != null),
        text.includes('[DONE]'),
      ),
  },
  responsesStream: {
    ...streamed(responses),
    read: (text: string) => responsesCounts(eventOf(text, 'response.completed')?.['response'] as Body),
  },
} as const

export const ALL_WAYS = Object.keys(WAYS) as readonly Way[]
export const STREAMED_WAYS = ALL_WAYS.filter((way) => 'stream' in WAYS[way].body)

/** Undefined when the answer did not arrive whole. Rejects on an answer that is neither whole nor broken off: a refusal, a stream without its end. */
export async function askIn(way: Way, url: string, secret: string): Promise<Answer | undefined> {
  const { path, body, read } = WAYS[way]
  const response = await post(url, path, secret, body).catch(() => undefined)
  const text = await response?.text().catch(() => undefined)
  if (response === undefined || text === undefined) return undefined
  if (response.status !== 200) throw new Error(`${way}: ${response.status} ${text}`)
  const counts = read(text)
  if (counts === undefined) throw new Error(`${way}: ended without its end: ${text.slice(-300)}`)
  return { requestId: response.headers.get('x-request-id') ?? '', inputTokens: counts.input, outputTokens: counts.output }
}

export const post = (url: string, path: string, secret: string, body: Body): Promise<Response> =>
  fetch(`${url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${secret}` }, body: JSON.stringify(body) })

/** A messages stream that is read as far as a test wants. */
export type OpenStream = Readonly<{ until(words: string): Promise<string>; rest(): Promise<string> }>

export async function openStream(url: string, secret: string): Promise<OpenStream> {
  const { path, body } = WAYS.messagesStream
  const response = await post(url, path, secret, body)
  if (response.body === null || response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  const readUntil = async (isEnough: () => boolean): Promise<string> => {
    while (!isEnough()) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
    return text
  }
  return { until: (words) => readUntil(() => text.includes(words)), rest: () => readUntil(() => false) }
}

/** Runs `width` clients until `isOver`, each in all the `ways` by turns; gives every answer that was seen whole. */
export async function load(url: string, secret: string, width: number, isOver: () => boolean, ways = ALL_WAYS): Promise<readonly Answer[]> {
  const seen: Answer[] = []
  const client = async (first: number): Promise<void> => {
    for (let turn = first; !isOver(); turn++) {
      const answer = await askIn(ways[turn % ways.length] ?? 'chat', url, secret)
      if (answer !== undefined) seen.push(answer)
    }
  }
  await Promise.all(Array.from({ length: width }, (_, index) => client(index)))
  return seen
}

/** What a client is told of a call. */
export const countsOf = ({ usage }: Call): Counts => ({ input: usage.input + usage.cacheRead, output: usage.output })

function streamed<T extends { body: Body }>(way: T): T {
  return { ...way, body: { ...way.body, stream: true } }
}

const nativeCounts = (from: Body | undefined, isEnded = true): Counts | undefined => {
  const usage = from?.['usage'] as Record<string, number> | undefined
  if (usage === undefined || !isEnded) return undefined
  return { input: (usage['input_tokens'] ?? 0) + (usage['cache_read_input_tokens'] ?? 0), output: usage['output_tokens'] ?? 0 }
}

const chatCounts = (from: Body | undefined, isEnded = true): Counts | undefined => {
  const usage = from?.['usage'] as Record<string, number> | undefined
  return usage === undefined || !isEnded ? undefined : { input: usage['prompt_tokens'] ?? 0, output: usage['completion_tokens'] ?? 0 }
}

const responsesCounts = (from: Body | undefined): Counts | undefined => {
  const usage = from?.['usage'] as Record<string, number> | undefined
  return usage === undefined ? undefined : { input: usage['input_tokens'] ?? 0, output: usage['output_tokens'] ?? 0 }
}

const dataOf = (text: string): readonly Body[] =>
  text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Body] : []))
const eventOf = (text: string, type: string): Body | undefined => dataOf(text).find((data) => data['type'] === type)
