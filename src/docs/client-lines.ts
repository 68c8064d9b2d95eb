/**
 * The guide's lines for the most used clients, shown by pages that have just given a person a key. It is the guide's own text, which was run as it stands.
 * Rules: pages.md "Keys of an account".
 */

import { type Facts, guideOf } from './guide.ts'

/** `about`: the sentence before the lines; '' where there is none. */
export type ClientLines = Readonly<{ client: string; blocks: readonly Readonly<{ about: string; code: string }>[] }>

/** The code blocks `[from, to)` of a section of a page, counted from 0. */
const CLIENTS = [
  { client: 'curl', page: '/docs', section: 'Ask something', from: 0, to: 1 },
  { client: 'Claude Code', page: '/docs/clients', section: 'Claude Code', from: 0, to: 1 },
  { client: 'Codex', page: '/docs/clients', section: 'Codex', from: 0, to: 2 },
  { client: 'opencode', page: '/docs/clients', section: 'opencode', from: 0, to: 1 },
  { client: 'OpenAI SDK, TypeScript', page: '/docs/clients', section: 'TypeScript and JavaScript', from: 0, to: 1 },
  { client: 'OpenAI SDK, Python', page: '/docs/clients', section: 'Python', from: 0, to: 1 },
  { client: 'Anthropic SDK, TypeScript', page: '/docs/clients', section: 'TypeScript and JavaScript', from: 1, to: 2 },
  { client: 'Anthropic SDK, Python', page: '/docs/clients', section: 'Python', from: 1, to: 2 },
] as const

const BLOCK = /(?:^|\n\n)([^\n`#|][^#|]*?\n\n)?```\w+\n([\s\S]*?)\n```/g

export function clientLinesOf(facts: Facts): readonly ClientLines[] {
  const pages = new Map(guideOf(facts).map(({ path, markdown }) => [path, markdown]))
  return CLIENTS.map(({ client, page, section, from, to }) => {
    const [, text = ''] = (pages.get(page) ?? '').split(`\n## ${section}\n`)
    const blocks = [...`\n${text.split('\n## ')[0]}`.matchAll(BLOCK)].slice(from, to)
    return { client, blocks: blocks.map(([, about = '', code = '']) => ({ about: plain(about), code })) }
  })
}

/** The text on one line, without Markdown's marks. */
const plain = (markdown: string): string =>
  markdown
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll('\n', ' ')
    .trim()
