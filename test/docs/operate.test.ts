/**
 * The pages for operators hold together and say what the program does: every page is in every menu, every link leads somewhere, on the listener as in the
 * repository, every setting, command, directive and shown file is the code's own. Rules: requests.md "Documents".
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob, TOML } from 'bun'
import { SERVER_VERSIONS } from '../../db/postgres/server-versions.ts'
import { serverFinding } from '../../src/cli/doctor-postgres.ts'
import { SAMPLE_MODELS } from '../../src/config/defaults.ts'
import { loadConfig } from '../../src/config/load.ts'
import { CONFIG_FILE } from '../../src/config/schema.ts'
import { REJECTIONS } from '../../src/core/catalog.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { GUIDE_SOURCES } from '../../src/docs/guide.ts'
import { renderMarkdown } from '../../src/docs/markdown.ts'
import { OPERATE, OPERATE_SOURCES, operatePagesOf } from '../../src/docs/operate.ts'
import { pageHtml } from '../../src/docs/page.ts'
import { PICTURES, pictureAddress, pictureFileOf } from '../../src/docs/pictures.ts'
import { textOfRoom } from '../../src/ledger/postgres/room.ts'
import { DIRECTIVES } from '../../src/simulator/directives.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

const FOLDER = 'src/docs/operate'
/** What pages looked like before. */
const OF_PICTURES = '.github/pictures/README.md'
const GUIDE_URL = 'https://llm.example'
const pages = operatePagesOf(GUIDE_URL)
const sourceOf = (name: string): string => OPERATE_SOURCES.find((one) => one.name === name)?.source ?? ''
const blocksIn = (source: string): readonly Readonly<{ language: string; text: string }>[] =>
  [...source.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', language = '', text = '']) => ({
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ publicUrl: GUIDE_URL })
})
afterAll(() => gateway.stop())
/** As it is sent to a browser. */
const weightOf = async (path: string): Promise<number> => {
  const answer = await fetch(`${gateway.operatorUrl}${path}`, { headers: { 'accept-encoding': 'gzip' }, decompress: false })
  return (await answer.bytes()).length
}
const get = (path: string): Promise<Response> => fetch(`${gateway.operatorUrl}${path}`, { redirect: 'manual' })

test('every file of the folder is a page, with a title and a sentence under it', () => {
  const files = [...new Glob('*.md').scanSync(FOLDER)].map((file) => file.slice(0, -'.md'.length))
  expect(OPERATE_SOURCES.map(({ name }) => name).sort()).toEqual(files.sort())
  expect(pages.slice(0, 2).map(({ path }) => path)).toEqual(['/docs/operate', '/docs/operate/settings'])
  for (const { title, lede, path } of pages)
    expect([title.length > 3, lede.length > 40, lede.endsWith('.')], path).toEqual([true, true, true])
})

test('every page is in every menu; every link leads to a page and a heading that it has', () => {
  const anchorsOf = (markdown: string): readonly string[] => renderMarkdown(markdown).headings.map(({ id }) => id)
  const anchors = new Map([
    ...pages.map(({ path, markdown }) => [path, anchorsOf(markdown)] as const),
    ...GUIDE_SOURCES.map(({ name, source }, index) => [`${GUIDE_URL}/docs${index === 0 ? '' : `/${name}`}`, anchorsOf(source)] as const),
    ...[...OPERATE.after, OPERATE.back].map(({ path }) => [path, []] as const),
  ])
  for (const page of pages) {
    const html = pageHtml(page, { book: OPERATE, pages, stylesheet: '/docs/style.css' })
    const links = [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => href)
    for (const { path } of pages) expect(links.filter((href) => href === path).length).toBeGreaterThanOrEqual(2)
    for (const href of links) {
      const [target = '', anchor] = href.split('#')
      if (href === '#content' || href === page.markdownPath || pictureFileOf(href) !== undefined) continue
      const known = anchors.get(target === '' ? page.path : target)
      expect(known, `${page.path}: ${href}`).toBeDefined()
      if (anchor !== undefined) expect(known, `${page.path}: ${href}`).toContain(anchor)
    }
    const ids = anchors.get(page.path) ?? []
    expect(new Set(ids).size, page.path).toBe(ids.length)
  }
})

test('the defaults of limits in the table are those of the program', () => {
  const [, table = ''] = sourceOf('settings').split('## `[limits]`')
  const rows = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| (`[^|]*`) \| ([\d, ]*) \|/gm)]
  const documented = rows.flatMap(([, names = '', defaults = '']) => {
    const values = defaults.split(', ')
    return names.split(', ').map((name, index) => `${name.replaceAll('`', '')} = ${values[index]}`)
  })
  expect(documented.length).toBe(Object.keys(LIMITS).length)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-operate-'))
  writeFileSync(join(folder, 'tollgate.toml'), `[limits]\n${documented.join('\n')}\n`)
  const config = loadConfig({ file: undefined, folder, env: {} })
  expect('limits' in config ? config.limits : config).toEqual(LIMITS)
})

