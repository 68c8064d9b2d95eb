/** `tollgate doctor`: checks everything that a gateway stands on, and says what is wrong. Rules: operator.md "Commands", "What is weak", "Upgrade". */

import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Command, Option } from 'commander'
import { problemOf } from '../../db/problem.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { type ConfigProblems, textOfProblem } from '../config/problems.ts'
import { openReport } from '../ledger/report.ts'
import { lockHolderOf } from '../ledger/sqlite/file-id.ts'
import { descriptorLimit } from '../observe/descriptors.ts'
import { isGatewayRunning, isGatewayWriting } from '../operator/ask-gateways.ts'
import { socketPathOf } from '../operator/socket-files.ts'
import { peoplePathOf } from '../people/people-file.ts'
import { summaryText } from './check-config.ts'
import { configOption, printer, withJson } from './command-context.ts'
import { type Finding, ledgerFinding, unopenedFinding } from './doctor-finding.ts'
import { postgresFindings } from './doctor-postgres.ts'
import { telegramFindings } from './doctor-telegram.ts'
import { upstreamFindings } from './doctor-upstreams.ts'
import { type CliEnvironment, EXIT, type ExitCode } from './environment.ts'
import { setUpOf, weaknessesOf } from './set-up.ts'
import { tableText } from './text.ts'
import { unknownPlans } from './unknown-plans.ts'

const BUN_VERSION_MIN = '>=1.4.5'
const MIB = 1024 * 1024
const DISK_WARNING_BYTES = 1024 * MIB
const DISK_PROBLEM_BYTES = 64 * MIB
/** Two thousand streams take this many descriptors, since each has a client's and an upstream's connection. */
const DESCRIPTORS_MIN = 4_096
const OTHERS = 0o077
const WRITABLE_BY_OTHERS = 0o022
const CLOCK_MIN = Date.UTC(2026, 0)
const CLOCK_MAX = Date.UTC(2100, 0)

export function addDoctor(program: Command, environment: CliEnvironment, setExitCode: (code: ExitCode) => void): void {
  const doctor = withJson(program.command('doctor'))
    .description('check configuration, pages, ledger, disk, modes, descriptors, clock and upstreams; 1 when something is wrong')
    .addOption(new Option('--no-network', 'do not call the upstreams'))
    .addOption(
      new Option('--calls', 'ask each upstream for one token of each model, too, and say before what that costs').conflicts('network'),
    )
  doctor.action(async (options: { network: boolean; calls?: true }) => {
    const file = configOption(doctor)
    const findings = await examine(environment, file, options.calls ? 'calls' : options.network ? 'free' : 'nothing')
    printer(environment, doctor)({ ok: findings.every(isFine), data: findings }, () => findingTable(findings))
    setExitCode(findings.every(isFine) ? EXIT.ok : EXIT.finding)
  })
}

const isFine = ({ status }: Finding): boolean => status !== 'problem'
const findingTable = (findings: readonly Finding[]): string =>
  tableText(
    ['CHECK', 'STATUS', 'DETAIL'],
    findings.map(({ check, status, detail }) => [check, status, detail]),
    '',
  )

/** How upstreams are probed: not at all, by free counts, or by calls that cost money, too. */
type ProbeLevel = 'nothing' | 'free' | 'calls'

async function examine(environment: CliEnvironment, file: string | undefined, asked: ProbeLevel): Promise<readonly Finding[]> {
  const { folder, env } = environment
  const now = environment.now()
  const machine = [runtime(), clock(now)]
  const strict = loadConfig({ file, folder, env })
  const config = 'problems' in strict ? loadConfig({ file, folder, env, needsSecrets: false }) : strict
  if ('problems' in config) return [...mistakes(strict), ...machine]
  return [
    ...('problems' in strict ? mistakes(strict) : [configuration(config)]),
    ...config.withoutEffect.map((setting) => ({ check: 'configuration', status: 'warning', detail: textOfProblem(setting) }) as const),
    ...setUp(config),
    ...(await ledgerFindings(config, environment)),
    ...(config.ledger.kind === 'postgres' ? [handOver()] : []),
    disk(config),
    ...machine,
    ...(asked === 'nothing' ? [] : await telegramFindings(config)),
    ...(asked === 'nothing' ? [] : await upstreamFindings(config, asked === 'calls', environment.stderr)),
  ]
}

const mistakes = (config: Config | ConfigProblems): readonly Finding[] =>
  'problems' in config
    ? config.problems.map((problem) => ({ check: 'configuration', status: 'problem', detail: textOfProblem(problem) }))
    : []

function configuration(config: Config): Finding {
  const detail = summaryText(config)
  const mode = config.file === undefined ? 0 : statSync(config.file).mode
  return mode & WRITABLE_BY_OTHERS
    ? { check: 'configuration', status: 'warning', detail: `${config.file} may be written by others: chmod go-w` }
    : { check: 'configuration', status: 'ok', detail }
}

async function ledgerFindings(config: Config, environment: CliEnvironment): Promise<readonly Finding[]> {
  if (config.ledger.kind === 'postgres') return [...descriptors('self'), ...postgresFindings(config, config.ledger, environment)]
  return [...(await gateway(config)), ...ledger(config, environment.now()), ...people(config)]
}

/** How pages, mail, payments and alerts are set up, and then a warning for each weak setting, which works all the same. */
const setUp = (config: Config): readonly Finding[] => [
  ...Object.entries(setUpOf(config)).map(([check, detail]) => ({ check, status: 'ok', detail }) as const),
  ...weaknessesOf(config).map((setting) => ({ check: 'weak', status: 'warning', detail: textOfProblem(setting) }) as const),
]

