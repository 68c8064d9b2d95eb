/** What the process itself uses: memory, descriptors, processor time, and how long its event loop is held up. Names are the Prometheus client convention's. */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'
import { descriptorLimit, openDescriptors } from './descriptors.ts'

const LOOP_RESOLUTION_MS = 20
const NANOSECONDS = 1e9

export function registerProcessMetrics(registry: Registry): void {
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  }
  const startSeconds = Math.round(Date.now() / 1000 - process.uptime())
  gauge('process_start_time_seconds', 'Unix time at which the process started.', () => startSeconds)
  gauge('process_resident_memory_bytes', 'Memory that the process occupies.', () => process.memoryUsage.rss())
  const limit = descriptorLimit()
  if (limit !== undefined) gauge('process_max_fds', 'Descriptors that may be open at once.', () => limit)
  if (openDescriptors() !== undefined) gauge('process_open_fds', 'Open descriptors: a connection is one.', () => openDescriptors() ?? 0)
  gauge('process_heap_bytes', 'Memory in use by the JavaScript heap.', () => process.memoryUsage().heapUsed)
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time used, user and system.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(processorSeconds())
    },
  })

  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  delay.enable()
  gauge('process_event_loop_lag_seconds', 'Longest delay of the event loop since the last reading.', () => {
    const longest = delay.max
    delay.reset()
    return longest / NANOSECONDS
  })
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
