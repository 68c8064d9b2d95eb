/** The stylesheet and the icon of all documents, on both listeners. Rules: requests.md "Documents". */

import base from '../web/base.css' with { type: 'text' }
import icon from '../web/icon.svg' with { type: 'text' }
import guide from '../web/style.css' with { type: 'text' }
import { digestOf, makeStatic, type StaticContent } from './static-answer.ts'

const css = `${base}\n${guide}`
const CSS = { text: css, type: 'text/css; charset=utf-8' }
const CURRENT = makeStatic({ ...CSS, caching: 'immutable' })
/** For the address of another version's page: browsers must not keep it under that one. */
const OTHER = makeStatic({ ...CSS, caching: 'revalidate' })

/** The address changes with the stylesheet. */
export const STYLESHEET_ADDRESS = `/docs/style.css?v=${digestOf(css)}`
/** Under the address that a page names it is kept for ever. */
export const stylesheetAt = (url: string): StaticContent => (url.endsWith(STYLESHEET_ADDRESS) ? CURRENT : OTHER)
export const ICON = makeStatic({ text: icon, type: 'image/svg+xml', caching: 'revalidate' })

export const HTML = 'text/html; charset=utf-8'
/** The type of Markdown: browsers show plain text, where they would download `text/markdown`. */
export const TEXT = 'text/plain; charset=utf-8'
