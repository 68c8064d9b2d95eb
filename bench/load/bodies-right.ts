/** Checks before anything is timed that each gateway's answers say what the upstream said, in one piece and as a stream. */

import type { Gateway } from './gateways.ts'
import { chatBody, IN_ONE_PIECE, MARK, type Plan, TEXT, TOKENS } from './wire.ts'

const STREAM: Plan = { events: 40, perWrite: 2, everyMs: 1 }
const DELTA_TEXT = new RegExp(`${MARK}\\d{16} lights went out one by`)

type ChatAnswer = { choices: { message: { content: string } }[]; usage: { prompt_tokens: number; completion_tokens: number } }
type ChatChunk = { choices: { delta?: { content?: string } }[] }
type NativeAnswer = { content: { text: string }[]; usage: { input_tokens: number; output_tokens: number } }

async function ask({ name, target: { host, port, path, headers } }: Gateway, plan: Plan): Promise<string> {
  const response = await fetch(`http://${host}:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: chatBody(plan),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${name} answers ${response.status}: ${text}`)
  return text
}

/** Throws an error with the answer that differs. */
export async function checkBodies(gateway: Gateway): Promise<void> {
  const whole = JSON.parse(await ask(gateway, IN_ONE_PIECE)) as ChatAnswer & NativeAnswer
  const { text, input, output } = gateway.translates
    ? { text: whole.choices[0]?.message.content, input: whole.usage.prompt_tokens, output: whole.usage.completion_tokens }
    : { text: whole.content[0]?.text, input: whole.usage.input_tokens, output: whole.usage.output_tokens }
  if (text !== TEXT || input !== TOKENS.input || output !== TOKENS.output)
    throw new Error(`${gateway.name} answers ${JSON.stringify(whole)}`)
  const stream = await ask(gateway, STREAM)
  const frames = stream.split('\n').filter((line) => line.startsWith('data: {'))
  const texts = frames
    .map((line) => textOf(JSON.parse(line.slice('data: '.length)) as ChatChunk & { delta?: { text?: string } }))
    .filter(Boolean)
  const ends = gateway.translates ? 'data: [DONE]' : 'event: message_stop'
  if (texts.length !== STREAM.events || !texts.every((one) => DELTA_TEXT.test(one ?? '')) || !stream.includes(ends))
    throw new Error(`${gateway.name} streams ${texts.length} events of ${STREAM.events}:\n${stream.slice(0, 2_000)}`)
  await gateway.audit(2)
}

const textOf = (frame: ChatChunk & { delta?: { text?: string } }): string | undefined =>
  frame.choices?.[0]?.delta?.content ?? frame.delta?.text
