/**
 * The parts of the pages look as they did, in each state and both themes: each section of the style guide is compared with its picture in `styles`, coarsely enough for another
 * browser. `GOLDEN=write bun test test/browser/styles.test.ts` takes the pictures anew. And no gateway serves the guide. Rules: pages.md "Style guide".
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Glob } from 'bun'
import type { Browser, Locator, Page } from 'playwright-core'
import { LOOKS_WANTED, lookAt } from './axe.ts'
import { openBrowser } from './chromium.ts'
import { withFonts } from './fonts.ts'
import { type Box, differenceOf, type Picture, type Png, picturesOf, pngsOf, SCALE } from './same-picture.ts'
import { serveStyleGuide } from './style-guide.ts'

setDefaultTimeout(120_000)

const FOLDER = join(import.meta.dir, 'styles')
/** The share of a part's cells that may differ. */
const SHARE_MAX = 0.025
const NOW = '2026-11-22T12:00:00Z'

const press = (name: string) => async (section: Locator) => {
  await section.getByRole('button', { name }).click()
  return section
}
/** What is done in a section before its picture, and what is then taken; other sections are taken as they stand. */
const ACTS: Readonly<Record<string, (section: Locator, page: Page) => Promise<Locator>>> = {
  'Buttons, focused': async (section, page) => {
    await section.getByRole('button', { name: 'Plain' }).first().focus()
    await page.keyboard.press('Tab')
    return section
  },
  'Menus, open': async (section) => {
    await section.locator('summary').click()
    return section
  },
  'Menus, of a row': press('Actions for laptop'),
  'Finding, found': async (section) => {
    await section.getByRole('combobox').fill('sam')
    await section.getByRole('option').first().waitFor()
    return section
  },
  'Finding, nothing': async (section) => {
    await section.getByRole('combobox').fill('none')
    await section.getByText('Nothing found').waitFor()
    return section
  },
  'Picks, open': async (section) => {
    await section.getByRole('combobox', { name: 'Model' }).click()
    await section.getByRole('option').first().waitFor()
    return section
  },
  'Views, open': async (section) => {
    await section.locator('summary').click()
    await section.getByRole('link').first().waitFor()
    return section
  },
  'Dialogs, open': async (section, page) => {
    await press('Open a dialog')(section)
    return page.getByRole('dialog')
  },
  // All of the page is in UTC after it.
  'Zone, in UTC': press('Show UTC'),
}
const [WIDE, PHONE] = [800, 360]
/** Sections that a phone shows in another way. */
const ON_PHONE = ['Notices', 'Spans', 'Picks', 'Figures', 'Tables', 'Cards']
const LOOKS = (
  [
    { colorScheme: 'light', width: WIDE },
    { colorScheme: 'dark', width: PHONE },
    { colorScheme: 'dark', width: WIDE },
    { colorScheme: 'light', width: PHONE },
  ] as const
).slice(0, LOOKS_WANTED)

let guide: Awaited<ReturnType<typeof serveStyleGuide>>
let browser: Browser
beforeAll(async () => {
  guide = await serveStyleGuide()
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await guide.stop()
})

async function openGuide(width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
  const look = {
    colorScheme,
    viewport: { width, height: 900 },
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
    deviceScaleFactor: 1,
  } as const
  const context = await browser.newContext({ ...look, reducedMotion: 'reduce' })
  await withFonts(context)
  const page = await context.newPage()
  await page.clock.setFixedTime(NOW)
  await page.goto(guide.url)
  await page.getByRole('region', { name: 'Charts', exact: true }).waitFor()
  await page.evaluate('document.fonts.ready')
  // Charts that were drawn before the fonts were there are drawn anew when the theme changes.
  await page.emulateMedia({ colorScheme: colorScheme === 'light' ? 'dark' : 'light' })
  await page.evaluate(FRAMES)
  await page.emulateMedia({ colorScheme })
  await page.evaluate(FRAMES)
  return page
}

const FRAMES = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))'

type Named = Readonly<{ name: string; picture: Picture }>

/** Each section as it stands, out of one picture of the page. */
async function sectionsOf(page: Page, isWanted: (name: string) => boolean): Promise<readonly Named[]> {
  const all: readonly (Box & Readonly<{ name: string }>)[] = await page.evaluate(BOXES)
  expect(all.length).toBeGreaterThan(10)
  const boxes = all.filter(({ name }) => isWanted(name))
  const pictures = await picturesOf(page, [{ png: await page.screenshot({ ...AS_IT_IS, fullPage: true }), boxes }], SCALE)
  return named(boxes.map(({ name }) => name), pictures) // biome-ignore format: one line says it.
}

