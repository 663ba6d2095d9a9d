import { readdirSync, readFileSync } from 'node:fs'

/** The figures of this process that each daemon adds to its metrics, in the recorded order. */
export function processMetrics(): readonly string[] {
  const [pages = '0', resident = '0'] = readFileSync('/proc/self/statm', 'utf8').split(' ')
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? '-1'
  const cpuSeconds = Math.floor((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS)
  return [
    gauge('process_max_fds', 'Maximum number of open file descriptors.', limit),
    gauge('process_virtual_memory_max_bytes', 'Maximum amount of virtual memory available in bytes.', '-1'),
    gauge('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', cpuSeconds),
    gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', Number(pages) * PAGE_BYTES),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', Number(resident) * PAGE_BYTES),
    gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      // Clock ticks since boot, whatever the help says.
      fields[19] ?? '0',
    ),
    gauge('process_open_fds', 'Number of open file descriptors.', readdirSync('/proc/self/fd').length),
  ]
}

/** A metric with its samples, `{label="…"} value` each; without any when there are none. */
export function metric(
  name: string,
  type: 'gauge' | 'counter',
  help: string,
  samples: readonly string[],
): string {
  const lines = samples.map((sample) => `${name}${sample}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** A body of metrics: a blank line after each. */
export function exposition(metrics: readonly string[]): string {
  return metrics.map((text) => `${text}\n`).join('')
}

function gauge(name: string, help: string, value: string | number): string {
  return metric(name, 'gauge', help, [` ${value}`])
}

/** USER_HZ and page size of Linux on the machines this runs on. */
const CLOCK_TICKS = 100
const PAGE_BYTES = 4096
