/**
 * How a page is looked at: axe-core finds nothing serious, nothing is wider than the screen, and on a phone what can be done stands below its title; in
 * either theme, on a phone, a desktop and a wide screen. `PAGE_LOOKS` says at how many of the four: the first two have both themes, and a phone and a
 * desktop.
 */

import { expect } from 'bun:test'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

export type Look = Readonly<{ colorScheme: 'light' | 'dark'; width: number }>

const ALL_LOOKS: readonly Look[] = [
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 1920 },
  { colorScheme: 'dark', width: 360 },
]
/** How many of the four looks. */
export const LOOKS_WANTED = Number(process.env['PAGE_LOOKS'] ?? 2)
export const LOOKS = ALL_LOOKS.slice(0, LOOKS_WANTED)

/** The width of https://www.w3.org/TR/WCAG22/#reflow. */
const NARROWEST_PX = 320

/** The page as it stands now. `what`: which one it is, for whoever reads the failure. Answers how many rules of axe-core it kept. */
export async function lookAt(page: Page, what: string): Promise<number> {
  await page.evaluate(axe.source)
  // Of what passes only the rule is wanted: to name each of its elements takes longer than the rules.
  const { violations, passes } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  )
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  expect(serious.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0]?.html}`)).toEqual([])
  await expectFit(page, what)
  const size = page.viewportSize()
  if (size !== null && size.width <= 360) {
    expect([what, await page.evaluate(BESIDE)], 'what can be done stands below the title').toEqual([what, []])
    await page.setViewportSize({ ...size, width: NARROWEST_PX })
    await expectFit(page, `${what}, ${NARROWEST_PX} px`)
    await page.setViewportSize(size)
  }
  return passes.length
}

async function expectFit(page: Page, what: string): Promise<void> {
  const wider = await page.evaluate(WIDER)
  expect([what, wider]).toEqual([what, []])
}

/** What reaches past the screen's right edge and does not scroll inside itself; nothing where the page fits. */
const WIDER = `(() => {
  const root = document.documentElement
  if (root.scrollWidth <= root.clientWidth) return []
  const isPast = (one) => one.getBoundingClientRect().right > root.clientWidth + 1 && one.closest('.scroll') === null
  return [...document.querySelectorAll('body *')].filter(isPast).map((one) => one.outerHTML.slice(0, 80)).slice(0, 5).concat('sideways')
})()`

/** What can be done on a page or a part of it, and does not stand below its title, from the same edge. */
const BESIDE = `[...document.querySelectorAll('.page-head > .acts')].flatMap((acts) => {
  const [title, own] = [acts.parentElement.firstElementChild, acts].map((one) => one.getBoundingClientRect())
  return own.height === 0 || (own.top >= title.bottom && Math.abs(own.left - title.left) < 1) ? [] : [acts.outerHTML.slice(0, 80)]
})`
