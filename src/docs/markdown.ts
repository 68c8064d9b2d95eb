/**
 * A page's Markdown as HTML: headings can be linked to, and wide tables and code scroll within their own boxes. Raw HTML in a source is shown as text, so
 * that no filled-in value can become markup, and of pictures only the gateway's own are shown: others are their text. Source: CommonMark and GitHub's tables, read by `marked`.
 */

import { Marked, type Tokens } from 'marked'
import { pictureHtml } from './pictures.ts'

export type Heading = Readonly<{ level: number; id: string; text: string }>
export type Rendered = Readonly<{ html: string; headings: readonly Heading[] }>

export function renderMarkdown(source: string): Rendered {
  const headings: Heading[] = []
  const section = (): string => escapeHtml(headings.at(-1)?.text ?? '')
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const text = this.parser.parseInline(tokens, this.parser.textRenderer)
        const heading = { level: depth, id: uniqueId(text, headings), text: unescapeHtml(text) }
        headings.push(heading)
        const inner = this.parser.parseInline(tokens)
        return depth === 1
          ? `<h1 id="${heading.id}">${inner}</h1>\n`
          : `<h${depth} id="${heading.id}"><a class="anchor" href="#${heading.id}">${inner}</a></h${depth}>\n`
      },
      code: ({ text }) => `<pre tabindex="0" role="group" aria-label="Example: ${section()}"><code>${escapeHtml(text)}</code></pre>\n`,
      table(token) {
        return `<div class="table" tabindex="0" role="group" aria-label="Table: ${section()}"><table>${headOf(token, this.parser)}${bodyOf(token, this.parser)}</table></div>\n`
      },
      html: ({ text }) => escapeHtml(text),
      image: ({ href, text }) => pictureHtml(href, escapeHtml(text)) ?? escapeHtml(text),
    },
  })
  return { html: marked.parse(source, { async: false }), headings }
}

/** The page's title and the sentence under it: menus and lists show them for a page. */
export function openingOf(source: string): Readonly<{ title: string; lede: string }> {
  const [, title = '', lede = ''] = /^# (.+)\n\n((?:.+\n)+)/.exec(source) ?? []
  return { title, lede: lede.trim().replaceAll('\n', ' ') }
}

/** Any text as a code span in a cell of a Markdown table: fenced by more backticks than it holds, in one line, its bars escaped. */
export function codeInCell(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = '`'.repeat(longest + 1)
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${space}${line}${space}${fence}`
}

export const escapeHtml = (text: string): string => Bun.escapeHTML(text)

type Parser = { parseInline(tokens: Tokens.Generic[]): string }

const headOf = ({ header }: Tokens.Table, parser: Parser): string =>
  `<thead><tr>${header.map((cell) => `<th scope="col"${alignOf(cell)}>${parser.parseInline(cell.tokens)}</th>`).join('')}</tr></thead>`

const bodyOf = ({ rows }: Tokens.Table, parser: Parser): string =>
  `<tbody>${rows.map((row) => `<tr>${row.map((cell) => `<td${alignOf(cell)}>${parser.parseInline(cell.tokens)}</td>`).join('')}</tr>`).join('')}</tbody>`

const alignOf = ({ align }: Tokens.TableCell): string => (align === 'right' ? ' class="number"' : '')

function uniqueId(text: string, taken: readonly Heading[]): string {
  const id = text
    .toLowerCase()
    .replaceAll(/&[a-z]+;|&#\d+;/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  return taken.some((heading) => heading.id === id) ? uniqueId(`${text} ${taken.length}`, taken) : id
}

const unescapeHtml = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'")
