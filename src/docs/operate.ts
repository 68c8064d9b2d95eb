/**
 * The pages for people who run a gateway, in reading order. Their sources link to each other and to the guide by file name, so that they can be read in a
 * repository as well; here the links become addresses. Rules: requests.md "Documents".
 */

import { openingOf } from './markdown.ts'
import api from './operate/api.md' with { type: 'text' }
import chatServers from './operate/chat-servers.md' with { type: 'text' }
import cloudBedrock from './operate/cloud-bedrock.md' with { type: 'text' }
import cloudBedrockInvoke from './operate/cloud-bedrock-invoke.md' with { type: 'text' }
import cloudClaudeAws from './operate/cloud-claude-aws.md' with { type: 'text' }
import cloudClaudeGoogle from './operate/cloud-claude-google.md' with { type: 'text' }
import cloudFoundry from './operate/cloud-foundry.md' with { type: 'text' }
import cloudVertex from './operate/cloud-vertex.md' with { type: 'text' }
import clouds from './operate/clouds.md' with { type: 'text' }
import commands from './operate/commands.md' with { type: 'text' }
import highAvailability from './operate/high-availability.md' with { type: 'text' }
import importLiteLlm from './operate/import-litellm.md' with { type: 'text' }
import importNewApi from './operate/import-new-api.md' with { type: 'text' }
import importOneApi from './operate/import-one-api.md' with { type: 'text' }
import install from './operate/install.md' with { type: 'text' }
import metrics from './operate/metrics.md' with { type: 'text' }
import money from './operate/money.md' with { type: 'text' }
import nodes from './operate/nodes.md' with { type: 'text' }
import people from './operate/people.md' with { type: 'text' }
import pool from './operate/pool.md' with { type: 'text' }
import proxies from './operate/proxies.md' with { type: 'text' }
import running from './operate/running.md' with { type: 'text' }
import settings from './operate/settings.md' with { type: 'text' }
import simulator from './operate/simulator.md' with { type: 'text' }
import storage from './operate/storage.md' with { type: 'text' }
import type { Book, Page } from './page.ts'
import { pictureAddress } from './pictures.ts'

const HOME = '/docs/operate'

/** The pages in reading order; the first is `/docs/operate` itself. */
export const OPERATE_SOURCES: readonly Readonly<{ name: string; source: string }>[] = [
  { name: 'install', source: install },
  { name: 'settings', source: settings },
  { name: 'commands', source: commands },
  { name: 'api', source: api },
  { name: 'running', source: running },
  { name: 'metrics', source: metrics },
  { name: 'storage', source: storage },
  { name: 'money', source: money },
  { name: 'people', source: people },
  { name: 'proxies', source: proxies },
  { name: 'pool', source: pool },
  { name: 'chat-servers', source: chatServers },
  { name: 'clouds', source: clouds },
  { name: 'cloud-claude-aws', source: cloudClaudeAws },
  { name: 'cloud-bedrock', source: cloudBedrock },
  { name: 'cloud-bedrock-invoke', source: cloudBedrockInvoke },
  { name: 'cloud-vertex', source: cloudVertex },
  { name: 'cloud-claude-google', source: cloudClaudeGoogle },
  { name: 'cloud-foundry', source: cloudFoundry },
  { name: 'import-litellm', source: importLiteLlm },
  { name: 'import-one-api', source: importOneApi },
  { name: 'import-new-api', source: importNewApi },
  { name: 'nodes', source: nodes },
  { name: 'high-availability', source: highAvailability },
  { name: 'simulator', source: simulator },
]

/** The reference of the operator's API stands after them. */
export const OPERATE: Book = {
  name: 'Operate',
  home: HOME,
  back: { path: '/console', title: 'Console' },
  after: [{ path: '/api', title: 'API for operators: reference' }],
  files: [],
}

/** `guideUrl`: the address under which customers find the guide, without `/docs`. The last page holds all others, for a search within one page. */
export function operatePagesOf(guideUrl: string): readonly Page[] {
  const pages = OPERATE_SOURCES.map(({ name, source }) => pageOf(name, withAddresses(source, guideUrl)))
  return [...pages, pageOf('all', ALL_ON_ONE + pages.map(({ markdown }) => oneLevelDown(markdown)).join('\n'))]
}

const pageOf = (name: string, markdown: string): Page => ({
  path: addressOf(name),
  markdownPath: `${HOME}/${name}.md`,
  ...openingOf(markdown),
  markdown,
})

const ALL_ON_ONE = `# All on one page

Every page about operating the gateway, one after the other, for the search of a browser.

`

const addressOf = (name: string): string => (name === OPERATE_SOURCES[0]?.name ? HOME : `${HOME}/${name}`)

/** A link to a file of this folder, or of the guide's beside it. */
const LINK = /\]\((\.\.\/guide\/)?([a-z-]+)\.md(#[a-z0-9-]+)?\)/g

/** A picture of the repository. */
const PICTURE = /\]\(\.\.\/\.\.\/\.\.\/\.github\/pictures\/([a-z]+)-light\.webp\)/g

const withAddresses = (source: string, guideUrl: string): string =>
  source
    .replaceAll(PICTURE, (_, name: string) => `](${pictureAddress(name, 'light')})`)
    .replaceAll(LINK, (_, guide: string | undefined, name: string, anchor = '') => {
      if (guide === undefined) return `](${addressOf(name)}${anchor})`
      return `](${guideUrl}/docs${name === 'quick-start' ? '' : `/${name}`}${anchor})`
    })

const CODE_BLOCK = /(^```[\s\S]*?^```$)/m

/** Moves every heading down one level; a `#` comment in a code block is no heading. */
const oneLevelDown = (markdown: string): string =>
  markdown
    .split(CODE_BLOCK)
    .map((part) => (part.startsWith('```') ? part : part.replaceAll(/^#/gm, '##')))
    .join('')