test('every link of README, CONTRIBUTING and these pages leads to a file of the repository and a heading that it has', async () => {
  const files = [
    'README.md',
    '.github/CONTRIBUTING.md',
    OF_PICTURES,
    ...[...new Glob('*.md').scanSync(FOLDER)].map((file) => join(FOLDER, file)),
  ]
  const lost: string[] = []
  for (const file of files) {
    for (const [, target = ''] of (await Bun.file(file).text()).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)) {
      const [path = '', anchor] = target.split('#')
      const to = path === '' ? file : join(file, '..', path)
      const has =
        existsSync(to) && (anchor === undefined || renderMarkdown(await Bun.file(to).text()).headings.some(({ id }) => id === anchor))
      if (!has) lost.push(`${file}: ${target}`)
    }
  }
  expect(lost).toEqual([])
})

test('the operator’s listener serves each page as HTML and as Markdown; the clients’ listener does not', async () => {
  for (const { path, markdownPath, markdown, title } of pages) {
    const html = await get(path)
    expect([path, html.status, html.headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
    expect(html.headers.get('content-security-policy')).toStartWith("default-src 'none'")
    const text = await html.text()
    expect(text).toContain(`<title>${title} – Tollgate</title>`)
    expect(text).not.toMatch(/<script|<style|\sstyle=/i)
    for (const [, address = ''] of text.matchAll(/<link\b[^>]*href="([^"]*)"/g)) expect((await get(address)).status).toBe(200)
    expect(await (await get(markdownPath)).text()).toBe(markdown)
    expect((await fetch(`${gateway.url}${path}`)).status).toBe(404)
  }
  const bare = await get('/docs')
  expect([bare.status, bare.headers.get('location')]).toEqual([308, '/docs/operate'])
  const missing = await get('/docs/operate/nothing')
  expect([missing.status, (await missing.text()).includes('Page not found')]).toEqual([404, true])
})

test('the pictures of these pages are the repository’s, in both themes, and kept by browsers; no page refers to another', async () => {
  const shown = new Set(
    pages.flatMap(({ markdown }) => [...markdown.matchAll(/!\[[^\]]*\]\(([^)]*)\)/g)].map(([, address = '']) => address)),
  )
  expect([...shown].sort()).toEqual(PICTURES.map(({ name }) => pictureAddress(name, 'light')).sort())
  let total = 0
  for (const { name } of PICTURES)
    for (const side of ['light', 'dark'] as const) {
      const address = pictureAddress(name, side)
      const answer = await get(address)
      const bytes = await answer.bytes()
      expect([address, answer.status, answer.headers.get('content-type')]).toEqual([address, 200, 'image/webp'])
      expect([address, answer.headers.get('content-encoding')]).toEqual([address, null])
      expect(bytes).toEqual(await Bun.file(`.github/pictures/${name}-${side}.webp`).bytes())
      const again = await fetch(`${gateway.operatorUrl}${address}`, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } })
      expect([address, again.status, answer.headers.get('cache-control')]).toEqual([address, 304, 'public, no-cache'])
      expect((await fetch(`${gateway.url}${address}`)).status).toBe(404)
      total += bytes.length
    }
  expect(total).toBeLessThan(500_000)
  expect((await get('/docs/pictures/nothing.webp')).status).toBe(404)
  const html = (await Promise.all(pages.map(async ({ path }) => (await get(path)).text()))).join()
  for (const { name, width, height } of PICTURES)
    for (const side of ['light', 'dark'] as const) {
      const own = pictureAddress(name, side)
      expect(html).toMatch(
        new RegExp(
          `<a class="picture(?: phone)? ${side}" href="${own}"><img src="${own}" alt="[^"]{20,}" width="${width}" height="${height}" loading="lazy"></a>`,
        ),
      )
    }
})

test('before anything is scrolled to, no page weighs more than 100 kB', async () => {
  for (const { path } of pages) {
    const html = await (await get(path)).text()
    const sheets = [...html.matchAll(/<link rel="stylesheet" href="([^"]*)"/g)].map(([, address = '']) => address)
    const pictures = [...html.matchAll(/<img [^>]*>/g)].filter(([tag]) => !tag.includes('loading="lazy"'))
    const addresses = [path, ...sheets, ...pictures.map(([tag]) => /src="([^"]*)"/.exec(tag)?.[1] ?? '')]
    const weights = await Promise.all(addresses.map(weightOf))
    expect(sheets.length).toBe(1)
    expect(
      weights.reduce((sum, weight) => sum + weight, 0),
      path,
    ).toBeLessThan(100_000)
  }
})

test('each file among the pictures is shown by README, by a page for operators, by the rules or by their own page', async () => {
  const files = ['README.md', OF_PICTURES, ...new Glob('src/docs/{operate,rules}/*.md').scanSync('.')]
  const texts = (await Promise.all(files.map((file) => Bun.file(file).text()))).join()
  const named = new Set(texts.match(/pictures\/[a-z-]+\.(?:webp|svg)/g)?.map((one) => one.slice('pictures/'.length)))
  const there = [...new Glob('*.{webp,svg}').scanSync('.github/pictures')]
  // Markdown has no themes: a page names the light side, and the gateway shows both.
  expect(there.filter((file) => !named.has(file) && !named.has(file.replace('-dark', '-light')))).toEqual([])
  expect([...named].filter((file) => !there.includes(file))).toEqual([])
})

