import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { southboundUnavailable } from '@steeple/contracts'
import { GUARD_SHELL, LAUNCHER, radioEnvironment } from './guard-script.ts'
import { readText } from './proc-fs.ts'

const CHECK_BOUND_MS = 5_000
/** Ends with 0 where the guard's script can run. */
const GUARD_CHECK = 'type setsid >/dev/null && { : & wait -n; }'

/**
 * Checks that a dead service leaves no transmitter running: that `setpriv` can set the parent-death signal here, and
 * that the guard's shell is there.
 *
 * Throws `southbound_unavailable` otherwise; without it no radio is started.
 */
export async function requireLauncher(): Promise<void> {
  try {
    await promisify(execFile)(LAUNCHER, ['--pdeathsig', 'KILL', '--', ...GUARD_SHELL, GUARD_CHECK], {
      env: { ...radioEnvironment('/') },
      timeout: CHECK_BOUND_MS,
    })
  } catch (error) {
    throw southboundUnavailable(
      'no radio starts: setpriv --pdeathsig, setsid or bash 4.3 is missing, and nothing would stop it after a crash ' +
        '(Debian: apt install util-linux bash)',
      { cause: error },
    )
  }
}

/**
 * What this machine may lack for a radio; none of it keeps one from starting. Short texts for the health detail. Whatever a radio needs to
 * reach the core was there if one was connected.
 */
export function machineHints(wasConnected = false): readonly string[] {
  const hints: string[] = []
  if (!wasConnected && !hasSctp())
    hints.push('no_sctp: the kernel shows no SCTP; if the radio does not reach the core, run modprobe sctp')
  const limits = readText('/proc/self/limits')
  const capabilities = BigInt(
    `0x${/^CapAmb:\s*([0-9a-f]+)$/m.exec(readText('/proc/self/status'))?.[1] ?? '0'}`,
  )
  const isRoot = /^Uid:\s*0\s+0\s/m.test(readText('/proc/self/status'))
  const canNice = isRoot || (capabilities & CAP_SYS_NICE) !== 0n
  if (!canNice && limitOf(limits, 'Max realtime priority') < 99) {
    hints.push('no_rtprio: the radio runs without real-time priority (LimitRTPRIO=99)')
  }
  if (!isRoot && limitOf(limits, 'Max locked memory') < LEAST_LOCKED_BYTES) {
    hints.push('no_memlock: the radio cannot lock its memory (LimitMEMLOCK=infinity)')
  }
  const governor = readText('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor').trim()
  if (governor !== '' && governor !== 'performance') {
    hints.push(`cpu_governor: it is ${governor.slice(0, 16)}, not performance`)
  }
  return hints
}

/** `<linux/capability.h>`: CAP_SYS_NICE is 23. */
const CAP_SYS_NICE = 1n << 23n
/** srsenb takes about 760 MB. */
const LEAST_LOCKED_BYTES = 1_073_741_824

function hasSctp(): boolean {
  // Loaded, or a module that the kernel loads when a socket asks for it.
  if (existsSync('/proc/net/sctp') || existsSync('/sys/module/sctp')) return true
  const release = readText('/proc/sys/kernel/osrelease').trim()
  const modules = readText(`/lib/modules/${release}/modules.dep`)
  return /\/sctp\.ko/.test(modules) || /\/sctp\.ko/.test(readText(`/lib/modules/${release}/modules.builtin`))
}

function limitOf(limits: string, name: string): number {
  const soft = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1]
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? 0)
}
