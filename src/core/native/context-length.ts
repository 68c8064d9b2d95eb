/**
 * Recognizes errors about a prompt that is longer than the model's context window, in the words of many servers. Agents shorten their conversation only when they read
 * the contract's sentence. Rules: contract.md "Errors"; faults.md "Prompts that are too long".
 */

import type { NativeError } from './error.ts'

type Said = Pick<NativeError, 'type' | 'code' | 'message' | 'promptTokens' | 'contextTokens'>

/** `output`: the tokens that the request allows for the answer, where prompt and answer together are too long. */
type Figures = Readonly<{ prompt: number; window: number; output: number | undefined }>

/** Longer texts are cut: the expressions below search them. */
const LENGTH_MAX = 4_000

const CONTRACTS = /prompt is too long: \d+ tokens > \d+ maximum/
/** These names stand in an error's type or code; a server that passes on another server's error may have them in its message. */
const NAMED = /exceed_context_size|context_length_exceeded|context_?window_?exceeded|prompt_too_long/i
const SAID = new RegExp(
  [
    'exceeds? (?:the )?(?:available |maximum |model.s (?:maximum )?)?context (?:size|length|window)',
    '(?:context|prompt|model) (?:size|length|window) (?:was |is )?exceeded',
    'maximum (?:context|prompt|model) length',
    'model.s context length',
    'exceeded model token limit',
    'maximum number of tokens allowed',
    '(?:input|prompt) (?:is too long|exceeds max(?:imum)? length)',
  ].join('|'),
  'i',
)

/** Each names `prompt` and `window`, some `output`: llama-server, vLLM and its elder forms, SGLang, OpenAI, Mistral, xAI, Google. */
const FIGURES = [
  /request \((?<prompt>\d+) tokens\) exceeds the available context size \((?<window>\d+) tokens\)/i,
  /maximum context length is (?<window>\d+) tokens\. however, your messages resulted in (?<prompt>\d+) tokens/i,
  /maximum context length is (?<window>\d+) tokens\. however, you requested \d+ tokens \((?<prompt>\d+) in the messages, (?<output>\d+) in the completion\)/i,
  /too large: (?<output>\d+)\. this model's maximum context length is (?<window>\d+) tokens and your request has (?<prompt>\d+) input tokens/i,
  /passed (?<prompt>\d+) input tokens and requested (?<output>\d+) output tokens\. however, the model's context length is only (?<window>\d+) tokens/i,
  /prompt \((?:total )?length (?<prompt>\d+)\) is longer than the maximum model length of (?<window>\d+)/i,
  /input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<window>\d+) tokens\)/i,
  /context length of (?<window>\d+) tokens\. .{0,80}?(?<prompt>\d+) tokens from the input messages and (?<output>\d+) tokens for the completion/i,
  /prompt contains (?<prompt>\d+) tokens .{0,60}?too large for model with (?<window>\d+) maximum context length/i,
  /maximum prompt length is (?<window>\d+) but the request contains (?<prompt>\d+) tokens/i,
  /input token count \((?<prompt>\d+)\) exceeds the maximum number of tokens allowed \((?<window>\d+)\)/i,
]

/** A text with such a word counts the answer in: the prompt alone may have fitted. */
const COUNTS_OUTPUT = /max_(?:new_|completion_|output_)?tokens|completion|output|requested/i

/**
 * The message for the client; undefined where the error is about something else. With figures it is the contract's sentence, or the vendor's where only prompt and
 * output together are too long. Without figures it is the server's own message where that counts the answer in, else a sentence of ours that begins as agents expect.
 */
export function contextLengthMessage(said: Said): string | undefined {
  const message = said.message.slice(0, LENGTH_MAX)
  const contracts = CONTRACTS.exec(message)
  if (contracts !== null) return contracts[0]
  if (![said.type, said.code, message].some((words) => NAMED.test(words)) && !SAID.test(message)) return undefined
  const figures = figuresOf(said, message)
  if (figures !== undefined && figures.prompt >= figures.window) return tooLong(figures)
  if (figures?.output !== undefined) return noRoomForOutput(figures.prompt, figures.output, figures.window)
  return COUNTS_OUTPUT.test(message) ? message : NO_ROOM
}

const NO_ROOM = "prompt is too long: it leaves no room for the answer in the model's context window"

/** A prompt that fills the window to its last token is refused, too: it leaves no room for an answer. */
const tooLong = ({ prompt, window }: Figures): string => `prompt is too long: ${prompt} tokens > ${Math.min(window, prompt - 1)} maximum`

const noRoomForOutput = (prompt: number, output: number, window: number): string =>
  `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ${window}, decrease input length or \`max_tokens\` and try again`

function figuresOf({ promptTokens, contextTokens }: Said, message: string): Figures | undefined {
  if (promptTokens !== undefined && contextTokens !== undefined) return { prompt: promptTokens, window: contextTokens, output: undefined }
  for (const pattern of FIGURES) {
    const found = pattern.exec(message)?.groups
    if (found !== undefined)
      return {
        prompt: Number(found['prompt']),
        window: Number(found['window']),
        output: found['output'] === undefined ? undefined : Number(found['output']),
      }
  }
  return undefined
}