test('a reload that brings another address of the guide changes the links to it', async () => {
  expect(await (await get('/docs/operate/money')).text()).toContain(`href="${GUIDE_URL}/docs/billing"`)
  await using other = await startTestGateway()
  const text = await (await fetch(`${other.operatorUrl}/docs/operate/money`)).text()
  expect(text).toContain(`href="${other.url}/docs/billing"`)
  const server = { host: '127.0.0.1', port: 0, dashboardUrl: undefined, trustedProxies: [], drainDelayMs: 0, corsOrigins: [] }
  other.reload({ server: { ...server, publicUrl: 'https://new.example' } })
  expect(await (await fetch(`${other.operatorUrl}/docs/operate/money`)).text()).toContain('href="https://new.example/docs/billing"')
})

test('every name of the configuration and every rejection stands among the settings, every directive with the simulator', () => {
  const settings = sourceOf('settings')
  const sections = settings.split(/^## /m)
  const missing = Object.entries(CONFIG_FILE.properties).flatMap(([table, schema]) => {
    const inner = 'items' in schema ? schema.items : schema
    const section = sections.filter((one) => new RegExp(`^\`\\[+${table}[\\].]`).test(one)).join()
    const names = 'properties' in inner ? Object.keys(inner.properties as object) : []
    return section === ''
      ? [table]
      : names.filter((name) => !section.includes(`\`${name}\``) && !section.includes(`\`[${table}.${name}]\``))
  })
  expect(missing).toEqual([])
  expect(REJECTIONS.filter((name) => !settings.includes(`\`${name}\``))).toEqual([])
  const simulator = sourceOf('simulator').replaceAll(/ +/g, ' ')
  expect(DIRECTIVES.filter(({ directive, effect }) => !simulator.includes(`| \`${directive}\` | ${effect} |`))).toEqual([])
})

test('every TOML block parses, and the configuration that Install shows is one that the gateway takes', () => {
  for (const { name, source } of OPERATE_SOURCES)
    for (const { language, text } of blocksIn(source)) if (language === 'toml') expect(() => TOML.parse(text), name).not.toThrow()
  const toml = blocksIn(sourceOf('install')).find(({ language }) => language === 'toml')?.text ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-operate-'))
  writeFileSync(join(folder, 'tollgate.toml'), toml)
  const config = loadConfig({ file: undefined, folder, env: { UPSTREAM_API_KEY: 'secret' } })
  expect(config).toMatchObject({ upstreams: [{ name: 'main', apiKey: 'secret' }] })
})

test('every model that a page names is in the catalogue that serves without a configuration', () => {
  const named = new Set(OPERATE_SOURCES.flatMap(({ source }) => source.match(/claude-(?:fable|haiku|opus|sonnet)-[\d-]*\d/g) ?? []))
  expect(named.size).toBeGreaterThan(0)
  const known = SAMPLE_MODELS.map(({ id }) => id)
  // Clouds know some models by an id with their date.
  expect([...named].filter((id) => !known.includes(id.replace(/-\d{8}$/, '')))).toEqual([])
})

test('the versions of Postgres are the oldest and the newest that the tests run on', () => {
  expect(sourceOf('nodes')).toContain(`Postgres ${SERVER_VERSIONS.min} to ${SERVER_VERSIONS.max}`)
})

test('what doctor says on the page of a bad server is what it says of one', () => {
  const page = sourceOf('nodes')
  const settings = { fsync: 'off', full_page_writes: 'on', synchronous_commit: 'off' }
  expect(page).toContain(serverFinding({ version: '18.4', settings }).detail)
  expect(page).toContain(textOfRoom({ allowed: 17, processes: 1, each: 8, needed: 16 }))
})

test('the files for balancers stand on their page as they are in .deploy', async () => {
  const shown = blocksIn(sourceOf('proxies')).map(({ text }) => text.trim())
  for (const file of ['nginx.conf', 'haproxy.cfg', 'Caddyfile']) expect(shown).toContain((await Bun.file(`.deploy/${file}`).text()).trim())
})

test('every metric that a page names is one that the gateway has', async () => {
  const sources = await Promise.all([...new Glob('src/**/*.ts').scanSync('.')].map((path) => Bun.file(path).text()))
  const known = new Set(sources.join('\n').match(/\btollgate_[a-z0-9_]*[a-z0-9]\b/g))
  const named = new Set(OPERATE_SOURCES.flatMap(({ source }) => source.match(/\btollgate_[a-z0-9_]*[a-z0-9]\b/g) ?? []))
  expect(named.size).toBeGreaterThan(10)
  expect([...named].filter((name) => !known.has(name))).toEqual([])
})
