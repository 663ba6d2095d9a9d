import { arch, cpus, freemem, loadavg, type as osType, release, totalmem, uptime } from 'node:os'

/** The machine and the process, without their names. */
export function machineFacts(): Readonly<Record<string, unknown>> {
  return {
    system: osType(),
    release: release(),
    architecture: arch(),
    processors: cpus().length,
    memory_bytes: totalmem(),
    memory_free_bytes: freemem(),
    load: loadavg(),
    machine_uptime_s: Math.floor(uptime()),
    node: process.versions.node,
    sqlite: process.versions.sqlite,
    openssl: process.versions.openssl,
    process_uptime_s: Math.floor(process.uptime()),
    resident_bytes: process.memoryUsage.rss(),
  }
}
