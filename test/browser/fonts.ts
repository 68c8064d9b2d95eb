/** The fonts of pictures, out of packages and not of the machine: text is as wide, and a picture is the same, wherever it is taken. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'

const read = (name: string): string =>
  readFileSync(fileURLToPath(import.meta.resolve(`@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`))).toString('base64')

const FACES = [
  { property: '--font', family: 'Tollgate Sans', base64: read('noto-sans') },
  { property: '--font-code', family: 'Tollgate Code', base64: read('noto-sans-mono') },
]

/** Pages of it that are opened from now on have the fonts. They come by script, since a page's policy allows no font from anywhere; a page that draws text into a canvas may be earlier. */
export async function withFonts(pages: BrowserContext | Page): Promise<void> {
  await pages.addInitScript((faces: typeof FACES) => {
    const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    const page = globalThis as unknown as PageGlobals
    const sheet = new page.CSSStyleSheet()
    // Every browser then places letters between pixels, and none moves them for the screen.
    sheet.replaceSync(
      `* { text-rendering: geometricPrecision } :root { ${faces.map(({ property, family }) => `${property}: "${family}", sans-serif`).join('; ')} }`,
    )
    page.document.adoptedStyleSheets = [sheet]
    for (const { family, base64 } of faces) page.document.fonts.add(new page.FontFace(family, bytesOf(base64), { weight: '100 900' }))
  }, FACES)
}

/** What of a page's globals is used here: tests are typed without a page. */
type PageGlobals = Readonly<{
  CSSStyleSheet: new () => { replaceSync(text: string): void }
  FontFace: new (family: string, bytes: Uint8Array, options: { weight: string }) => unknown
  document: { adoptedStyleSheets: unknown[]; fonts: { add(face: unknown): void } }
}>
