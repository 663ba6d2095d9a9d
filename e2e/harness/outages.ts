import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runTool } from '@steeple/testkit'
import { type ConsoleWorld, consoleWorld } from './console-world.ts'
import { ANY_PORTS, insertBatch, type LabProcess, labPhones, startLabCore } from './lab-core.ts'
import { boxPlace, makeLan } from './mesh/places.ts'
import { type Air, openAir } from './radio/air.ts'
import { OPEN, radioConfig } from './radio/box.ts'
import { done } from './service.ts'
import { type ShiftedClock, shiftedClock } from './shifted-clock.ts'
import { memoryDisk } from './small-disk.ts'

/** What can happen to a box, and how it is mended. */
interface Outage {
  cause(): Promise<void> | void
  mend(): Promise<void> | void
}

/** The outages that are made here. */
export type OutageKind = 'no_radio' | 'no_core' | 'disk_full' | 'clock_wrong' | 'no_internet' | 'store_gone'

/** A box on the air with phones, a core, a line to the internet, and a disk and a clock of its own. */
export interface OutageWorld {
  readonly box: ConsoleWorld
  /** By the kind of the incident that each is. */
  readonly outages: Readonly<Record<OutageKind, Outage>>
  close(): Promise<void>
}

/** Phones that are on. */
export const PHONES = 13
const DISK_MIB = 48
const DAY_MS = 86_400_000
const AHEAD_DAYS = 800

/** Starts it in `folder`, in a machine of the caller's own (`enterOwnMachine`). */
export async function outageWorld(folder: string): Promise<OutageWorld> {
  const line = await internetLine(folder)
  const [air, disk, clock] = [await openAir(folder), memoryDisk(DISK_MIB), shiftedClock(folder)]
  const box = await consoleWorld(folder, {
    config: radioConfig(air.binary),
    // A busy machine ends no radio here.
    env: { SVC_RAN_LEASE: '60s' },
    start: { dataDir: disk.path, nodeFlags: clock.nodeFlags },
  })
  await settle(box, air)
  const core = deadCore(folder, box.lab)
  return {
    box,
    outages: {
      no_radio: lostRadio(air, box.lab),
      no_core: core,
      disk_full: { cause: disk.fill, mend: disk.free },
      clock_wrong: wrongClock(clock),
      no_internet: line.outage,
      store_gone: replacedStore(box),
    },
    close: async () => {
      await box.close()
      await core.close()
      air.close()
      line.close()
      disk.remove()
    },
  }
}

/** On the air, with all phones on and a little traffic. */
async function settle({ service, lab }: ConsoleWorld, air: Air): Promise<void> {
  await done(service, 'PUT', '/v1/policy', OPEN)
  const { sims } = await done(service, 'GET', '/v1/sims')
  const { batch_id: batch } = sims.find(({ label }: { label: string }) => label.startsWith('Harbour'))
  await insertBatch(lab, service.dataDir, batch)
  const traffic = JSON.stringify({ up_kbps: 8, down_kbps: 32 })
  await labPhones(lab.urls.control, 'POST', '/phones/all/traffic', traffic)
  await done(service, 'POST', '/v1/tx/arm', { arm: true, profile_id: 'mast' })
  await air.isOn()
}

function lostRadio(air: Air, { urls }: LabProcess): Outage {
  // The lab core has an eNB of its own: for the core it is that radio.
  const turn = async (state: 'up' | 'down'): Promise<void> => {
    await fetch(`${urls.control}/radio/${state}`, { method: 'POST' })
  }
  return {
    cause: async () => {
      air.behave('broken')
      air.strike()
      await turn('down')
    },
    mend: async () => {
      air.behave('polite')
      await turn('up')
    },
  }
}

function deadCore(folder: string, lab: LabProcess): Outage & { close(): Promise<void> } {
  let again: LabProcess | undefined
  const places = (['mme', 'smf', 'control'] as const).flatMap((place) => [
    `--${place}`,
    new URL(lab.urls[place]).host,
  ])
  return {
    cause: () => lab.kill(),
    mend: async () => {
      again = await startLabCore(join(folder, 'lab'), [...ANY_PORTS, ...places])
    },
    close: async () => again?.stop(),
  }
}

function wrongClock(clock: ShiftedClock): Outage {
  return {
    cause: () => clock.shift(AHEAD_DAYS * DAY_MS),
    mend: () => clock.shift(0),
  }
}

/** The way out of this machine, and a DNS server at its end, which this machine asks. */
async function internetLine(folder: string): Promise<{ readonly outage: Outage; close(): void }> {
  makeLan()
  const beyond = await boxPlace(1)
  runTool('ip', 'route', 'add', 'default', 'via', beyond.address)
  const resolvers = join(folder, 'resolv.conf')
  writeFileSync(resolvers, `nameserver ${beyond.address}\n`)
  runTool('mount', '--bind', resolvers, realpathSync('/etc/resolv.conf'))
  const program = fileURLToPath(new URL('dns-stand-in.ts', import.meta.url))
  const [file = '', ...args] = [...beyond.inside, process.execPath, '--no-warnings', program, beyond.address]
  const server: ChildProcess = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (server.stdout !== null) await once(server.stdout, 'data')
  return {
    outage: { cause: beyond.unplug, mend: beyond.plug },
    close: () => server.kill('SIGKILL'),
  }
}

/** Somebody puts another file in its place, as a restore by hand does; then the right one back, with the service stopped. */
function replacedStore(box: ConsoleWorld): Outage {
  const file = join(box.service.dataDir, 'svc.db')
  return {
    cause: () => {
      renameSync(file, `${file}.right`)
      copyFileSync(`${file}.right`, file)
    },
    mend: () => box.restart(() => renameSync(`${file}.right`, file)),
  }
}
