/** Protects the benchmark's table: what stands in a cell, what a goal says, and when it counts as reached. */

import { describe, expect, test } from 'bun:test'
import { judge, judgedText } from '../../bench/judge.ts'
import { NONE, Readings, TOLLGATE } from '../../bench/readings.ts'
import type { Figure, Goal } from '../../bench/rows.ts'
import { tableText } from '../../bench/table.ts'
import { digits, inUnit } from '../../bench/units.ts'

function readings(figures: Readonly<Record<string, Readonly<Record<string, number | readonly number[]>>>>): Readings {
  const all = new Readings()
  for (const [metric, ofAll] of Object.entries(figures))
    for (const [contestant, values] of Object.entries(ofAll))
      for (const value of [values].flat()) all.add(metric, contestant, Number(value))
  return all
}

const WHO = ['R', 'P', TOLLGATE]
const row = (...figures: readonly Figure[]) => [{ name: 'a row', figures }]
const rate = (...goals: readonly Goal[]): Figure => ({ metric: 'rate', unit: '/s', as: 'ratio', goals })
const late = (...goals: readonly Goal[]): Figure => ({ metric: 'late', unit: 'µs', as: 'added', goals })

describe('a cell', () => {
  test('is a multiple of R with the figure behind it; what is added to R; or the figure itself', () => {
    const seen = readings({ rate: { R: 30_000, P: 600, [TOLLGATE]: 15_000 }, late: { R: 40, [TOLLGATE]: 190 }, size: { [TOLLGATE]: 150 } })
    const [judged] = judge(row(rate(), late(), { metric: 'size', unit: 'MB', as: 'itself', label: 'idle' }), seen, WHO)
    expect(judged?.cells).toEqual({
      R: '1 (30,000/s) · 0 (40 µs)',
      P: '0.02 R (600/s)',
      [TOLLGATE]: '0.5 R (15,000/s) · +150 µs · idle 150 MB',
    })
  })

  test('is the median of the turns, and says how far they lie apart when that is far', () => {
    const seen = readings({ rate: { R: [100, 100, 100], [TOLLGATE]: [40, 70, 50] } })
    expect(judge(row(rate()), seen, WHO)[0]?.cells[TOLLGATE]).toBe('0.5 R (50/s ±30 %)')
  })

  test('has its sign where a gateway is faster than R', () => {
    const seen = readings({ late: { R: 90, [TOLLGATE]: 40 } })
    expect(judge(row(late()), seen, WHO)[0]?.cells[TOLLGATE]).toBe('−50 µs')
  })
})

describe('a row of one contestant', () => {
  test('shows that one alone and judges its figures; without them there is no row', () => {
    const rows = [{ name: 'a row', figures: [rate({ sense: 'least', value: 2, of: 'R' })], only: NONE }]
    const seen = readings({ rate: { [NONE]: 200, R: 100, [TOLLGATE]: 20 } })
    expect(judge(rows, seen, [NONE, ...WHO])).toMatchObject([{ cells: { [NONE]: '2 R (200/s)' }, met: true }])
    expect(judge(rows, readings({ rate: { [NONE]: 199, R: 100 } }), [NONE, ...WHO])).toMatchObject([{ met: false }])
    expect(judge(rows, readings({ rate: { R: 100, [TOLLGATE]: 20 } }), [NONE, ...WHO])).toEqual([])
  })
})

describe('a goal', () => {
  const isMet = (figure: Figure, seen: Readings): boolean | undefined => judge(row(figure), seen, WHO)[0]?.met

  test('of R, of P, of itself and of flushes is reached on its line and missed behind it', () => {
    const at = (figure: number) => readings({ rate: { R: 100, P: 5, [TOLLGATE]: figure }, flush: { [NONE]: 1 } })
    expect([
      isMet(rate({ sense: 'least', value: 0.5, of: 'R' }), at(50)),
      isMet(rate({ sense: 'least', value: 0.5, of: 'R' }), at(49)),
    ]).toEqual([true, false])
    expect([
      isMet(rate({ sense: 'least', value: 20, of: 'P' }), at(100)),
      isMet(rate({ sense: 'least', value: 20, of: 'P' }), at(99)),
    ]).toEqual([true, false])
    expect([
      isMet(rate({ sense: 'most', value: 50, of: 'one' }), at(50)),
      isMet(rate({ sense: 'most', value: 50, of: 'one' }), at(51)),
    ]).toEqual([true, false])
    const added = (figure: number) => readings({ late: { R: 100, [TOLLGATE]: figure }, flush: { [NONE]: 70 } })
    const flush: Figure = late({ sense: 'most', value: 1, of: 'flush', plus: 120 })
    expect([isMet(flush, added(290)), isMet(flush, added(291))]).toEqual([true, false])
  })

  test('is missed where one of several is, and open where what it is of was not measured', () => {
    const seen = readings({ rate: { R: 100, [TOLLGATE]: 60 } })
    const [ofR, ofP]: Goal[] = [
      { sense: 'least', value: 0.5, of: 'R' },
      { sense: 'least', value: 2, of: 'P' },
    ]
    expect(isMet(rate(ofR!, ofP!), seen)).toBeUndefined()
    expect(isMet(rate({ ...ofR!, value: 0.7 }, ofP!), seen)).toBe(false)
    expect(isMet(rate(), seen)).toBeUndefined()
  })

  test('says what it is', () => {
    const figures: Figure[] = [
      rate({ sense: 'least', value: 0.45, of: 'R' }, { sense: 'least', value: 20, of: 'P' }),
      late({ sense: 'most', value: 1, of: 'flush', plus: 120 }),
    ]
    expect(judge(row(...figures), readings({ rate: { R: 1 } }), WHO)[0]?.goal).toBe('≥ 0.45 R, ≥ 20 P · ≤ a flush + 120 µs')
  })
})

test('a row of which nothing was measured is left out', () => {
  expect(judge(row(rate()), readings({ late: { R: 1 } }), WHO)).toEqual([])
})

test('figures have three digits and the unit that keeps them short', () => {
  expect([0.0512, 0.45, 1.4, 8.714, 35.64, 150.4, 16_440].map(digits)).toEqual(['0.051', '0.45', '1.4', '8.71', '35.6', '150', '16,400'])
  expect([inUnit(90.4, 'µs'), inUnit(1_412, 'µs'), inUnit(2_500_000, 'µs'), inUnit(0, 'µs'), inUnit(1_420_000, '/s')]).toEqual([
    '90.4 µs',
    '1.41 ms',
    '2.5 s',
    '0 µs',
    '1.42 M/s',
  ])
})

test('a table stands in columns, the first to the left', () => {
  expect(
    tableText(
      ['', 'R'],
      [
        ['µs, added', '1'],
        ['b', '1,000 µs'],
      ],
    ),
  ).toBe(['|           |        R |', '|-----------|---------:|', '| µs, added |        1 |', '| b         | 1,000 µs |'].join('\n'))
  const text = judgedText(
    judge(row(rate({ sense: 'least', value: 0.5, of: 'R' })), readings({ rate: { R: 2, [TOLLGATE]: 1 } }), ['R', TOLLGATE]),
    ['R', TOLLGATE],
  )
  expect(text.split('\n').at(-1)).toBe('| a row | 1 (2/s) | 0.5 R (1/s) | ≥ 0.5 R | yes |')
})
