/** What the process itself uses: memory, descriptors, processor time, and how late its event loop is. Names are the Prometheus client convention's. */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { descriptorLimit, openDescriptors } from './descriptors.ts'
import { type Family, reading } from './families.ts'

const LOOP_RESOLUTION_MS = 20
const NANOSECONDS = 1e9

export function processMetrics(): readonly Family[] {
  const gauge = (name: string, help: string, read: () => number): Family => reading('gauge', name, help, read)
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime())
  const limit = descriptorLimit()
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  delay.enable()
  return [
    gauge('process_start_time_seconds', 'Unix time at which the process started.', () => startSeconds),
    gauge('process_resident_memory_bytes', 'Memory that the process occupies.', () => process.memoryUsage.rss()),
    ...(limit === undefined ? [] : [gauge('process_max_fds', 'Descriptors that may be open at once.', () => limit)]),
    ...(openDescriptors() === undefined
      ? []
      : [gauge('process_open_fds', 'Open descriptors: a connection is one.', () => openDescriptors() ?? 0)]),
    gauge('process_heap_bytes', 'Memory in use by the JavaScript heap.', () => process.memoryUsage().heapUsed),
    reading('counter', 'process_cpu_seconds_total', 'Processor time used, user and system.', processorSeconds),
    gauge('process_event_loop_lag_seconds', 'Longest delay of the event loop since the last reading.', () => {
      const longest = delay.max
      delay.reset()
      return longest / NANOSECONDS
    }),
  ]
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
