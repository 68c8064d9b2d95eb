/** What the simulator says. Every sentence that the simulator makes up names the simulator, so that nobody takes it for a model. Rules: faults.md "Simulator". */

import { DIRECTIVES } from './directives.ts'
import type { Prompt, ToolResult } from './prompt.ts'
import type { Dice } from './seed.ts'
import { firstTokens, tokensOf } from './tokens.ts'

const GREETINGS = [
  'Hello from the Tollgate simulator.',
  'This is the Tollgate simulator speaking.',
  'The Tollgate simulator here, at your service.',
]
const EXPLANATIONS = [
  'No model is behind this answer: the gateway, the stream and the bill are real, the words are not.',
  'I am not a model; I only show that your request went all the way through the gateway and back.',
  'Everything around this text works as it will with a real upstream; only the thinking is missing.',
]
const ECHO_LETTERS_MAX = 120

export function greeting(prompt: Prompt, dice: Dice): string {
  return [pick(GREETINGS, dice), echo(prompt.text), pick(EXPLANATIONS, dice)].join(' ')
}

const echo = (text: string): string => (text === '' ? 'Your prompt held only directives.' : `You wrote: “${shorten(text)}”.`)

/** Says what the tools gave back, so that a reader sees that the results arrived. */
export function closing(results: readonly ToolResult[]): string {
  const given = results.map(({ tool, text, isError }) => {
    const verb = isError ? 'failed with' : 'returned'
    return text === '' ? `${tool} ${verb} nothing` : `${tool} ${verb} “${shorten(text)}”`
  })
  return `The Tollgate simulator has read ${counted(results.length, 'tool result')}: ${given.join('; ')}. That completes the task.`
}

export const announcement = (names: readonly string[]): string => `The Tollgate simulator calls ${names.join(', ')}.`

export const missingTool = (name: string, offered: readonly string[]): string =>
  `The Tollgate simulator was told to call ${name}, which this request does not offer. ${offered.length === 0 ? 'It offers no tools.' : `It offers: ${offered.join(', ')}.`}`

export const thoughts = (prompt: Prompt): string =>
  `The Tollgate simulator pretends to think. The prompt has ${counted(tokensOf(prompt.text), 'token')}` +
  `${prompt.results.length === 0 ? '' : ` and ${counted(prompt.results.length, 'tool result')}`}. A short answer will do.`

export const help = (unknown: readonly string[]): string =>
  [
    unknown.length === 0
      ? 'The Tollgate simulator obeys these directives:'
      : `The Tollgate simulator does not understand ${unknown.join(' ')}. It obeys:`,
    ...DIRECTIVES.map(({ directive, effect }) => `- ${directive} ${effect}`),
  ].join('\n')

const FILLER =
  'Tollgate simulator text of a given length. A gate takes its toll, counts the coins, and lets the words pass one after another without holding any back. '

/** A text of exactly so many tokens. */
export const filler = (tokens: number): string => firstTokens(FILLER.repeat(Math.ceil(tokens / tokensOf(FILLER)) + 1), tokens)

/** Shortens a text to one line that fits into a sentence. */
export function shorten(text: string): string {
  const letters = [...text.replace(/\s+/g, ' ').trim()]
  return letters.length <= ECHO_LETTERS_MAX ? letters.join('') : `${letters.slice(0, ECHO_LETTERS_MAX - 1).join('')}…`
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
const pick = (sentences: readonly string[], dice: Dice): string => sentences[dice(sentences.length)] ?? ''
