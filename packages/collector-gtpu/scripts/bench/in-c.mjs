// The ceiling of the driver pcap, in the same run: count.c, compiled where there is a compiler and libpcap's header.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BUFFER_BYTES, BUFFER_TIMEOUT_MS, filterText, SNAP_LENGTH } from '../../src/child/order.ts'

const SOURCE = fileURLToPath(new URL('count.c', import.meta.url))
const COMPILER = process.env.CC ?? 'gcc'

/** Compiles into a folder; the program, or why there is none. */
export function compileInC(folder) {
  const program = join(folder, 'count')
  const { status, stderr, error } = spawnSync(COMPILER, ['-O2', '-o', program, SOURCE, '-lpcap'], {
    encoding: 'utf8',
  })
  if (error !== undefined) return { why: `there is no ${COMPILER}` }
  return status === 0 ? { program } : { why: `${COMPILER}: ${stderr.trim().split('\n')[0]}` }
}

/** Counts what an interface carries; resolves when it looks. */
export async function openInC(program, iface, core) {
  const args = [iface, core, filterText(), SNAP_LENGTH, BUFFER_BYTES, BUFFER_TIMEOUT_MS].map(String)
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  return {
    pid: child.pid,
    octets: async () => {
      child.kill('SIGUSR1')
      const [line] = await once(lines, 'line')
      return Number(line.split(' ')[0])
    },
    close: async () => {
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}
