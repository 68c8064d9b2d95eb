/** What `.deploy` holds is what the program takes: its units, its image, its nodes. Rules: operator.md "Shutdown", "Upgrade", "Processes". */

import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageFile from '../package.json' with { type: 'json' }
import { BEGUN_WITH } from '../src/cli/begun-with.ts'
import { handOver } from '../src/cli/doctor.ts'
import { loadConfig } from '../src/config/load.ts'
import { LIMITS } from '../src/core/limits.ts'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-deploy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (name: string): Promise<string> => Bun.file(join(import.meta.dir, '../.deploy', name)).text()
const UNITS = ['tollgate.service', 'tollgate@.service'] as const

/** `Name=value` lines without comments. */
const settings = (unit: string): readonly string[] => unit.split('\n').filter((line) => /^[A-Z]\w*=/.test(line))
const settingOf = (unit: string, name: string): string | undefined =>
  settings(unit)
    .find((line) => line.startsWith(`${name}=`))
    ?.slice(name.length + 1)

test('the units let a drain end, count one stop as one, restart no mistake, and allow what a JIT needs', async () => {
  for (const name of UNITS) {
    const unit = await read(name)
    expect(Number(settingOf(unit, 'TimeoutStopSec')) * 1000).toBeGreaterThan(LIMITS.drainMs)
    expect(settingOf(unit, 'KillMode')).toBe('mixed')
    expect(settingOf(unit, 'RestartPreventExitStatus')).toBe('2')
    expect(Number(settingOf(unit, 'LimitNOFILE'))).toBeGreaterThanOrEqual(65_536)
    expect(settingOf(unit, 'MemoryDenyWriteExecute')).toBeUndefined()
    for (const hardening of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'StateDirectory=tollgate', 'CapabilityBoundingSet='])
      expect(settings(unit)).toContain(hardening)
    expect(unit).toContain('\nExecStart=/usr/local/')
  }
  const [one, many] = await Promise.all(UNITS.map(async (name) => settings(await read(name))))
  const own = /^(?:Description|ExecStart|After)=/
  expect(many?.filter((line) => !own.test(line))).toEqual(one?.filter((line) => !own.test(line)) ?? [])
})

test('units and image begin the program with what it gives the processes that it begins', async () => {
  for (const [name, value] of Object.entries(BEGUN_WITH)) {
    for (const unit of UNITS) expect(settings(await read(unit))).toContain(`Environment=${name}=${value}`)
    expect(await read('Containerfile')).toContain(`\nENV ${name}=${value}\n`)
  }
})

const analyze = Bun.which('systemd-analyze')
if (analyze === null) console.warn('systemd-analyze is not here: the units are not verified')
test.skipIf(analyze === null)('systemd takes the units', async () => {
  for (const name of UNITS) {
    const path = join(folder, name.replace('@.', '@blue.'))
    writeFileSync(path, (await read(name)).replaceAll(/^ExecStart=\S+/gm, 'ExecStart=/bin/true'))
    const run = Bun.spawnSync([analyze ?? '', 'verify', path])
    expect({ name, code: run.exitCode, said: run.stderr.toString() }).toEqual({ name, code: 0, said: '' })
  }
})

type Compose = Readonly<{
  services: Readonly<
    Record<
      string,
      Readonly<{
        ports?: string[]
        stop_grace_period?: string
        network_mode?: string
        sysctls?: object
        configs?: { source: string; target: string }[]
      }>
    >
  >
  configs: Readonly<Record<string, Readonly<{ content: string }>>>
}>

test('three nodes share one port, each with a name and an operator’s port of its own', async () => {
  const { services, configs } = Bun.YAML.parse(await read('compose.yaml')) as Compose
  const nodes = Object.entries(services).filter(([name]) => name.startsWith('node-'))
  expect(nodes).toHaveLength(3)
  const loaded = nodes.map(([name, { configs: given, network_mode, stop_grace_period }]) => {
    expect(given).toEqual([{ source: name, target: '/etc/tollgate/tollgate.toml' }])
    expect(network_mode).toBe('service:port')
    expect(Number.parseInt(stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(LIMITS.drainMs)
    writeFileSync(join(folder, `${name}.toml`), configs[name]?.content ?? 'x')
    const env = { LEDGER_URL: 'postgres://tollgate:abc@postgres/tollgate' }
    const config = loadConfig({ file: `${name}.toml`, folder, env })
    if ('problems' in config) throw new Error(JSON.stringify(config.problems))
    return config
  })
  expect(loaded.map(({ ledger }) => 'node' in ledger && ledger.node)).toEqual(['node-1', 'node-2', 'node-3'])
  expect(new Set(loaded.map(({ operator }) => operator.port)).size).toBe(3)
  for (const { server, ledger } of loaded) expect([server.host, server.port, ledger.path]).toEqual(['0.0.0.0', 8080, '/data/tollgate.db'])
  expect(services['port']).toMatchObject({ ports: ['127.0.0.1:8080:8080'], sysctls: { 'net.ipv4.tcp_migrate_req': 1 } })
})

test('the setting that doctor asks for is the one that stands in the file for /etc/sysctl.d', async () => {
  const [setting = ''] = /^net\.\S+/m.exec(await read('90-tollgate.conf')) ?? []
  expect(setting).not.toBe('')
  expect(handOver('0').detail).toContain(`\`sysctl -w ${setting}=1\``)
})

test('the image is built by the Bun that the tests ran on, runs as nobody, and is healthy when /livez is 200', async () => {
  const file = await read('Containerfile')
  expect(file).toContain(`oven/bun:${packageFile.engines.bun.replace(/^\D*/, '')}-`)
  expect(/^USER (\d+):/m.exec(file)?.[1]).toBe('65532')
  const command = JSON.parse(/^ {2}CMD (\["bash".*\])$/m.exec(file)?.[1] ?? '[]') as string[]
  for (const [status, code] of [
    [200, 0],
    [503, 1],
  ] as const) {
    const asked: string[] = []
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request) => {
        asked.push(new URL(request.url).pathname)
        return new Response('', { status })
      },
    })
    const probe = Bun.spawn(command.map((word) => word.replaceAll('8080', String(server.port))))
    expect(await probe.exited).toBe(code)
    expect(asked).toEqual(['/livez'])
    server.stop(true)
  }
  const closed = Bun.spawn(
    command.map((word) => word.replaceAll('8080', '1')),
    { stderr: 'ignore' },
  )
  expect(await closed.exited).not.toBe(0)
})
