/** The pages of the operator's listener, each rendered when it is first asked for, and their pictures, each read then. This file is loaded with the first page. Rules: requests.md "Documents". */

import { OPERATE, operatePagesOf } from '../docs/operate.ts'
import { type Frame, missingHtml, pageHtml } from '../docs/page.ts'
import { pictureFileOf } from '../docs/pictures.ts'
import { HTML, STYLESHEET_ADDRESS, TEXT } from './docs-look.ts'
import { makeStatic, type StaticContent } from './static-answer.ts'

export class OperateShelf {
  readonly #guideUrl: () => string
  #frame: Frame = { book: OPERATE, pages: [], stylesheet: STYLESHEET_ADDRESS }
  /** The guide's address that the rendered pages link to. */
  #linked: string | undefined
  readonly #made = new Map<string, StaticContent>()
  readonly #pictures = new Map<string, StaticContent>()

  /** `guideUrl`: read each time, since a reload may change it. */
  constructor(guideUrl: () => string) {
    this.#guideUrl = guideUrl
  }

  find(path: string): StaticContent | undefined {
    this.#renew()
    const made = this.#made.get(path)
    if (made !== undefined) return made
    const page = this.#frame.pages.find((one) => one.path === path || one.markdownPath === path)
    if (page === undefined) return undefined
    const text = path === page.markdownPath ? page.markdown : pageHtml(page, this.#frame)
    const content = makeStatic({ text, type: path === page.markdownPath ? TEXT : HTML, caching: 'revalidate' })
    this.#made.set(path, content)
    return content
  }

  /** A picture of a page. */
  async picture(path: string): Promise<StaticContent | undefined> {
    const file = pictureFileOf(path)
    if (file === undefined) return undefined
    const read = this.#pictures.get(path)
    if (read !== undefined) return read
    const content = makeStatic({ text: await Bun.file(file).bytes(), type: 'image/webp', caching: 'revalidate' })
    this.#pictures.set(path, content)
    return content
  }

  missing(): StaticContent {
    this.#renew()
    return makeStatic({ text: missingHtml(this.#frame), type: HTML, caching: 'revalidate' })
  }

  #renew(): void {
    const guideUrl = this.#guideUrl()
    if (guideUrl === this.#linked) return
    this.#linked = guideUrl
    this.#frame = { ...this.#frame, pages: operatePagesOf(guideUrl) }
    this.#made.clear()
  }
}
