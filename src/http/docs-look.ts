/** The stylesheet and the icon of all documents, on both listeners. Rules: requests.md "Documents". */

import base from '../web/base.css' with { type: 'text' }
import icon from '../web/icon.svg' with { type: 'text' }
import guide from '../web/style.css' with { type: 'text' }
import { digestOf, makeStatic, type StaticContent } from './static-answer.ts'

const css = `${base}\n${guide}`
const CSS = { text: css, type: 'text/css; charset=utf-8' }
const CURRENT = makeStatic({ ...CSS, caching: 'immutable' })
/** The stylesheet at the address that a page of another version names: browsers must not keep it under that address. */
const OTHER = makeStatic({ ...CSS, caching: 'revalidate' })

/** The address changes with the stylesheet. */
export const STYLESHEET_ADDRESS = `/docs/style.css?v=${digestOf(css)}`
/** The stylesheet is kept for ever under the address that this version's pages name. */
export const stylesheetAt = (url: string): StaticContent => (url.endsWith(STYLESHEET_ADDRESS) ? CURRENT : OTHER)
export const ICON = makeStatic({ text: icon, type: 'image/svg+xml', caching: 'revalidate' })

export const HTML = 'text/html; charset=utf-8'
/** The type under which Markdown is sent: browsers show plain text, where they would download `text/markdown`. */
export const TEXT = 'text/plain; charset=utf-8'
