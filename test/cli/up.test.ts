/**
 * The newcomer's first command: every line that it prints to paste works as it stands, on a free port if need be, the second time too.
 * Rules: operator.md "Set-up".
 */

import { expect, test } from 'bun:test'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Pasted = Readonly<{ url: string; headers: Record<string, string>; body: string | undefined }>

/** A curl line as curl reads it. */
function pasted(line: string, key: string): Pasted {
  const [, url = ''] = /(http:\S+)/.exec(line) ?? []
  const headers = [...line.matchAll(/-H (?:"([^"]+)"|'([^']+)')/g)].map(([, double, single]) =>
    (double ?? single ?? '').replace('$KEY', key),
  )
  return { url, headers: Object.fromEntries(headers.map((header) => header.split(': '))), body: / -d '([^']+)'/.exec(line)?.[1] }
}

const send = ({ url, headers, body }: Pasted): Promise<Response> =>
  fetch(url, body === undefined ? { headers } : { method: 'POST', headers, body })

const START_TIMEOUT_MS = 120_000

test(
  'a funded demo key and lines that work, also when port 8080 is taken and when an earlier run left its folder',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-up-'))
    const taken = take8080()
    for (const round of [1, 2]) {
      const up = Bun.spawn([process.execPath, join(import.meta.dir, '../../src/cli/up.ts')], {
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '', HOME: folder },
        stderr: 'pipe',
      })
      const err = new Response(up.stderr).text()
      // Should it never say what is waited for.
      const timer = setTimeout(() => up.kill('SIGKILL'), START_TIMEOUT_MS)
      let out = ''
      const decoder = new TextDecoder()
      for await (const chunk of up.stdout) {
        out += decoder.decode(chunk, { stream: true })
        if (!out.includes('Ctrl-C stops it')) continue
        const [, key = ''] = /export KEY=(sk-\S+)/.exec(out) ?? []
        expect(/running at http:\/\/127\.0\.0\.1:(\d+)/.exec(out)?.[1]).not.toBe('8080')
        const lines = out.split('\n').filter((line) => line.startsWith('  curl '))
        expect(lines.length).toBeGreaterThan(4)
        const answers = await Promise.all(lines.map((line) => send(pasted(line, key))))
        expect(answers.map(({ status }) => status)).toEqual(lines.map(() => 200))
        expect(await Promise.all(answers.map((answer) => answer.text()))).not.toContain('')
        await seesReload(out, folder, await signsIn(out))
        up.kill('SIGINT')
      }
      clearTimeout(timer)
      expect({ round, code: await up.exited }).toEqual({ round, code: 0 })
      expect(await err).not.toContain('"level":"error"')
      const ledger = join(folder, 'data/demo/data/tollgate.db')
      expect([existsSync(ledger), existsSync(`${ledger}-wal`)]).toEqual([true, false])
    }
    taken?.stop(true)
    rmSync(folder, { recursive: true, force: true })
  },
  3 * START_TIMEOUT_MS,
)

/** The links that are printed, as the pages follow them: each signs in on its own listener, once. */
async function signsIn(out: string): Promise<string> {
  let operator = ''
  for (const root of ['cabinet', 'console']) {
    const [, origin = '', token = ''] = new RegExp(`(http://localhost:\\d+)/${root}/link/([\\w-]+)`).exec(out) ?? []
    const follow = (): Promise<Response> =>
      fetch(`${origin}/${root}/auth/link`, {
        method: 'POST',
        headers: { origin, 'content-type': 'application/json' },
        body: JSON.stringify({ token }),
      })
    const answer = await follow()
    const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
    const me = (await (await fetch(`${origin}/${root}/api/me`, { headers: { cookie } })).json()) as { person: unknown; accounts: unknown[] }
    expect(me.person).toMatchObject({ email: 'demo@example.com' })
    expect(me.accounts.length > 0).toBe(root === 'cabinet')
    expect((await follow()).status).toBe(410)
    operator = cookie
  }
  return operator
}

/** What a file put into the demo's folder would change; `operator`: the cookie of one. */
async function seesReload(out: string, folder: string, operator: string): Promise<void> {
  const [, origin = ''] = /(http:\/\/localhost:\d+)\/console\/link/.exec(out) ?? []
  const file = join(folder, 'data/demo/tollgate.toml')
  writeFileSync(file, '[limits]\nrequests_per_minute = 7\n')
  const preview = await fetch(`${origin}/console/api/catalog/reload`, { headers: { cookie: operator } })
  expect(await preview.json()).toMatchObject({ file, changes: [{ path: 'limits.requests_per_minute', after: '7' }] })
  rmSync(file)
}

/** Undefined when somebody else has it, which is as good. */
function take8080(): { stop(closes: boolean): void } | undefined {
  try {
    return Bun.listen({ hostname: '127.0.0.1', port: 8080, socket: { data: () => undefined } })
  } catch {
    return undefined
  }
}