/** Whether a gateway runs, and how many connections it can have; where none runs, how many one could have that is started from here. */
async function gateway(config: Config): Promise<readonly Finding[]> {
  const { path } = config.ledger
  const isRunning = await isGatewayRunning(path)
  const holder = lockHolderOf(path)
  if (!isRunning && holder !== undefined) {
    const detail = `pid ${holder} has the ledger open and does not answer at ${socketPathOf(path)}: a gateway makes its socket again within a second`
    return [{ check: 'gateway', status: 'warning', detail }, ...descriptors(holder)]
  }
  if (isRunning && !(await isGatewayWriting(path))) {
    const detail = 'one is running on this ledger and refuses all requests, because it can write nothing there: its log says why'
    return [{ check: 'gateway', status: 'problem', detail }, ...descriptors(holder)]
  }
  const detail = isRunning ? 'one is running on this ledger' : 'none is running on this ledger'
  return [{ check: 'gateway', status: 'ok', detail }, ...descriptors(isRunning ? holder : 'self')]
}

/** Whether a new process can take over what waits for an old one's listening socket. Rules: operator.md "Upgrade". */
export function handOver(setting = readSetting()): Finding {
  const check = 'upgrade'
  if (setting === '1') return { check, status: 'ok', detail: 'net.ipv4.tcp_migrate_req is 1: a new process takes over every connection' }
  const loss =
    'an upgrade beside the old process, or the end of one of several, resets what waits in its queue, about 1 connection in 26,000'
  const advice =
    setting === undefined
      ? 'Linux has net.ipv4.tcp_migrate_req from 5.14 on'
      : '`sysctl -w net.ipv4.tcp_migrate_req=1`, and a file in /etc/sysctl.d so that it stays'
  const is = setting === undefined ? 'is not there' : `is ${setting}`
  return { check, status: 'warning', detail: `net.ipv4.tcp_migrate_req ${is}: ${loss}; ${advice}` }
}

function readSetting(): string | undefined {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').trim()
  } catch {
    return undefined
  }
}

function descriptors(pid: number | 'self' | undefined): readonly Finding[] {
  const limit = pid === undefined ? undefined : descriptorLimit(pid)
  if (limit === undefined) return []
  const detail = `${limit} may be open at once${pid === 'self' ? '' : ` in pid ${pid}`}`
  if (limit >= DESCRIPTORS_MIN) return [{ check: 'descriptors', status: 'ok', detail }]
  const raise = 'each connection takes one: `ulimit -n 65536` before the start, or LimitNOFILE=65536 in the systemd unit'
  return [{ check: 'descriptors', status: 'warning', detail: `${detail}; ${raise}` }]
}

/** The file's mode, and what `verify` finds in it. A ledger that is not made yet is no problem: `serve` makes it. */
function ledger(config: Config, now: number): readonly Finding[] {
  const report = openReport({ kind: 'sqlite', path: config.ledger.path })
  if ('problem' in report) return [unopenedFinding(report)]
  try {
    const { mode } = statSync(config.ledger.path)
    return [
      ledgerFinding(config.ledger.path, report.verify().length),
      mode & OTHERS
        ? { check: 'ledger mode', status: 'warning', detail: `${config.ledger.path} is open to others: chmod 600` }
        : { check: 'ledger mode', status: 'ok', detail: 'only its owner may read it' },
      ...unknownPlans(report.accounts.plans(), config),
      ...(report.accounts.lastSyncedAt() > now
        ? [{ check: 'ledger time', status: 'problem', detail: 'its newest row is later than the clock' } as const]
        : []),
    ]
  } catch (error) {
    return [{ check: 'ledger', status: 'problem', detail: problemOf(error, config.ledger.path).message }]
  } finally {
    report.close()
  }
}

/** Hashes of passwords and what signs cookies. Undefined until the first invitation. */
function people({ ledger }: Config): readonly Finding[] {
  if (ledger.kind === 'postgres') return []
  const path = peoplePathOf(ledger.path)
  if (!existsSync(path)) return []
  const open = ['', '-wal', '-shm'].map((suffix) => path + suffix).find((file) => existsSync(file) && statSync(file).mode & OTHERS)
  return open === undefined
    ? [{ check: 'people mode', status: 'ok', detail: 'only its owner may read it' }]
    : [{ check: 'people mode', status: 'warning', detail: `${open} is open to others: chmod 600` }]
}

function disk(config: Config): Finding {
  const folder = nearestFolder(dirname(config.ledger.path))
  const { bavail, bsize } = statfsSync(folder)
  const freeBytes = bavail * bsize
  const detail = `${Math.floor(freeBytes / MIB)} MiB free at ${folder}`
  if (!isWritableFolder(folder)) return { check: 'disk', status: 'problem', detail: `nothing can be written at ${folder}` }
  if (freeBytes < DISK_PROBLEM_BYTES) return { check: 'disk', status: 'problem', detail }
  return { check: 'disk', status: freeBytes < DISK_WARNING_BYTES ? 'warning' : 'ok', detail }
}

/** The folder itself, or the nearest folder above it that exists. */
const nearestFolder = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))

function isWritableFolder(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function runtime(): Finding {
  const isFit = Bun.semver.satisfies(Bun.version, BUN_VERSION_MIN)
  return { check: 'bun', status: isFit ? 'ok' : 'problem', detail: isFit ? Bun.version : `${Bun.version}, expected ${BUN_VERSION_MIN}` }
}

function clock(now: number): Finding {
  const isFit = now > CLOCK_MIN && now < CLOCK_MAX
  return { check: 'clock', status: isFit ? 'ok' : 'problem', detail: new Date(now).toISOString() }
}
