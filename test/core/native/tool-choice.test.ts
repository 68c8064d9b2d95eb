/** Every shape of a tool choice means one native choice, and what cannot be one is refused by its name. Rules: translation.md "Tool choice". */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { normalizeToolChoice, type ToolChoice, type ToolChoiceContext } from '../../../src/core/native/tool-choice.ts'
import { Refusal } from '../../../src/core/refusal.ts'
import { runs } from '../../support/property-runs.ts'

const BASE: ToolChoiceContext = {
  path: 'tool_choice',
  toolNames: ['f', 'g'],
  hasTools: true,
  hasImplicitTools: false,
  allowsSubset: false,
  parallelToolCalls: undefined,
  canForce: true,
  droppedToolTypes: [],
}
const NO_TOOLS: Partial<ToolChoiceContext> = { toolNames: [], hasTools: false }

function normalized(choice: unknown, more: Partial<ToolChoiceContext> = {}): { choice: unknown; onlyTools: unknown } {
  const result = normalizeToolChoice(choice, { ...BASE, ...more })
  if (result instanceof Refusal) throw new Error(result.message)
  return result
}

function refused(choice: unknown, more: Partial<ToolChoiceContext> = {}): string {
  const result = normalizeToolChoice(choice, { ...BASE, ...more })
  if (!(result instanceof Refusal)) throw new Error(`${JSON.stringify(choice)} was accepted as ${JSON.stringify(result)}`)
  expect(result.row.status).toBe(400)
  return result.message
}

const nativeChoice = (choice: unknown, more: Partial<ToolChoiceContext> = {}): unknown => {
  const result = normalized(choice, more)
  expect(result.onlyTools).toBeUndefined()
  return result.choice
}

describe('every shape of a choice becomes the native one', () => {
  test('auto', () => {
    for (const choice of ['auto', { type: 'auto' }, { type: 'auto', name: 'f', extra: 1 }])
      expect(nativeChoice(choice)).toEqual({ type: 'auto' })
  })
  test('any and required', () => {
    for (const choice of ['required', 'any', { type: 'required' }, { type: 'any' }]) expect(nativeChoice(choice)).toEqual({ type: 'any' })
  })
  test('none never carries disable_parallel_tool_use', () => {
    for (const choice of ['none', { type: 'none' }, { type: 'none', disable_parallel_tool_use: true }])
      expect(nativeChoice(choice)).toStrictEqual({ type: 'none' })
  })
  test('a named tool', () => {
    const shapes: unknown[] = [
      'f',
      { type: 'tool', name: 'f' },
      { type: 'function', function: { name: 'f' } },
      { type: 'function', name: 'f' },
      { type: 'custom', custom: { name: 'f' } },
      { type: 'custom', name: 'f' },
      { name: 'f' },
      { function: { name: 'f' } },
    ]
    for (const choice of shapes) expect(nativeChoice(choice)).toStrictEqual({ type: 'tool', name: 'f' })
  })
  test('disable_parallel_tool_use is kept where native has it', () => {
    for (const disable of [true, false]) {
      const choices: ToolChoice[] = [
        { type: 'auto', disable_parallel_tool_use: disable },
        { type: 'any', disable_parallel_tool_use: disable },
        { type: 'tool', name: 'f', disable_parallel_tool_use: disable },
      ]
      for (const choice of choices) expect(nativeChoice(choice)).toStrictEqual(choice)
    }
    expect(nativeChoice({ type: 'auto', disable_parallel_tool_use: null })).toStrictEqual({ type: 'auto' })
    expect(refused({ type: 'auto', disable_parallel_tool_use: 'yes' })).toStartWith('tool_choice.disable_parallel_tool_use: ')
  })
  test('absent and null stay absent', () => {
    for (const choice of [null, undefined]) expect(nativeChoice(choice)).toBeUndefined()
  })
})

describe('what cannot be a choice is refused, naming the field', () => {
  test('a tool that is not there', () => {
    for (const choice of ['zzz', { type: 'tool', name: 'zzz' }, { type: 'function', function: { name: 'zzz' } }])
      expect(refused(choice)).toBe('tool_choice: tool "zzz" is not defined in tools')
    expect(refused('zzz', { path: 'function_call' })).toStartWith('function_call: ')
    expect(refused('z'.repeat(10_000)).length).toBeLessThan(300)
  })
  test('a named tool without any tools', () => {
    expect(refused({ type: 'tool', name: 'f' }, NO_TOOLS)).toBe('tool_choice: tool "f" is not defined in tools')
  })
  test('shapes that nobody has', () => {
    const shapes: unknown[] = [5, true, '', [], ['auto'], {}, { type: 'tool' }, { type: 'tool', name: 5 }, { type: 'tool', name: '' }]
    shapes.push({ type: 'banana' }, { type: 'banana', name: 'f' }, { type: 5, name: 'f' }, { type: 'function', function: { name: null } })
    for (const choice of shapes) expect(refused(choice)).toBe('tool_choice: Input should be one of auto, any, tool, none')
  })
})

test('without tools a choice means nothing and is dropped', () => {
  for (const choice of ['auto', 'none', 'required', { type: 'any' }]) expect(nativeChoice(choice, NO_TOOLS)).toBeUndefined()
})

test('tools that the body does not name leave existence to the upstream', () => {
  const implicit = { ...NO_TOOLS, hasImplicitTools: true }
  expect(nativeChoice({ type: 'tool', name: 'zzz' }, implicit)).toEqual({ type: 'tool', name: 'zzz' })
  expect(nativeChoice('auto', implicit)).toEqual({ type: 'auto' })
  expect(normalized({ type: 'tool', name: 'zzz' }, { ...implicit, canForce: false })).toEqual({
    choice: { type: 'auto' },
    onlyTools: undefined,
  })
})

