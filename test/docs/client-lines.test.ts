/** The lines that a page shows beside a new key are those of the guide, which were run: every client has its own, with this installation's address and model. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { clientLinesOf } from '../../src/docs/client-lines.ts'
import type { TestGateway } from '../support/gateway.ts'
import { guidePagesOf, sampleGateway } from './sample-gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await sampleGateway({ publicUrl: 'https://gate.example' })
})
afterAll(() => gateway.stop())

test('each client has lines of the guide, letter by letter', () => {
  const { world } = gateway
  const guide = guidePagesOf(world)
    .map(({ markdown }) => markdown)
    .join('\n')
  const lines = clientLinesOf({
    baseUrl: world.publicUrl(),
    dashboardUrl: world.dashboardUrl(),
    catalog: world.catalog(),
    limits: world.limits(),
  })
  const marks = {
    curl: 'curl https://gate.example/v1/chat/completions',
    'Claude Code': 'export ANTHROPIC_BASE_URL=https://gate.example\n',
    Codex: 'wire_api = "responses"',
    opencode: '"npm": "@ai-sdk/anthropic"',
    'OpenAI SDK, TypeScript': "import OpenAI from 'openai'",
    'OpenAI SDK, Python': 'from openai import OpenAI',
    'Anthropic SDK, TypeScript': "import Anthropic from '@anthropic-ai/sdk'",
    'Anthropic SDK, Python': 'from anthropic import Anthropic',
  }
  expect(lines.map(({ client }) => client)).toEqual(Object.keys(marks))
  for (const { client, blocks } of lines) {
    expect(blocks[0]?.code).toContain(marks[client as keyof typeof marks])
    for (const { about, code } of blocks) {
      expect(guide).toContain(`\n${code}\n\`\`\``)
      expect(about).not.toMatch(/[`\n[]/)
    }
  }
  expect(lines.find(({ client }) => client === 'Codex')?.blocks.map(({ about }) => about)).toEqual([
    'In ~/.codex/config.toml; the key comes from the variable KEY:',
    'Then, for a task that writes files (without the sandbox’s name Codex may only read):'.replace('’', "'"),
  ])
})
