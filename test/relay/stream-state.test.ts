/** Whatever happens to a stream, in whatever order: one end, one settle, one status, at most one closing; who has left is told nothing. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { ZERO } from '../../src/core/money.ts'
import { Refusal } from '../../src/core/refusal.ts'
import { type StreamEffect, type StreamEvent, StreamState } from '../../src/relay/stream-state.ts'
import { runs } from '../support/property-runs.ts'

const LAST = new TextEncoder().encode('END')
const BROKEN = new Refusal('upstreamBroken')
const answered: StreamEvent = { type: 'answered', isFinishedAlone: false, upstream: 'north' }
const spoke: StreamEvent = { type: 'spoke' }
const began: StreamEvent = { type: 'began' }
const impatient: StreamEvent = { type: 'impatient' }
const forgotten: StreamEvent = { type: 'forgotten' }
const whole: StreamEvent = { type: 'ended', end: { outcome: 'complete', last: LAST } }
const fault: StreamEvent = { type: 'ended', end: { outcome: 'fault', refusal: BROKEN, more: { cause: 'reset' } } }
const kept: StreamEvent = { type: 'kept', kept: { costPicos: ZERO } }
const unkept: StreamEvent = { type: 'kept', kept: 'unavailable' }
const left: StreamEvent = { type: 'left', reason: 'leaver', deliveredBytes: 7 }
const stalled: StreamEvent = { type: 'left', reason: 'write-stall', deliveredBytes: 7 }
const stopped = (reason: 'deadline' | 'stall' | 'drain' | 'disabled'): StreamEvent => ({ type: 'stopped', reason })

/** The effects in short, an event's behind the one before. */
function play(...events: StreamEvent[]): string[] {
  return playOn(new StreamState(), ...events)
}

function playOn(state: StreamState, ...events: StreamEvent[]): string[] {
  return events.flatMap((event) => state.on(event).map(textOf))
}

function textOf(effect: StreamEffect): string {
  switch (effect.do) {
    case 'answer':
      return `answer ${effect.status instanceof Refusal ? effect.status.name : effect.status}`
    case 'linger':
      return `linger until ${effect.until}`
    case 'stop':
      return `stop ${effect.reason}`
    case 'settle':
      return `settle ${effect.end.outcome} ${effect.status}${effect.deliveredBytes === undefined ? '' : ` at ${effect.deliveredBytes}`}`
    case 'close':
      return `close ${effect.last === undefined ? (effect.refusal?.name ?? 'bare') : 'whole'}`
    default:
      return effect.do
  }
}

const BEGUN = [answered, spoke, began]

describe('the ends of a stream that its client reads', () => {
  test('a whole answer ends behind its receipt, and its connection is read on', () => {
    expect(play(...BEGUN, whole, kept)).toEqual(['answer begun', 'read on', 'settle complete 200', 'close whole'])
  })

  test('is read to its end behind its client, where its figures come there, whether or not it had begun', () => {
    const alone: StreamEvent = { ...answered, isFinishedAlone: true }
    expect(play(alone, spoke, began, left, whole)).toEqual(['answer begun', 'break off', 'go on', 'read on', 'settle complete 200'])
    expect(play(left, alone, began, whole).slice(3)).toEqual(['go on', 'read on', 'settle complete 200'])
    expect(play(left, answered, began).slice(3)).toEqual(['stop leaver', 'settle leaver 200 at 7'])
  })

  test('an end that could not be paid for is an error', () => {
    expect(play(...BEGUN, whole, unkept).at(-1)).toBe('close storageUnavailable')
  })

  test('a fault before any bytes is the answer, with a status of its own, once its hold is released', () => {
    expect(play(fault)).toEqual(['stop done', 'settle fault 502'])
    expect(play(fault, kept).at(-1)).toBe('answer upstreamBroken')
    expect(play(fault, unkept).at(-1)).toBe('answer upstreamBroken')
  })

  test('a fault after the status went out is told in the stream', () => {
    expect(play(impatient, fault, kept)).toEqual(['answer waiting', 'stop done', 'settle fault 200', 'close upstreamBroken'])
    expect(play(...BEGUN, fault, kept).slice(1)).toEqual(['stop done', 'settle fault 200', 'close upstreamBroken'])
  })

  test('what we stop says why, to its client and to its upstream', () => {
    for (const [reason, outcome, refusal] of [
      ['deadline', 'deadline', 'timedOut'],
      ['stall', 'fault', 'timedOut'],
      ['drain', 'drain', 'draining'],
      ['disabled', 'cut', 'keyDisabled'],
    ] as const) {
      expect(play(...BEGUN, stopped(reason), kept).slice(1)).toEqual([`stop ${reason}`, `settle ${outcome} 200`, `close ${refusal}`])
      expect(play(stopped(reason), kept).at(-1)).toBe(`answer ${refusal}`)
    }
  })
})

