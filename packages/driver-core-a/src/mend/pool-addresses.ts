import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Context, Settings } from '@steeple/contracts'
import { type ProcReader, poolsWithout, readText } from '../observe/proc-net.ts'
import { addressIn, type TunPool, tunPools } from '../render/kept-pools.ts'

/** Where the system's programs are; nothing of the service's environment is handed on. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const RUN_MS = 5_000
/** What was refused is tried again so long after, ms. */
const REST_MS = 300_000

/** What tests put in place of the machine. */
interface AddressSeams {
  readonly read?: ProcReader
  /** Gives a device of this machine an address. */
  readonly add?: (address: string, device: string, signal: AbortSignal) => Promise<void>
}

/**
 * Gives the TUN device of a UPF on this machine its address in each network of phones, where the service drives the core: a pool that
 * came with an APN has none. Where it may not, health says what to run.
 */
export function poolAddresses(
  context: Pick<Context, 'settings' | 'clock' | 'log'>,
  pools: () => Promise<readonly TunPool[]>,
  { read = readText, add = addAddress }: AddressSeams = {},
): (signal: AbortSignal) => Promise<void> {
  const { clock, log } = context
  let restsUntilMs = Number.NEGATIVE_INFINITY
  return async (signal) => {
    if (context.settings.southbound.driver === 'none' || clock.monotonicMs() < restsUntilMs) return
    const routes = await read('/proc/self/net/route').catch(() => '')
    for (const pool of poolsWithout(routes, await pools())) {
      const address = addressIn(pool)
      try {
        await add(address, pool.device, signal)
        log.info({ address, device: pool.device }, 'TUN device was given its address of a pool')
      } catch (error) {
        signal.throwIfAborted()
        restsUntilMs = clock.monotonicMs() + REST_MS
        log.warn(
          { address, device: pool.device, err: error },
          'TUN device could not be given its address of a pool',
        )
        return
      }
    }
  }
}

async function addAddress(address: string, device: string, signal: AbortSignal): Promise<void> {
  const options = { env: { PATH: SYSTEM_PATH, LC_ALL: 'C' }, signal, timeout: RUN_MS }
  await promisify(execFile)('ip', ['addr', 'add', address, 'dev', device], options)
}

/** The networks of phones of the UPF's file as it is; none where it is not here, or cannot be read. */
export async function poolsInForce({ core_a }: Pick<Settings, 'core_a'>): Promise<readonly TunPool[]> {
  if (core_a.config_dir === '') return []
  return tunPools(await readFile(join(core_a.config_dir, 'upf.yaml'), 'utf8').catch(() => undefined))
}