describe('parallel_tool_calls', () => {
  test('false without a choice forbids parallel calls under auto', () => {
    expect(nativeChoice(undefined, { parallelToolCalls: false })).toEqual({ type: 'auto', disable_parallel_tool_use: true })
    expect(nativeChoice(undefined, { parallelToolCalls: false, ...NO_TOOLS })).toBeUndefined()
  })
  test('none stays none', () => {
    expect(nativeChoice('none', { parallelToolCalls: false })).toStrictEqual({ type: 'none' })
  })
  test('true adds nothing', () => {
    expect(nativeChoice('required', { parallelToolCalls: true })).toStrictEqual({ type: 'any' })
    expect(nativeChoice(undefined, { parallelToolCalls: true })).toBeUndefined()
  })
  test('false wins over a choice that allows them', () => {
    for (const choice of ['auto', 'any', 'f'])
      expect(nativeChoice(choice, { parallelToolCalls: false })).toHaveProperty('disable_parallel_tool_use', true)
  })
})

describe('allowed_tools', () => {
  const chat = (mode: unknown, names: string[]): unknown => ({
    type: 'allowed_tools',
    allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
  })
  const responses = (mode: unknown, names: string[]): unknown => ({
    type: 'allowed_tools',
    mode,
    tools: names.map((name) => ({ type: 'function', name })),
  })
  test('keeps the listed tools, in both shapes', () => {
    for (const shape of [chat, responses]) {
      expect(normalized(shape('required', ['g', 'zzz']), { allowsSubset: true })).toEqual({ choice: { type: 'any' }, onlyTools: ['g'] })
      expect(normalized(shape('auto', ['g', 'f']), { allowsSubset: true })).toEqual({ choice: { type: 'auto' }, onlyTools: ['f', 'g'] })
      expect(normalized(shape('required', ['g']), { allowsSubset: true, canForce: false })).toEqual({
        choice: { type: 'auto' },
        onlyTools: ['g'],
      })
    }
  })
  test('refuses an empty intersection, a strange mode, and every subset on messages', () => {
    for (const shape of [chat, responses]) {
      expect(refused(shape('auto', ['zzz']), { allowsSubset: true })).toStartWith('tool_choice.tools: ')
      expect(refused(shape('sometimes', ['f']), { allowsSubset: true })).toStartWith('tool_choice.mode: ')
      expect(refused(shape('auto', ['f']))).toStartWith('tool_choice: ')
    }
    expect(refused({ type: 'allowed_tools', mode: 'auto', tools: 'f' }, { allowsSubset: true })).toStartWith('tool_choice.tools: ')
  })
})

test('a model that cannot be forced chooses freely, among the named tool alone', () => {
  const canForce = false
  expect(normalized({ type: 'function', function: { name: 'f' } }, { canForce })).toEqual({ choice: { type: 'auto' }, onlyTools: ['f'] })
  expect(normalized({ type: 'tool', name: 'g', disable_parallel_tool_use: true }, { canForce })).toEqual({
    choice: { type: 'auto', disable_parallel_tool_use: true },
    onlyTools: ['g'],
  })
  expect(normalized('any', { canForce })).toEqual({ choice: { type: 'auto' }, onlyTools: undefined })
  expect(normalized('none', { canForce })).toEqual({ choice: { type: 'none' }, onlyTools: undefined })
})

test('a hosted tool that was dropped means auto, any other hosted tool is refused', () => {
  const droppedToolTypes = ['web_search']
  for (const type of ['web_search', 'web_search_preview', 'web_search_preview_2025_03_11'])
    expect(nativeChoice({ type }, { droppedToolTypes })).toEqual({ type: 'auto' })
  expect(nativeChoice({ type: 'web_search' }, { droppedToolTypes, ...NO_TOOLS })).toBeUndefined()
  for (const type of ['file_search', '']) refused({ type }, { droppedToolTypes })
  refused({ type: 'web_search' })
})

test('normalizing twice changes nothing, whatever the choice', () => {
  const word = fc.constantFrom('auto', 'any', 'required', 'none', 'f', 'g', 'zzz', 'tool', 'function', 'allowed_tools', 'web_search')
  const named = fc.record({ name: word }, { requiredKeys: [] })
  const choice = fc.oneof(
    word,
    fc.jsonValue(),
    fc.record(
      {
        type: word,
        name: word,
        function: named,
        custom: named,
        mode: word,
        tools: fc.array(named),
        disable_parallel_tool_use: fc.option(fc.boolean()),
      },
      { requiredKeys: [] },
    ),
  )
  const context = fc.record({
    path: fc.constant('tool_choice'),
    toolNames: fc.subarray(['f', 'g']),
    hasTools: fc.boolean(),
    hasImplicitTools: fc.boolean(),
    allowsSubset: fc.boolean(),
    parallelToolCalls: fc.option(fc.boolean(), { nil: undefined }),
    canForce: fc.boolean(),
    droppedToolTypes: fc.subarray(['web_search']),
  })
  fc.assert(
    fc.property(choice, context, (value, drawn) => {
      const given = { ...drawn, hasTools: drawn.hasTools || drawn.toolNames.length > 0 }
      const once = normalizeToolChoice(value, given)
      if (once instanceof Refusal) return expect(once.message).toStartWith('tool_choice')
      const kept = given.toolNames.filter((name) => once.onlyTools?.includes(name) ?? true)
      const twice = normalizeToolChoice(once.choice, { ...given, toolNames: kept })
      expect(twice).toEqual({ choice: once.choice, onlyTools: undefined })
    }),
    { numRuns: runs(2000) },
  )
})
