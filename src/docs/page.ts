/**
 * The frame of a page: menu, content, what is on the page, the way on. No script, no style attribute: the strictest policy holds. Everything that is not
 * rendered Markdown is escaped here.
 */

import icon from '../web/icon.svg' with { type: 'text' }
import { API_REFERENCE, type GuidePage } from './guide.ts'
import { escapeHtml, type Heading, renderMarkdown } from './markdown.ts'

type Link = Readonly<{ path: string; title: string }>

export type Frame = Readonly<{
  pages: readonly GuidePage[]
  /** With what makes a change of it a new address. */
  stylesheet: string
}>

/** A page of the guide as a document. */
export function pageHtml(page: GuidePage, { pages, stylesheet }: Frame): string {
  const { html, headings } = renderMarkdown(page.markdown)
  const index = pages.indexOf(page)
  const links = [...pages, API_REFERENCE]
  const next = links[index + 1]
  const article = `${withLede(html)}<footer class="after">
<nav class="turn" aria-label="Next and previous page">${turnTo(links[index - 1], 'Previous', 'prev')}${turnTo(next, 'Next', 'next')}</nav>
<p>For programs: <a href="${page.markdownPath}">this page as Markdown</a>, <a href="/llms.txt">llms.txt</a>, <a href="/openapi.json">openapi.json</a></p>
</footer>`
  return documentHtml({ title: page.title, lede: page.lede, path: page.path, links, headings, article, stylesheet })
}

/** The API reference, which stands after the guide. `article` is HTML. */
export function referenceHtml(
  { article, headings }: Readonly<{ article: string; headings: readonly Heading[] }>,
  { pages, stylesheet }: Frame,
): string {
  const links = [...pages, API_REFERENCE]
  const lede = 'Every endpoint with its fields, examples and errors.'
  const after = `<footer class="after">
<nav class="turn" aria-label="Previous page">${turnTo(pages.at(-1), 'Previous', 'prev')}</nav>
<p>For programs: <a href="/openapi.json">openapi.json</a>, <a href="/llms.txt">llms.txt</a></p>
</footer>`
  const top = `<h1>${API_REFERENCE.title}</h1>\n<p class="lede">${lede}</p>\n`
  return documentHtml({ ...API_REFERENCE, lede, links, headings, article: `${top}${article}${after}`, stylesheet })
}

/** What a path without a page shows. */
export function missingHtml({ pages, stylesheet }: Frame): string {
  const links = [...pages, API_REFERENCE]
  const list = links.map(({ path, title }) => `<li><a href="${path}">${escapeHtml(title)}</a></li>`).join('')
  const article = `<h1>Page not found</h1><p class="lede">There is nothing at this address. The guide has these pages:</p><ul>${list}</ul>`
  return documentHtml({ title: 'Page not found', lede: '', path: '', links, headings: [], article, stylesheet })
}

type Parts = Readonly<{
  title: string
  lede: string
  path: string
  links: readonly Link[]
  headings: readonly Heading[]
  article: string
  stylesheet: string
}>

function documentHtml({ title, lede, path, links, headings, article, stylesheet }: Parts): string {
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
<a class="brand" href="/docs">${icon.trim()}<span>Tollgate</span></a>
<details class="menu"><summary>Menu</summary><nav aria-label="Guide, short menu">${menu}</nav></details>
</header>
<div class="columns">
<nav class="side" aria-label="Guide">${menu}</nav>
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

/** The sentence under the title is set apart. */
const withLede = (html: string): string => html.replace('</h1>\n<p>', '</h1>\n<p class="lede">')