describe('a client that has left', () => {
  test('gets no end, and the upstream a moment for its final figures', () => {
    expect(play(...BEGUN, left).slice(1)).toEqual(['break off', 'linger until end'])
    expect(play(...BEGUN, left, forgotten, kept).slice(3)).toEqual(['stop leaver', 'settle leaver 200 at 7'])
    expect(play(...BEGUN, left, whole, kept).slice(3)).toEqual(['stop done', 'settle leaver 200 at 7'])
    expect(play(...BEGUN, left, fault, kept).slice(3)).toEqual(['stop done', 'settle leaver 200 at 7'])
  })

  test('is waited for until the answer begins, and then no longer', () => {
    expect(play(answered, left)).toEqual(['answer waiting', 'break off', 'linger until start'])
    expect(play(answered, left, began, kept).slice(3)).toEqual(['stop leaver', 'settle leaver 200 at 7'])
    expect(play(left, forgotten, kept).slice(3)).toEqual(['stop leaver', 'settle leaver 200 at 7'])
  })

  test('has left a failed call where it failed before it began', () => {
    expect(play(left, fault, kept).slice(3)).toEqual(['stop done', 'settle fault 200 at 7'])
    expect(play(left, stopped('drain'), kept).slice(3)).toEqual(['stop drain', 'settle leaver 200 at 7'])
  })

  test('who takes nothing is broken off at once: behind lies a backlog, not the end', () => {
    expect(play(...BEGUN, stalled).slice(1)).toEqual(['break off', 'stop write-stall', 'settle leaver 200 at 7'])
    expect(play(answered, impatient, stalled).slice(1)).toEqual(['break off', 'linger until start'])
  })
})

describe('a request that may be sent again under its Idempotency-Key', () => {
  const alone = (...events: StreamEvent[]): string[] => playOn(new StreamState(true), ...events)

  test('is finished and closed as if its client were there, whenever that left', () => {
    expect(alone(...BEGUN, left, whole, kept)).toEqual([
      'answer begun',
      'break off',
      'go on',
      'read on',
      'settle complete 200',
      'close whole',
    ])
    expect(alone(left, ...BEGUN, forgotten, whole, kept).slice(1)).toEqual([
      'break off',
      'go on',
      'read on',
      'settle complete 200',
      'close whole',
    ])
    expect(alone(...BEGUN, stalled, left, whole, kept).slice(1)).toEqual([
      'break off',
      'go on',
      'read on',
      'settle complete 200',
      'close whole',
    ])
  })

  test('ends by a fault or a limit as any other', () => {
    expect(alone(...BEGUN, left, fault, kept).slice(3)).toEqual(['stop done', 'settle fault 200', 'close upstreamBroken'])
    expect(alone(...BEGUN, left, stopped('deadline'), kept).slice(3)).toEqual(['stop deadline', 'settle deadline 200', 'close timedOut'])
    expect(alone(...BEGUN, whole, unkept).at(-1)).toBe('close storageUnavailable')
  })
})

test('in any order of anything: one status, one settle, one end, and nothing behind the closing', () => {
  const EVENTS = [
    answered,
    spoke,
    began,
    impatient,
    forgotten,
    whole,
    fault,
    left,
    stalled,
    ...(['deadline', 'stall', 'drain', 'disabled'] as const).map(stopped),
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...EVENTS), { maxLength: 12 }), fc.nat(14), fc.boolean(), (events, settledAfter, isKept) => {
      const state = new StreamState()
      const effects: string[] = []
      let sinceDecided = 0
      let hasSettled = false
      for (const event of [...events, fault, ...events]) {
        if (state.isDecided && !hasSettled && sinceDecided++ === settledAfter) {
          effects.push(...state.on(isKept ? kept : unkept).map(textOf))
          hasSettled = true
        }
        const wasDecided = state.isDecided
        const said = state.on(event).map(textOf)
        if (wasDecided) expect(said).toEqual([])
        effects.push(...said)
      }
      if (!hasSettled) effects.push(...state.on(isKept ? kept : unkept).map(textOf))
      const count = (what: string): number => effects.filter((effect) => effect.startsWith(what)).length
      expect([count('settle'), count('answer'), count('stop') + count('read on')]).toEqual([1, 1, 1])
      // Whoever is there gets one end: in a status of its own, or in the stream; nobody else gets any.
      const refused = effects.filter((effect) => /^answer (?!begun|waiting)/.test(effect)).length
      expect(count('close') + refused).toBe(state.hasLeft ? 0 : 1)
      expect(count('break off')).toBe(state.hasLeft ? 1 : 0)
      if (count('close') === 1) expect(effects.at(-1)).toStartWith('close')
      if (!isKept) expect(effects).not.toContain('close whole')
    }),
    { numRuns: runs(500) },
  )
})
