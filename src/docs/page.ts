/**
 * The frame of a page, for the guide and for the operator's pages: menu, content, sections, links to the previous and the next page. The frame has no script and
 * no style attribute, so the strictest policy holds. Everything that is not rendered Markdown is escaped here.
 */

import icon from '../web/icon.svg' with { type: 'text' }
import { escapeHtml, type Heading, renderMarkdown } from './markdown.ts'

type Link = Readonly<{ path: string; title: string }>

/** `lede`: the paragraph under the title. */
export type Page = Readonly<{ path: string; markdownPath: string; title: string; lede: string; markdown: string }>

/** What the pages of one folder share. */
export type Book = Readonly<{
  name: string
  /** The path of the first page. */
  home: string
  /** The pages beside the book, such as the cabinet. */
  back: Link
  /** The menu's links that follow the pages. */
  after: readonly Link[]
  /** Files for programs, named under each page. */
  files: readonly Link[]
}>

export type Frame = Readonly<{
  book: Book
  pages: readonly Page[]
  /** The stylesheet's address, which changes whenever the stylesheet does. */
  stylesheet: string
}>

/** A page of a book as a document. */
export function pageHtml(page: Page, { book, pages, stylesheet }: Frame): string {
  const { html, headings } = renderMarkdown(page.markdown)
  const index = pages.indexOf(page)
  const links = [...pages, ...book.after]
  const next = links[index + 1]
  const files = [{ path: page.markdownPath, title: 'this page as Markdown' }, ...book.files]
  const article = `${withLede(html)}<footer class="after">
<nav class="turn" aria-label="Next and previous page">${turnTo(links[index - 1], 'Previous', 'prev')}${turnTo(next, 'Next', 'next')}</nav>
<p>For programs: ${files.map(({ path, title }) => `<a href="${path}">${escapeHtml(title)}</a>`).join(', ')}</p>
</footer>`
  return documentHtml({ book, title: page.title, lede: page.lede, path: page.path, links, headings, article, stylesheet })
}

export const API_REFERENCE = { path: '/docs/api', title: 'API reference' } as const

const LEDE = 'Every endpoint with its fields, examples and errors.'
const FILES = '<a href="/openapi.json">openapi.json</a>, <a href="/llms.txt">llms.txt</a>'

/** `files`: links for programs, as HTML. */
type Reference = Readonly<{ path: string; title: string; lede: string; files: string }>

/** The API reference, which stands after the pages of its book; default: that of the guide. `article` is HTML. */
export function referenceHtml(
  { article, headings }: Readonly<{ article: string; headings: readonly Heading[] }>,
  { book, pages, stylesheet }: Frame,
  { path, title, lede, files }: Reference = { ...API_REFERENCE, lede: LEDE, files: FILES },
): string {
  const links = [...pages, ...book.after]
  const after = `<footer class="after">
<nav class="turn" aria-label="Previous page">${turnTo(pages.at(-1), 'Previous', 'prev')}</nav>
<p>For programs: ${files}</p>
</footer>`
  const top = `<h1>${escapeHtml(title)}</h1>\n<p class="lede">${escapeHtml(lede)}</p>\n`
  return documentHtml({ path, title, book, lede, links, headings, article: `${top}${article}${after}`, stylesheet })
}

/** The page that is shown for an unknown path. */
export function missingHtml({ book, pages, stylesheet }: Frame): string {
  const links = [...pages, ...book.after]
  const list = links.map(({ path, title }) => `<li><a href="${path}">${escapeHtml(title)}</a></li>`).join('')
  const article = `<h1>Page not found</h1><p class="lede">There is nothing at this address. These are the pages:</p><ul>${list}</ul>`
  return documentHtml({ book, title: 'Page not found', lede: '', path: '', links, headings: [], article, stylesheet })
}

type Parts = Readonly<{
  book: Book
  title: string
  lede: string
  path: string
  links: readonly Link[]
  headings: readonly Heading[]
  article: string
  stylesheet: string
}>

function documentHtml({ book, title, lede, path, links, headings, article, stylesheet }: Parts): string {
  const menu = menuHtml(links, path)
  const sections = headings.filter(({ level }) => level === 2)
  const contents = sections.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`).join('')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} – Tollgate</title>
${lede === '' ? '' : `<meta name="description" content="${escapeHtml(lede)}">\n`}<meta name="color-scheme" content="light dark">
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="${stylesheet}">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header class="top">
<a class="brand" href="${book.home}">${icon.trim()}<span>Tollgate</span></a>
<a class="back" href="${book.back.path}">${book.back.title}</a>
<details class="menu"><summary>Menu</summary><nav aria-label="${book.name}, short menu">${menu}</nav></details>
</header>
<div class="columns">
<nav class="side" aria-label="${book.name}">${menu}</nav>
<main id="content" tabindex="-1"><article>${article}</article></main>
${contents === '' ? '' : `<nav class="contents" aria-labelledby="contents"><p id="contents">On this page</p><ul>${contents}</ul></nav>`}
</div>
</body>
</html>
`
}

const menuHtml = (links: readonly Link[], current: string): string =>
  `<ul>${links.map(({ path, title }) => `<li><a href="${path}"${path === current ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a></li>`).join('')}</ul>`

const turnTo = (link: Link | undefined, label: string, side: 'prev' | 'next'): string =>
  link === undefined
    ? ''
    : `<a class="${side}" rel="${side}" href="${link.path}"><span>${label}</span><strong>${escapeHtml(link.title)}</strong></a>`

/** Marks the sentence under the title, so that the stylesheet can set it apart. */
const withLede = (html: string): string => html.replace('</h1>\n<p>', '</h1>\n<p class="lede">')