const AS_IT_IS = { animations: 'disabled', caret: 'hide', scale: 'css' } as const
/** Each section begins on a pixel and is as high as whole ones: what stands above it changes nothing in its picture. */
const BOXES = `[...document.querySelectorAll('.sample')].map((one) => {
  one.style.marginTop = '0'
  const { top: stands } = one.getBoundingClientRect()
  one.style.marginTop = Math.ceil(stands) - stands + 'px'
  one.style.minHeight = Math.ceil(one.getBoundingClientRect().height) + 'px'
  const { left, top, width, height } = one.getBoundingClientRect()
  return { name: one.getAttribute('aria-label'), x: left + scrollX, y: top + scrollY, width, height }
})`

/** Each section after something was done in it. */
async function actedOn(page: Page): Promise<readonly Named[]> {
  const names = Object.keys(ACTS)
  const pngs: Png[] = []
  for (const name of names) {
    const section = page.getByRole('region', { name: name.split(',')[0] ?? '', exact: true })
    const shown = (await ACTS[name]?.(section, page)) ?? section
    await page.mouse.move(0, 0)
    await page.evaluate(FRAMES)
    pngs.push({ png: await shown.screenshot(AS_IT_IS) })
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.evaluate(FRAMES)
  }
  return named(names, await picturesOf(page, pngs, SCALE))
}

const named = (names: readonly string[], pictures: readonly Picture[]): readonly Named[] =>
  names.flatMap((name, at) => (pictures[at] === undefined ? [] : [{ name, picture: pictures[at] }]))

/** Compares with the pictures that are kept, or keeps these. Each that differs is a sentence. */
async function compared(page: Page, shown: readonly Named[], look: string): Promise<readonly string[]> {
  const paths = shown.map(({ name }) => join(FOLDER, `${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}-${look}.png`))
  const keep = async (folder: string): Promise<void> => {
    mkdirSync(folder, { recursive: true })
    const pngs = await pngsOf(page, shown.map(({ picture }) => picture)) // biome-ignore format: one line says it.
    for (const [at, path] of paths.entries()) writeFileSync(join(folder, basename(path)), pngs[at] ?? '')
  }
  if (process.env['GOLDEN'] === 'write') await keep(FOLDER)
  const pngs = paths.map((path) => ({ png: existsSync(path) ? readFileSync(path) : NO_PICTURE }))
  const kept = await picturesOf(page, pngs, 1)
  const shares = shown.map(({ picture }, at) => (kept[at] === undefined ? 1 : differenceOf(kept[at], picture)))
  if (process.env['SHARES']) console.log(shares.map((share, at) => `${basename(paths[at] ?? '')} ${share.toFixed(4)}`).join('\n'))
  if (shares.every((share) => share <= SHARE_MAX)) return []
  const seen = mkdtempSync(join(tmpdir(), 'tollgate-styles-'))
  await keep(seen)
  return paths.flatMap((path, at) => {
    const share = shares[at] ?? 1
    return share <= SHARE_MAX ? [] : [`${basename(path)}: ${(share * 100).toFixed(1)} % differs; it is in ${seen} now`]
  })
}

/** One pixel, where no picture is kept yet. */
const NO_PICTURE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')

test('no gateway serves the style guide: nothing outside of its folder imports it', async () => {
  const paths = [...new Glob('src/**/*.{ts,tsx,html,css}').scanSync('.')].filter((path) => !path.startsWith('src/web/styles/'))
  const texts = await Promise.all(paths.map((path) => Bun.file(path).text()))
  expect(paths.length).toBeGreaterThan(500)
  expect(paths.filter((_, at) => /["'][^"']*\/styles\//.test(texts[at] ?? ''))).toEqual([])
})

for (const { colorScheme, width } of LOOKS)
  test(`each part looks as it did: ${colorScheme}, ${width} px`, async () => {
    const page = await openGuide(width, colorScheme)
    try {
      const stands = await sectionsOf(page, (name) => width === WIDE || ON_PHONE.includes(name))
      const acted = width === WIDE ? await actedOn(page) : []
      expect(await compared(page, [...stands, ...acted], `${width}-${colorScheme}`)).toEqual([])
      await lookAt(page, 'Styles')
    } finally {
      await page.context().close()
    }
  })
