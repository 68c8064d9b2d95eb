/** The memory that the process may use is what the narrowest of its control groups allows, in both versions, and never more than the machine has. */

import { expect, test } from 'bun:test'
import { processMemoryBytes } from '../../src/observe/process-memory.ts'

const GIB = 1024 ** 3
const asked = (files: Readonly<Record<string, string>>): number => processMemoryBytes({ totalBytes: 8 * GIB, read: (path) => files[path] })

test('without control groups, or without a limit in them, it is what the machine has', () => {
  expect(asked({})).toBe(8 * GIB)
  expect(asked({ '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': 'max\n' })).toBe(8 * GIB)
  const unlimited = { '/proc/self/cgroup': '4:memory:/a\n', '/sys/fs/cgroup/memory/a/memory.limit_in_bytes': '9223372036854771712\n' }
  expect(asked(unlimited)).toBe(8 * GIB)
})

test('version 2: the narrowest of the group and those above it', () => {
  const files = {
    '/proc/self/cgroup': '0::/system.slice/tollgate.service\n',
    '/sys/fs/cgroup/memory.max': 'max\n',
    '/sys/fs/cgroup/system.slice/memory.max': `${2 * GIB}\n`,
    '/sys/fs/cgroup/system.slice/tollgate.service/memory.max': `${4 * GIB}\n`,
  }
  expect(asked(files)).toBe(2 * GIB)
  expect(asked({ ...files, '/sys/fs/cgroup/system.slice/tollgate.service/memory.max': `${GIB}\n` })).toBe(GIB)
})

test('version 1: the line of the memory controller, alone or beside others', () => {
  for (const controllers of ['memory', 'cpu,memory'])
    expect(
      asked({ '/proc/self/cgroup': `3:cpuset:/x\n2:${controllers}:/a\n`, '/sys/fs/cgroup/memory/a/memory.limit_in_bytes': `${GIB}\n` }),
    ).toBe(GIB)
})

test('this machine says something', () => {
  expect(processMemoryBytes()).toBeGreaterThan(0)
})
