/** Simulators as processes of their own, which a test kills, brings into trouble and brings back; how many calls arrived at each is known all the same. */

import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SimulatedKind } from '../../src/simulator/doors/kinds.ts'
import { ROOT } from '../support/made-once.ts'

export const NAMES = ['north', 'south', 'west'] as const
export type Name = (typeof NAMES)[number]

/** Behind which door a simulator stands, what it is started with for that, and the lines by which a gateway finds it there. */
export type SimulatedDoor = Readonly<{ kind: SimulatedKind; options?: readonly string[]; lines: (url: string) => string }>

const NATIVE: SimulatedDoor = { kind: 'native', lines: (url) => `base_url = "${url}"` }

const AWS_KEY = { id: 'AKIDSIMULATED', secret: 'simulated-secret' } as const
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** What the doors below are proven with. */
export const DOOR_ENV = {
  SIM_AWS_ID: AWS_KEY.id,
  SIM_AWS_SECRET: AWS_KEY.secret,
  SIM_FOUNDRY_KEY: 'simulated-key',
  SIM_GOOGLE_KEY: JSON.stringify({ client_email: 'a@b', private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
} as const

/** A door whose requests are signed. */
const ofAws = (kind: SimulatedKind, path = '', more = ''): SimulatedDoor => ({
  kind,
  options: ['--aws-key', `${AWS_KEY.id}:${AWS_KEY.secret}`],
  lines: (url) =>
    `kind = "${kind}"\nregion = "us-east-1"\nbase_url = "${url}${path}"\naws_access_key_id_env = "SIM_AWS_ID"\naws_secret_access_key_env = "SIM_AWS_SECRET"${more}`,
})

/** A door for tokens of a service account, which it gives itself. */
const ofGoogle = (kind: SimulatedKind, path: string, more: string): SimulatedDoor => ({
  kind,
  lines: (url) =>
    `kind = "${kind}"\nproject = "p"\nbase_url = "${url}${path}"\nservice_account_env = "SIM_GOOGLE_KEY"\ntoken_url = "${url}/token"${more}`,
})

/** By signatures, in events or in binary frames, by tokens of a service account, by a key: each is checked. */
export const DOORS = {
  native: NATIVE,
  'claude-aws': ofAws('claude-aws', '', '\nworkspace = "wrkspc_1"'),
  bedrock: ofAws('bedrock', '/anthropic'),
  'bedrock-invoke': ofAws('bedrock-invoke'),
  vertex: ofGoogle('vertex', '', '\nlocation = "global"'),
  'claude-google': ofGoogle('claude-google', '/v1/projects/p/locations/global/workspaces/w/invoke', '\nworkspace = "w"'),
  foundry: {
    kind: 'foundry',
    options: ['--key', DOOR_ENV.SIM_FOUNDRY_KEY],
    lines: (url) => `kind = "foundry"\nbase_url = "${url}/anthropic"\napi_key_env = "SIM_FOUNDRY_KEY"`,
  },
} as const satisfies Readonly<Record<SimulatedKind, SimulatedDoor>>

export class SimulatorProcess {
  readonly name: Name
  readonly #door: SimulatedDoor
  readonly #callsFile: string
  #port = 0
  #child: Bun.Subprocess<'ignore', 'pipe', 'ignore'> | undefined

  constructor(name: Name, folder: string, door: SimulatedDoor = NATIVE) {
    this.name = name
    this.#door = door
    this.#callsFile = join(folder, `calls-of-${name}`)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** By which a gateway finds it. */
  get lines(): string {
    return this.#door.lines(this.url)
  }

  /** Calls that arrived, over all its lives. */
  get calls(): number {
    return existsSync(this.#callsFile) ? readFileSync(this.#callsFile).length / 2 : 0
  }

  /** At the port that it had before. Resolves when it listens. */
  async start(): Promise<void> {
    const preload = join(import.meta.dir, 'count-calls.ts')
    const command = ['--preload', preload, join(ROOT, 'src/main.ts'), 'simulate', '--name', this.name, '--port', String(this.#port)]
    command.push('--kind', this.#door.kind, ...(this.#door.options ?? []))
    const child = Bun.spawn([process.execPath, ...command], {
      env: { PATH: process.env['PATH'] ?? '', CALLS_FILE: this.#callsFile },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'ignore',
    })
    this.#child = child
    const { value } = await child.stdout.getReader().read()
    const said = new TextDecoder().decode(value)
    const port = /listening on \S+:(\d+)/.exec(said)?.[1]
    if (port === undefined) throw new Error(`the simulator ${this.name} did not start: ${said}`)
    this.#port = Number(port)
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#child?.exited
  }

  /** Directives that every call obeys from now on; none of them: it is well. */
  async suffer(directives: string): Promise<void> {
    const asked = directives === '' ? { method: 'DELETE' } : { method: 'PUT', body: directives }
    const response = await fetch(`${this.url}/faults`, asked)
    if (response.status !== 200) throw new Error(await response.text())
  }
}

/** The configuration of a gateway before them; `lines` stand in each upstream's table. */
export const configurationBefore = (simulators: readonly SimulatorProcess[], limits: string, lines: string): string => `
[operator]
port = 0

[limits]
requests_per_minute = 1000000
concurrent_requests = 5000
${limits}

${simulators.map((simulator) => `[[upstreams]]\nname = "${simulator.name}"\n${simulator.lines}\n${lines}\n`).join('\n')}
[[models]]
id = "sonnet"
upstreams = [${simulators.map(({ name }) => `"${name}"`).join(', ')}]
input = "3.00"
output = "15.00"
context_window = 200000
max_output_tokens = 64000

[plans.default]
models = ["*"]
`

const UPSTREAM_COUNTER = /^tollgate_upstream_attempts_total\{upstream="([^"]+)",result="([^"]+)"\} (\d+)$/gm

/** What the gateway's metrics say of its calls: `north answered` → how many. */
export async function callsInMetrics(operatorUrl: string): Promise<Readonly<{ calls: ReadonlyMap<string, number>; text: string }>> {
  const text = await (await fetch(`${operatorUrl}/metrics`)).text()
  const calls = new Map([...text.matchAll(UPSTREAM_COUNTER)].map(([, upstream, result, count]) => [`${upstream} ${result}`, Number(count)]))
  return { calls, text }
}
