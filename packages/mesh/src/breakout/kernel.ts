import { readFile, writeFile } from 'node:fs/promises'
import { southboundUnavailable } from '@steeple/contracts'
import type { Run } from '../wireguard/run.ts'
import { REMOVAL_TEXT, readListing, rulesetText, TABLE } from './ruleset.ts'
import type { TableWanted } from './wanted.ts'

/** The table of nftables as a whole. */
export interface TranslationTable {
  /** Puts it back unless it is as it was put there. Says whether it had to. */
  keep(wanted: TableWanted, signal: AbortSignal): Promise<boolean>
  /** Takes it away, and what was turned on for it. Nothing to do where it is not there. */
  remove(signal: AbortSignal): Promise<boolean>
}

/** Whether the kernel passes IPv4 packets on. */
export interface Forwarding {
  isOn(): Promise<boolean>
  turn(isOn: boolean): Promise<void>
}

const LIST = ['-j', 'list', 'table', TABLE.family, TABLE.name]

/** The switch of this network namespace. ip-sysctl of the kernel's documentation. */
export function kernelForwarding(path = '/proc/sys/net/ipv4/ip_forward'): Forwarding {
  return {
    // A machine that has no such switch passes nothing on.
    isOn: async () => (await readFile(path, 'latin1').catch(() => '0')).trim() === '1',
    turn: async (isOn) => {
      await writeFile(path, isOn ? '1' : '0').catch(({ message }: Error) => {
        throw southboundUnavailable(
          `packets are not passed on, and the service may not change that (${message}); sysctl -w net.ipv4.ip_forward=1`,
        )
      })
    },
  }
}

/**
 * The table in the kernel. It outlives the service, so that a restart interrupts nobody; a service that comes next puts its
 * own in the place of it. What nft lists right after that is what it is compared with, as each nft writes it its own way.
 */
export function translationTable(run: Run, forwarding: Forwarding): TranslationTable {
  let inForce: { readonly text: string; readonly canonical: string } | undefined
  // For when the note is flushed with the rest.
  let wasForwarding: boolean | undefined
  const list = async (signal: AbortSignal): Promise<ReturnType<typeof readListing> | undefined> => {
    try {
      return readListing(await run('nft', LIST, { signal }))
    } catch (error) {
      if (isAbsent(error)) return undefined
      throw error
    }
  }
  return {
    keep: async (wanted, signal) => {
      const found = await list(signal)
      wasForwarding = found?.wasForwarding ?? wasForwarding ?? (await forwarding.isOn())
      const text = rulesetText(wanted, wasForwarding)
      if (found !== undefined && inForce?.text === text && inForce.canonical === found.canonical) return false
      inForce = undefined
      await run('nft', ['-j', text], { signal })
      const put = await list(signal)
      if (put === undefined) throw southboundUnavailable('nft: the table is gone right after it was made')
      inForce = { text, canonical: put.canonical }
      return true
    },
    remove: async (signal) => {
      const found = await list(signal)
      inForce = undefined
      // Where nothing is known nothing is turned off.
      if ((found?.wasForwarding ?? wasForwarding) === false) await forwarding.turn(false)
      wasForwarding = undefined
      if (found === undefined) return false
      await run('nft', ['-j', REMOVAL_TEXT], { signal })
      return true
    },
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && /No such file or directory/.test(error.message)
}
