/** What a release is made for: binaries by system, processor and C library, and the image. Workflow, install.md and Containerfile are held against it by test/release.test.ts. */

/** As Docker names them. */
export type Platform = 'linux/amd64' | 'linux/arm64'

/** A system to run a binary on before it is released. */
export type Place = Readonly<{ platform: Platform; image: string /** What the binary needs and the image lacks. */; install?: string }>

export type Target = Readonly<{ name: string; place?: Place }>

const GLIBC = { image: 'docker.io/library/debian:12-slim' }
const MUSL = { image: 'docker.io/library/alpine:3.22', install: 'apk add --no-cache --quiet libstdc++' }

/** Names are Bun's without `bun-`. No container runs macOS. */
export const TARGETS: readonly Target[] = [
  { name: 'linux-x64', place: { platform: 'linux/amd64', ...GLIBC } },
  { name: 'linux-arm64', place: { platform: 'linux/arm64', ...GLIBC } },
  { name: 'linux-x64-musl', place: { platform: 'linux/amd64', ...MUSL } },
  { name: 'linux-arm64-musl', place: { platform: 'linux/arm64', ...MUSL } },
  { name: 'darwin-x64' },
  { name: 'darwin-arm64' },
]

export const IMAGE_PLATFORMS: readonly Platform[] = ['linux/amd64', 'linux/arm64']

/** The archive of a target: one file in it, `tollgate`. */
export const archiveOf = ({ name }: Target): string => `tollgate-${name}.tar.gz`

export const SUMS = 'SHA256SUMS'
export const BILL = 'tollgate.cdx.json'
