/**
 * A page with its scripts and styles, as the bundler made them. Scripts and styles have addresses that change with their content, so browsers keep them for
 * ever; they are gzipped once. The page itself is asked for each time, and is seen before they are there. A compiled binary contains them; from source they are bundled when first asked for.
 * Rules: pages.md "Assets". Source: https://bun.com/docs/bundler/html-static, https://www.w3.org/TR/CSP3/
 */

import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { HTMLBundle } from 'bun'
import { makeStatic, type StaticContent } from '../http/static-answer.ts'

/** `asset`: the script or style whose address has this last part. */
export type Assets = Readonly<{ page: StaticContent; asset(name: string): StaticContent | undefined }>

/** The page may run nothing inline, load nothing from another host, and be shown in no frame. `styles`: the hashes of the styles in it, the only inline ones. */
const policyOf = (styles: readonly string[]): string =>
  [
    "default-src 'none'; script-src 'self'",
    ["style-src 'self'", ...styles.map((hash) => `'sha256-${hash}'`)].join(' '),
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  ].join('; ')

const STYLE = /<style>([\s\S]*?)<\/style>/g
const STYLESHEET = /\s*<link rel="stylesheet"[^>]*>/g

/** The page with its stylesheets at its end, since a browser shows nothing of what stands behind a stylesheet before that is there. */
const seenEarly = (html: string): string =>
  html.replaceAll(STYLESHEET, '').replace('</body>', `${(html.match(STYLESHEET) ?? []).map((link) => link.trim()).join('')}</body>`)

type File = Readonly<{ name: string; type: string; text: string }>

/** `html`: the imported page. `root`: its folder of addresses, such as `/cabinet/assets/`. */
export async function assetsOf(html: HTMLBundle, root: string): Promise<Assets> {
  const files = html.files === undefined ? await bundled(html.index) : await embedded(html.files)
  const isPage = ({ name }: File): boolean => name.endsWith('.html')
  const page = files.find(isPage)
  if (page === undefined) throw new Error(`no page in ${html.index}`)
  const parts = files.filter((file) => !isPage(file))
  const names = parts.map(({ name }) => name)
  const made = new Map(
    parts.map(({ name, text, type }) => [name, makeStatic({ text: besideEachOther(text, names), type, caching: 'immutable' })]),
  )
  // The bundler's addresses are relative to the page. They become absolute, since the page is shown under many paths.
  const text = seenEarly(page.text).replaceAll(/(src|href)="\.?\/([^"/]+)"/g, (_, attribute, name) => `${attribute}="${root}${name}"`)
  const styles = [...text.matchAll(STYLE)].map(([, style = '']) => createHash('sha256').update(style).digest('base64'))
  return {
    page: makeStatic({ text, type: 'text/html; charset=utf-8', caching: 'revalidate', policy: policyOf(styles) }),
    asset: (name) => made.get(name),
  }
}

/** Makes imports between scripts relative: in a compiled binary pages share scripts, which import each other from the root of the host, where no script is. */
const besideEachOther = (text: string, names: readonly string[]): string =>
  names.reduce((read, name) => read.replaceAll(`"/${name}"`, `"./${name}"`), text)

const embedded = (files: NonNullable<HTMLBundle['files']>): Promise<readonly File[]> =>
  Promise.all(
    files.map(async ({ path, headers }) => ({ name: basename(path), type: headers['content-type'], text: await Bun.file(path).text() })),
  )

async function bundled(index: string): Promise<readonly File[]> {
  const { outputs } = await Bun.build({
    entrypoints: [index],
    target: 'browser',
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  return Promise.all(outputs.map(async (output) => ({ name: basename(output.path), type: output.type, text: await output.text() })))
}
