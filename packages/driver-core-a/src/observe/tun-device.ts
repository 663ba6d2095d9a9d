import { readFile } from 'node:fs/promises'
import type { ContainerState } from '@steeple/southbound'
import { TUN_DEVICE } from '../render/session-files.ts'

/** The flag of a route that is up (RTF_UP), in the fourth field of `/proc/<pid>/net/route`. */
const IS_UP = 1
/** What the program of the UPF is called, as far as the kernel keeps names. */
const UPF_PROGRAM = 'open5gs-upfd'

/** Whether phones' packets have a way between the UPF and the network. */
export interface TunLook {
  /** What is amiss, of the UPF that runs in that container, or on this machine; undefined when nothing is known to be. */
  problem(container: ContainerState | undefined): Promise<string | undefined>
}

/**
 * Looks whether the routes of the UPF's network have its TUN device: they do while it is there, up and has an address. Where it is not
 * certain whose network that is, one counts as missing that was there before.
 */
export function tunLook(read: (path: string) => Promise<string> = readText): TunLook {
  let hasBeen = false
  return {
    problem: async (container) => {
      const of = `/proc/${container?.pid ?? 'self'}`
      const routes = await read(`${of}/net/route`).catch(() => undefined)
      if (routes === undefined) return undefined
      if (hasDevice(routes)) {
        hasBeen = true
        return undefined
      }
      const isCertain = container?.pid !== undefined && (await isUpf(read, of, container.id))
      return hasBeen || isCertain
        ? `its TUN device ${TUN_DEVICE} is missing, down or without an address: phones get no data`
        : undefined
    },
  }
}

function hasDevice(routes: string): boolean {
  return routes.split('\n').some((line) => {
    const [device, , , flags = ''] = line.split(/\s+/)
    return device === TUN_DEVICE && (Number.parseInt(flags, 16) & IS_UP) !== 0
  })
}

/** A number of a process may be another one's where this service runs. */
async function isUpf(read: (path: string) => Promise<string>, of: string, id: string): Promise<boolean> {
  const [name, groups] = await Promise.all(
    ['comm', 'cgroup'].map(async (file) => await read(`${of}/${file}`).catch(() => '')),
  )
  return name?.trim() === UPF_PROGRAM || (id.length >= 12 && groups?.includes(id) === true)
}

async function readText(path: string): Promise<string> {
  return await readFile(path, 'utf8')
}
