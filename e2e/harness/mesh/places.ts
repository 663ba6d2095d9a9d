import { type ChildProcess, spawn } from 'node:child_process'
import { runTool } from '@steeple/testkit'

/** The network between the boxes; the test itself is at `.254`, and everything beyond. */
const LAN = '10.9.0'
const BRIDGE = 'lan'
const ISLAND = 'island'
/** An address of the internet: whoever asks there is told under which address it is seen. */
export const INTERNET = '203.0.113.1'

/** A network namespace with mounts of its own: a box, or a phone behind one. */
export interface Place {
  /** Arguments before a command that make it run there. */
  readonly inside: readonly string[]
  /** Runs a command there to its end and gives what it printed. */
  run(file: string, ...args: readonly string[]): string
}

/** A box of the local network. */
export interface BoxPlace extends Place {
  /** Its address there. */
  readonly address: string
  /** Pulls its plug, and puts it back. */
  unplug(): void
  plug(): void
  /** Puts it onto a network without a way out, with those that are there already; and back. */
  strand(): void
  fetch(): void
}

/** The local network with nobody on it. In a machine of the test's own (`enterOwnMachine`). */
export function makeLan(): void {
  runTool('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
  runTool('ip', 'link', 'add', ISLAND, 'type', 'bridge')
  runTool('ip', 'link', 'set', ISLAND, 'up')
  runTool('ip', 'addr', 'add', `${LAN}.254/24`, 'dev', BRIDGE)
  runTool('ip', 'link', 'set', BRIDGE, 'up')
  runTool('ip', 'addr', 'add', `${INTERNET}/32`, 'dev', 'lo')
}

/** Puts a box on the local network; `number` (1 to 200) is the end of its address. */
export async function boxPlace(number: number): Promise<BoxPlace> {
  const place = await makePlace()
  const outer = `box${number}`
  const address = `${LAN}.${number}`
  runTool('ip', 'link', 'add', outer, 'type', 'veth', 'peer', 'name', 'e0', 'netns', place.pid)
  runTool('ip', 'link', 'set', outer, 'master', BRIDGE, 'up')
  place.run('ip', 'addr', 'add', `${address}/24`, 'dev', 'e0')
  place.run('ip', 'link', 'set', 'e0', 'up')
  place.run('ip', 'route', 'add', 'default', 'via', `${LAN}.254`)
  return {
    ...place,
    address,
    unplug: () => void runTool('ip', 'link', 'set', outer, 'down'),
    plug: () => void runTool('ip', 'link', 'set', outer, 'up'),
    strand: () => void runTool('ip', 'link', 'set', outer, 'master', ISLAND),
    fetch: () => void runTool('ip', 'link', 'set', outer, 'master', BRIDGE),
  }
}

/** A phone behind a box, as the core's user plane shows it: an address of the pool on a tunnel's interface. */
export async function phonePlace(box: Place, pool = '10.45.0'): Promise<Place> {
  const place = await makePlace()
  runTool('ip', 'link', 'add', 'ue0', 'netns', place.pid, 'type', 'veth', 'peer', 'name', 'ogstun')
  runTool('ip', 'link', 'set', 'ogstun', 'netns', box.inside[2] ?? '')
  box.run('ip', 'addr', 'add', `${pool}.1/16`, 'dev', 'ogstun')
  box.run('ip', 'link', 'set', 'ogstun', 'up')
  place.run('ip', 'addr', 'add', `${pool}.2/16`, 'dev', 'ue0')
  place.run('ip', 'link', 'set', 'ue0', 'up')
  place.run('ip', 'route', 'add', 'default', 'via', `${pool}.1`)
  return place
}

/** Sockets of userspace WireGuard lie in `/run`, interfaces in `/sys`: every place has its own. */
const HOLD =
  'mount -t tmpfs none /run && mount -t sysfs none /sys && ip link set lo up && echo up && exec sleep infinity'

async function makePlace(): Promise<Place & { readonly pid: string }> {
  const holder = spawn('unshare', ['-nm', 'sh', '-c', HOLD], { stdio: ['ignore', 'pipe', 'inherit'] })
  await said(holder)
  holder.unref()
  holder.stdout?.destroy()
  const inside = ['nsenter', '-t', String(holder.pid), '-n', '-m']
  return {
    pid: String(holder.pid),
    inside,
    run: (...command) => {
      const [file = '', ...args] = [...inside, ...command]
      return runTool(file, ...args)
    },
  }
}

function said(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('error', reject)
    child.once('close', () => reject(new Error('the namespace ended')))
  })
}
