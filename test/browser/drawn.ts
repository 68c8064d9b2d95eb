/** What stands on the canvas of a chart, read pixel by pixel, so that a chart that draws something else than its figures fails a test. */

import type { Page } from 'playwright-core'

/** `colour`: "#0f9673", '' where nothing is drawn. `low`, `high`: shares of the plot's height. */
export type Run = Readonly<{ colour: string; low: number; high: number }>

/** The colours of a plot from its bottom upwards, at places that are shares of its width. `chart`: how many charts of the page stand before it. */
export function runsIn(page: Page, chart: number, places: readonly number[]): Promise<readonly (readonly Run[])[]> {
  return page.evaluate(`(${READ})(${chart}, ${JSON.stringify(places)})`)
}

const READ = `(chart, places) => {
  const over = document.querySelectorAll('.chart .u-over')[chart]
  const canvas = over.parentElement.querySelector('canvas')
  const [inside, outside] = [over, canvas].map((one) => one.getBoundingClientRect())
  const scale = canvas.width / outside.width
  const [left, top, width, height] = [inside.left - outside.left, inside.top - outside.top, inside.width, inside.height].map((px) => Math.round(px * scale))
  const { data } = canvas.getContext('2d').getImageData(left, top, width, height)
  const hex = (at) => (data[at + 3] === 0 ? '' : '#' + [0, 1, 2].map((part) => data[at + part].toString(16).padStart(2, '0')).join(''))
  return places.map((place) => {
    const x = Math.min(width - 1, Math.round(place * width))
    const runs = []
    for (let y = 0; y < height; y++) {
      const colour = hex(((height - 1 - y) * width + x) * 4)
      if (runs.at(-1)?.colour === colour) runs.at(-1).high = (y + 1) / height
      else runs.push({ colour, low: y / height, high: (y + 1) / height })
    }
    return runs
  })
}`

/** Of how much a bar of a colour is, where the plot is so high; 0: there is none. */
export function amountOf(runs: readonly Run[], colour: string, high: number): number {
  const own = runs.filter((run) => run.colour === colour)
  return own.length === 0 ? 0 : ((own.at(-1)?.high ?? 0) - (own[0]?.low ?? 0)) * high
}

/** The colours of a chart's legend by name. */
export async function legendOf(page: Page, chart: number): Promise<Readonly<Record<string, string>>> {
  const items = page.locator('figure.chart').nth(chart).locator('.legend li')
  const found = await items.evaluateAll((all) => all.map((one) => [one.textContent, one.querySelector('rect')?.getAttribute('fill')]))
  return Object.fromEntries(found)
}
