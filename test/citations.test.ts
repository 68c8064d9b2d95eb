/**
 * What the sources rest on can be followed by someone who has only the clone: every rule that a comment cites stands in src/docs/rules under that heading, every
 * rule there is cited, and what is public is cited by its address. The form is that of house.md "Citations".
 */

import { expect, test } from 'bun:test'
import { basename } from 'node:path'
import { Glob } from 'bun'

type Text = Readonly<{ path: string; text: string }>
type Citation = Readonly<{ path: string; page: string; headings: readonly string[] }>

const COMMENT = /^[ \t]*\/\*\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$|^-- .*(?:\n-- .*)*/gm
/** A page with the headings that follow it. A path (`docs/guide/limits.md`, `*.md`) is a file that is spoken of, not a citation. */
const CITATION = /(?<![\w/.*-])([A-Za-z][\w-]*\.md)\b((?:(?:,| and)? "[^"]+")*)/g
const ADDRESS = /\bhttps?:\/\/[^\s`'")<>]+/g

const filesOf = (pattern: string): readonly string[] => [...new Glob(pattern).scanSync({ cwd: '.', dot: true })].sort()

const textsOf = (...patterns: string[]): Promise<readonly Text[]> =>
  Promise.all(patterns.flatMap(filesOf).map(async (path) => ({ path, text: await Bun.file(path).text() })))

/** The comments of the sources, each as one line. */
async function comments(): Promise<readonly Text[]> {
  return (await textsOf('{src,db,bench,test}/**/*.{ts,tsx,sql}')).flatMap(({ path, text }) =>
    [...text.matchAll(COMMENT)].map(([comment]) => ({ path, text: asLine(comment) })),
  )
}

const asLine = (comment: string): string => comment.replace(/\n\s*(?:\*|--) ?|\s+/g, ' ')

const citationsIn = (texts: readonly Text[]): readonly Citation[] =>
  texts.flatMap(({ path, text }) =>
    [...text.matchAll(CITATION)].map(([, page = '', list = '']) => ({
      path,
      page,
      headings: [...list.matchAll(/"([^"]+)"/g)].map(([, heading = '']) => heading),
    })),
  )

const pages = await textsOf('src/docs/rules/*.md')
const headingsOf = ({ text }: Text): readonly string[] => [...text.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading)
const headings = new Map([...pages, ...(await textsOf('README.md'))].map((page) => [basename(page.path), headingsOf(page)]))
const withoutAddresses = (text: string): string => text.replace(ADDRESS, '')

test('every citation of a comment leads to a heading of the rules', async () => {
  const found = citationsIn(await comments())
  expect(found.length).toBeGreaterThan(100)
  const lost = found.flatMap(({ path, page, headings: cited }) => {
    const known = headings.get(page)
    if (known === undefined) return [`${path}: ${page} is no page of src/docs/rules`]
    if (cited.length === 0 && page !== 'README.md') return [`${path}: ${page} without a heading`]
    return cited.filter((heading) => !known.includes(heading)).map((heading) => `${path}: ${page} has no "${heading}"`)
  })
  expect(lost).toEqual([])
})

test('the pages of the rules cite each other by headings that exist', () => {
  const lost = citationsIn(pages.map(({ path, text }) => ({ path, text: text.replace(/\s+/g, ' ') }))).flatMap(
    ({ path, page, headings: cited }) =>
      cited.filter((heading) => headings.get(page)?.includes(heading) !== true).map((heading) => `${path}: ${page} "${heading}"`),
  )
  expect(lost).toEqual([])
})

test('every heading of the rules is cited: a rule without code is dropped, or its code says where it comes from', async () => {
  const cited = new Set(citationsIn(await comments()).flatMap(({ page, headings: names }) => names.map((name) => `${page} "${name}"`)))
  const idle = pages
    .flatMap((page) => headingsOf(page).map((heading) => `${basename(page.path)} "${heading}"`))
    .filter((rule) => !cited.has(rule))
  expect(idle).toEqual([])
  const twice = pages.filter((page) => new Set(headingsOf(page)).size < headingsOf(page).length).map(({ path }) => path)
  expect(twice).toEqual([])
})

test('nothing cites pages that only their author had, nor the numbers of cases and sections', async () => {
  const banned = /§|\b[Tt]he spec\b|\bspec(?:['’]s| ")|\bK\d{1,2}\b|\bWHATWG\b|\bRFC ?\d{3,}/
  const inComments = (await comments()).filter(({ text }) => banned.test(withoutAddresses(text)))
  expect(inComments.map(({ path, text }) => `${path}: ${banned.exec(withoutAddresses(text))?.[0]}`)).toEqual([])
  const numbers = /\b(?:RT|TC|NM|RM|CS|SF|RS|ER|PF|LC)-\d{2}\b/
  const numbered = (await textsOf('{src,db,bench,test}/**/*.{ts,tsx,sql,md}')).filter(({ text }) => numbers.test(text))
  expect(numbered.map(({ path, text }) => `${path}: ${numbers.exec(text)?.[0]}`)).toEqual([])
})

test('public addresses are https and whole', async () => {
  const addresses = [...(await comments()), ...pages].flatMap(({ path, text }) =>
    [...text.matchAll(ADDRESS)].map(([address]) => ({ path, address: address.replace(/[.,;:]+$/, '') })),
  )
  const isHere = (address: string): boolean => /^https?:\/\/(?:127\.|localhost\b|\[|[^/.]+(?:[:/]|$))/.test(address)
  const broken = addresses.filter(({ address }) => !isHere(address) && !(address.startsWith('https://') && URL.canParse(address)))
  expect(addresses.length).toBeGreaterThan(10)
  expect(broken).toEqual([])
})

test('every path that the README, the rules and the guide for contributors name exists', async () => {
  const texts = await textsOf('README.md', 'bench/README.md', '.github/CONTRIBUTING.md', 'src/docs/rules/*.md', 'src/docs/operate/*.md')
  const named = texts.flatMap(({ path, text }) =>
    [...text.matchAll(/`((?:src|db|bench|test|\.github|\.ci|\.deploy)\/[^\s`"]*)`/g)].flatMap(([, name = '']) =>
      expanded(name).map((file) => ({ path, file })),
    ),
  )
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter(({ file }) => !exists(file)).map(({ path, file }) => `${path}: ${file}`)).toEqual([])
})

/** `a/{b,c}.ts` is two files; `<case>` and `…` stand for any name. */
function expanded(name: string): readonly string[] {
  const [, before = '', inner, after = ''] = /^(.*?)\{([^}]*)\}(.*)$/.exec(name) ?? []
  if (inner === undefined) return [name.replace(/<[^>]*>|…/g, '*').replace(/\/$/, '')]
  return inner.split(',').flatMap((part) => expanded(`${before}${part}${after}`))
}

const exists = (pattern: string): boolean => !new Glob(pattern).scanSync({ cwd: '.', dot: true, onlyFiles: false }).next().done
