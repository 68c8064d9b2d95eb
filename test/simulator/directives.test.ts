/** The words by which a prompt commands the simulator are understood or answered with their list, never ignored. Rules: faults.md "Simulator". */

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { DIRECTIVES, findDirectives } from '../../src/simulator/directives.ts'
import { readInstructions } from '../../src/simulator/instructions.ts'
import { ask, quick, READ } from './ask.ts'

test('every directive of the list is understood, and help prints the list', async () => {
  const nothing = JSON.stringify(readInstructions([]))
  for (const { directive } of DIRECTIVES) {
    const { directives, rest } = findDirectives(directive)
    expect(rest).toBe('')
    const instructions = readInstructions(directives)
    expect([directive, instructions.unknown]).toEqual([directive, []])
    expect(JSON.stringify(instructions)).not.toBe(nothing)
  }
  const help = (await ask(quick(), '[sim help]')).content[0]?.text
  for (const { directive, effect } of DIRECTIVES) expect(help).toContain(`${directive} ${effect}`)
})

test('a directive that says nothing known is answered with the list, never ignored', async () => {
  const wrong = [
    '[sim]',
    '[sim blah]',
    '[sim error=200]',
    '[sim error=x]',
    '[sim tokens=-1]',
    '[sim tool=A args=x]',
    '[sim after=3]',
    '[sim tool args={"a":}]',
    '[sim say]',
    '[sim html=1]',
  ]
  for (const directive of wrong) {
    const text = (await ask(quick(), `Hi ${directive}`)).content[0]?.text
    expect(text).toStartWith('The Tollgate simulator does not understand [sim')
    expect(text).toContain('[sim tool=NAME]')
  }
})

test('brackets, quotes and newlines inside JSON values do not end a directive', () => {
  const args = { path: 'a]b', text: '"}{\n\\', list: [[1], { x: ']' }] }
  const { directives, rest } = findDirectives(
    `before [sim tool=W args=${JSON.stringify(args)}] after [sim text="a]\\"b"] [simple] [sim never closed`,
  )
  expect(rest).toBe('before  after  [simple] [sim never closed')
  expect(directives.map(({ words }) => Object.fromEntries(words ?? []))).toEqual([{ tool: 'W', args }, { text: 'a]"b' }])
})

test('any JSON object survives as arguments, and no text makes the grammar throw', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.string().filter((text) => !text.includes('[sim')),
      (args, text) => {
        const { directives } = findDirectives(`${text}[sim tool=T args=${JSON.stringify(args)}]${text}`)
        expect(JSON.stringify(directives[0]?.words?.get('args'))).toBe(JSON.stringify(args))
      },
    ),
    { numRuns: 200 },
  )
  const hostile = fc.array(fc.constantFrom('[sim', ' ', ']', 'error', '=', '"', '{', '}', 'args', '[', '\\', 'tool', ',', '1'), {
    maxLength: 30,
  })
  fc.assert(
    fc.property(hostile, (parts) => {
      readInstructions(findDirectives(parts.join('')).directives)
    }),
    { numRuns: 500 },
  )
})

test('exact texts, lengths and unknown tools', async () => {
  expect((await ask(quick(), '[sim say=Hello there, you]')).content).toEqual([{ type: 'text', text: 'Hello there, you' }])
  expect((await ask(quick(), '[sim text="two\\nlines"]')).content).toEqual([{ type: 'text', text: 'two\nlines' }])
  expect((await ask(quick(), '[sim text=""]')).content).toEqual([])
  for (const tokens of [1, 37, 200, 4_000]) {
    const message = await ask(quick(), `[sim tokens=${tokens}]`)
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: tokens } })
  }
  expect((await ask(quick(), '[sim tool=Nope]', { tools: [READ] })).content[0]?.text).toContain('told to call Nope')
})
