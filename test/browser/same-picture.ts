/**
 * Whether two pictures of a part show the same. They are compared in cells of 8 by 8 pixels of the page, each as its average colour, so that another browser, which draws the
 * edges of letters a little differently, sees the same, and a part that has another colour, size or place does not.
 */

import type { Page } from 'playwright-core'

/** `rgba`: four bytes a pixel. */
export type Picture = Readonly<{ width: number; height: number; rgba: Uint8Array }>

/** Pictures are kept at half the size of the page. */
export const SCALE = 2
const CELL = 8 / SCALE
/** Of a colour's part, 0 to 255. */
const CHANNEL_MAX = 20
/** How much wider or higher a part may be, in pixels of a picture. */
const SIZE_MAX = 2

/** In pixels of the PNG. */
export type Box = Readonly<{ x: number; y: number; width: number; height: number }>
/** `boxes`: the parts of it that are wanted; by default it is wanted whole. */
export type Png = Readonly<{ png: Buffer; boxes?: readonly Box[] }>

/** Reads PNGs with the browser; `scale`: how many pixels become one, in both ways. */
export async function picturesOf(page: Page, pngs: readonly Png[], scale: number): Promise<readonly Picture[]> {
  const texts = JSON.stringify(pngs.map(({ png, boxes }) => ({ png: png.toString('base64'), boxes })))
  const read: readonly Readonly<{ width: number; height: number; rgba: string }>[] = await page.evaluate(`(${READ})(${texts}, ${scale})`)
  return read.map(({ rgba, ...size }) => ({ ...size, rgba: Buffer.from(rgba, 'base64') }))
}

/** Pictures as PNGs. */
export async function pngsOf(page: Page, pictures: readonly Picture[]): Promise<readonly Buffer[]> {
  const texts = JSON.stringify(pictures.map(({ rgba, ...size }) => ({ ...size, rgba: Buffer.from(rgba).toString('base64') })))
  const made: readonly string[] = await page.evaluate(`(${WRITE})(${texts})`)
  return made.map((png) => Buffer.from(png, 'base64'))
}

const BASE64 = `
  const bytesOf = (base64) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  const textOf = async (blob) => {
    const reader = new FileReader()
    await new Promise((read) => { reader.onload = read; reader.readAsDataURL(blob) })
    return reader.result.slice(reader.result.indexOf(',') + 1)
  }`

/** Colours are averaged here and not by the canvas, since browsers differ in how they make a picture smaller. */
const READ = `async (pngs, scale) => {${BASE64}
  const cutOut = async (canvas, box) => {
    const [x, y, across, down] = [box.x, box.y, box.width, box.height].map(Math.round)
    const [width, height] = [Math.floor(across / scale), Math.floor(down / scale)]
    const { data } = canvas.getImageData(x, y, across, down)
    const sums = new Uint16Array(width * height * 4)
    for (let y = 0; y < height * scale; y++) for (let x = 0; x < width * scale; x++) {
      const [from, to] = [(y * across + x) * 4, (Math.floor(y / scale) * width + Math.floor(x / scale)) * 4]
      for (let part = 0; part < 4; part++) sums[to + part] += data[from + part]
    }
    return { width, height, rgba: await textOf(new Blob([Uint8Array.from(sums, (sum) => Math.round(sum / scale ** 2))])) }
  }
  const read = async ({ png, boxes }) => {
    const image = await createImageBitmap(new Blob([bytesOf(png)], { type: 'image/png' }))
    const { width, height } = image
    const canvas = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true })
    canvas.drawImage(image, 0, 0)
    return Promise.all((boxes ?? [{ x: 0, y: 0, width, height }]).map((box) => cutOut(canvas, box)))
  }
  return (await Promise.all(pngs.map(read))).flat()
}`

const WRITE = `async (pictures) => {${BASE64}
  const write = async ({ width, height, rgba }) => {
    const canvas = new OffscreenCanvas(width, height)
    canvas.getContext('2d').putImageData(new ImageData(new Uint8ClampedArray(bytesOf(rgba)), width, height), 0, 0)
    return textOf(await canvas.convertToBlob({ type: 'image/png' }))
  }
  return Promise.all(pictures.map(write))
}`

/** The share of cells with something in them that differ, 0 to 1; 1 where the sizes differ. A part may be moved by a pixel. */
export function differenceOf(one: Picture, other: Picture): number {
  if (Math.abs(one.width - other.width) > SIZE_MAX || Math.abs(one.height - other.height) > SIZE_MAX) return 1
  const [width, height] = [Math.min(one.width, other.width), Math.min(one.height, other.height)]
  const size = { across: Math.floor((width - 2) / CELL), down: Math.floor((height - 2) / CELL) }
  const cells = cellsOf(one, size, 1, 1)
  return Math.min(...MOVES.map(([x, y]) => shareOf(cells, cellsOf(other, size, 1 + x, 1 + y))))
}

const MOVES = [0, -1, 1].flatMap((x) => [0, -1, 1].map((y) => [x, y] as const))

function shareOf(first: readonly Cell[], second: readonly Cell[]): number {
  const [firstPaper, secondPaper] = [mostOf(first), mostOf(second)]
  let inked = 0
  let different = 0
  for (const [at, cell] of first.entries()) {
    const against = second[at] ?? cell
    if (distance(cell, firstPaper) > 2 || distance(against, secondPaper) > 2) inked++
    if (distance(cell, against) > CHANNEL_MAX) different++
  }
  return different / Math.max(inked, 1)
}

type Cell = readonly [number, number, number]

const distance = (one: Cell, other: Cell): number => Math.max(...one.map((part, at) => Math.abs(part - (other[at] ?? 0))))

type Size = Readonly<{ across: number; down: number }>

/** `left`, `top`: where the first cell begins. */
function cellsOf({ width, rgba }: Picture, { across, down }: Size, left: number, top: number): readonly Cell[] {
  const partOf = (x: number, y: number, part: number): number => {
    let sum = 0
    for (let at = 0; at < CELL ** 2; at++) sum += rgba[((y + Math.floor(at / CELL)) * width + x + (at % CELL)) * 4 + part] ?? 0
    return Math.round(sum / CELL ** 2)
  }
  return Array.from({ length: across * down }, (_, at) => {
    const [x, y] = [left + (at % across) * CELL, top + Math.floor(at / across) * CELL]
    return [partOf(x, y, 0), partOf(x, y, 1), partOf(x, y, 2)] as const
  })
}

/** The most frequent colour, which is that of the paper. */
function mostOf(cells: readonly Cell[]): Cell {
  const counts = Map.groupBy(cells, (cell) => cell.join())
  return [...counts.values()].reduce((most, same) => (same.length > most.length ? same : most), [])[0] ?? [0, 0, 0]
}
