/** The bill of materials: what bun.lock says that the program is made of, as CycloneDX 1.6. What the bundler leaves out of a package, or whole, is in it. */

import type { BunLockFile } from 'bun'

type Lock = Pick<BunLockFile, 'packages' | 'workspaces'>
type Program = Readonly<{ version: string; commit: string /** ISO 8601. */; committedAt: string; bunVersion: string }>
type Package = Readonly<{ name: string; version: string; sha512: string; needs: readonly string[] }>

export function billOf(lock: Lock, { version, commit, committedAt, bunVersion }: Program): object {
  const packages = shipped(lock)
  const bun = `pkg:github/oven-sh/bun@bun-v${bunVersion}`
  const program = `pkg:generic/tollgate@${version}`
  const direct = Object.keys(lock.workspaces['']?.dependencies ?? {}).map((name) => purlOf(packages.get(name)))
  const edges = [...packages.values()].map((one) => [purlOf(one), one.needs.map((key) => purlOf(packages.get(key)))] as const)
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: committedAt,
      component: {
        type: 'application',
        'bom-ref': program,
        name: 'tollgate',
        version,
        purl: program,
        properties: [{ name: 'tollgate:commit', value: commit }],
      },
    },
    components: [
      { type: 'platform', 'bom-ref': bun, name: 'bun', version: bunVersion, purl: bun },
      ...[...new Map([...packages.values()].map((one) => [purlOf(one), componentOf(one)])).values()],
    ],
    dependencies: [
      { ref: program, dependsOn: [bun, ...direct] },
      ...[...new Map(edges)].map(([ref, dependsOn]) => ({ ref, dependsOn: [...new Set(dependsOn)] })),
    ],
  }
}

/** All that the dependencies lead to, by their keys in the lock. */
function shipped({ packages, workspaces }: Lock): ReadonlyMap<string, Package> {
  const found = new Map<string, Package>()
  const tools = new Set(Object.keys(workspaces['']?.devDependencies ?? {}))
  const waiting = Object.keys(workspaces['']?.dependencies ?? {})
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (found.has(key)) continue
    const one = readPackage(packages, key, tools)
    found.set(key, one)
    waiting.push(...one.needs)
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** `tools`: those of development; a package that wants one beside itself does not bring it along. */
function readPackage(packages: Lock['packages'], key: string, tools: ReadonlySet<string>): Package {
  const [pinned = '', , info, integrity] = packages[key] ?? []
  const [, name, version] = /^(.+)@(\d[^:]*)$/.exec(pinned) ?? []
  if (name === undefined || version === undefined || typeof info !== 'object' || integrity?.startsWith('sha512-') !== true)
    throw new Error(`bun.lock: ${key} is not a package of the registry with a sum`)
  const optional = tools.union(new Set(info.optionalPeers))
  const peers = Object.keys(info.peerDependencies ?? {}).filter((peer) => !optional.has(peer))
  // Those for other systems are in the lock as well; those that were never found are not.
  const wanted = [...Object.keys(info.dependencies ?? {}), ...peers].map((need) => keyFrom(packages, key, need) ?? missing(key, need))
  const extras = Object.keys(info.optionalDependencies ?? {}).flatMap((need) => keyFrom(packages, key, need) ?? [])
  return { name, version, sha512: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'), needs: [...wanted, ...extras] }
}

/** As a folder of modules is looked for: the nearest one first. */
function keyFrom(packages: Lock['packages'], from: string, name: string): string | undefined {
  const way = from.match(/(?:@[^/]+\/)?[^/]+/g) ?? []
  for (let depth = way.length; depth >= 0; depth--) {
    const key = [...way.slice(0, depth), name].join('/')
    if (key in packages) return key
  }
  return undefined
}

function missing(key: string, need: string): never {
  throw new Error(`bun.lock: ${key} needs ${need}, which is not there`)
}

function purlOf(one: Package | undefined): string {
  if (one === undefined) throw new Error('a package that was not followed')
  return `pkg:npm/${one.name.replace('@', '%40')}@${encodeURIComponent(one.version)}`
}

const componentOf = (one: Package): object => ({
  type: 'library',
  'bom-ref': purlOf(one),
  name: one.name,
  version: one.version,
  purl: purlOf(one),
  hashes: [{ alg: 'SHA-512', content: one.sha512 }],
})
