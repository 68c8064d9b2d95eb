/** Protects the benchmark's picture: a bar is as long as the logarithm of its figure, the goal stands in the same scale, and nothing in a name breaks the file. */

import { expect, test } from 'bun:test'
import { type Bar, chart, type Panel } from '../../bench/chart.ts'
import { picture } from '../../bench/picture.ts'
import { Readings, TOLLGATE } from '../../bench/readings.ts'

const bar = (who: string, value: number): Bar => ({ who, value, text: String(value) })
const panel = (bars: readonly Bar[], goal?: number): Panel => ({
  title: 'a title',
  from: 10,
  to: 1_000,
  groups: [{ name: 'a row', bars, goal }],
})
const drawn = (one: Panel): string => chart([one], { us: 'us', reference: 'them', caption: 'a caption' })
const widths = (svg: string, kind: string): number[] =>
  [...svg.matchAll(new RegExp(`class="${kind}" [^>]*width="([\\d.]+)"`, 'g'))].map(([, width]) => Number(width))

test('a bar is as long as the logarithm of its figure; what is out of the scale has its shortest or longest bar', () => {
  const [whole = 0] = widths(drawn(panel([bar('us', 1_000)])), 'us')
  expect(widths(drawn(panel([bar('us', 100)])), 'us')[0]).toBeCloseTo(whole / 2, 1)
  expect(widths(drawn(panel([bar('us', 10_000)])), 'us')).toEqual([whole])
  expect(widths(drawn(panel([bar('us', -5)])), 'us')).toEqual([2])
})

test('the goal stands where a bar of its size would end', () => {
  const svg = drawn(panel([bar('us', 100)], 100))
  const [, from = '', length = ''] = /class="us" x="([\d.]+)".* width="([\d.]+)"/.exec(svg) ?? []
  expect(Number(/class="goal" x1="([\d.]+)"/.exec(svg)?.[1])).toBeCloseTo(Number(from) + Number(length), 1)
  expect(drawn(panel([bar('us', 10)]))).not.toContain('class="goal" x1')
})

test('it has colours for light and dark, one for us, one for the reference, one for all others', () => {
  const svg = drawn(panel([bar('us', 2), bar('them', 3), bar('other', 4), bar('another', 5)]))
  expect([widths(svg, 'us').length, widths(svg, 'reference').length, widths(svg, 'peer').length]).toEqual([1, 1, 2])
  expect(svg).toContain('prefers-color-scheme: dark')
})

test('a name cannot break the file', () => {
  const svg = drawn({ title: '<script>', from: 1, to: 2, groups: [{ name: 'a & "b"', bars: [bar('<i>', 1)], goal: undefined }] })
  expect(svg).toContain('&lt;script&gt;')
  expect(svg).toContain('a &amp; &quot;b&quot;')
  expect(svg).not.toMatch(/<script>|<i>/)
})

test('the picture shows rates as cost, so that shorter is better everywhere, and leaves out what was not measured', () => {
  const readings = new Readings()
  readings.add('chat.rate', 'R', 30_000)
  readings.add('chat.rate', TOLLGATE, 15_000)
  readings.add('one.p50', 'R', 40)
  readings.add('one.p50', TOLLGATE, 240)
  const svg = picture(readings, ['R', 'P', TOLLGATE], 'a caption')
  expect(svg).toContain('>Tollgate 2<')
  expect(svg).toContain('>bare Bun 1<')
  expect(svg).toContain('>Tollgate +200 µs<')
  expect(svg).not.toContain('Portkey')
  expect(svg).not.toContain('CPU a request')
})
