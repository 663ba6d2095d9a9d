import {
  type ComponentHealth,
  type Context,
  coreDriverRef,
  type MeshStanding,
  meshStandingRef,
  type Outcome,
  type Reconciler,
} from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import type { Members } from '../members.ts'
import type { MeshPart, PartTables } from '../part.ts'
import { systemRun } from '../wireguard/run.ts'
import { type Breakout, type BreakoutKeeper, breakoutKeeper, type KernelParts } from './keeper.ts'
import { kernelForwarding, translationTable } from './kernel.ts'
import { peerRouting } from './peer-routing.ts'
import { type KernelRoute, kernelRoutes } from './routing-table.ts'
import { type Surroundings, wantedOf } from './wanted.ts'

export const BREAKOUT_TABLES: PartTables = { migrations: [], tables: [] }

/** Resource and key of the reconciler. */
export const BREAKOUT_RESOURCE = 'mesh_breakout'
const KEY = 'breakout'
/** Whoever flushes the tables tells nobody; the look costs one process while there is something to look at. */
const RESYNC_MS = 5_000
const CLEAR_BOUND_MS = 10_000

/** What tests put in place of the machine. */
export interface BreakoutSeams {
  readonly kernel?: KernelParts
  readonly routes?: () => Promise<readonly KernelRoute[]>
}

/** Lets phones of this box, and of its peers, out to the internet here; tells where they get out. */
export async function breakout(
  context: Context<PeeringConfig>,
  members: Members,
  links: Links,
  seams: BreakoutSeams = {},
): Promise<MeshPart> {
  const kernel = seams.kernel ?? systemKernel()
  const keeper = breakoutKeeper(kernel)
  let seen: Breakout = { mode: 'off', reason: 'not looked at yet', isBroken: false }
  const look = async (): Promise<Surroundings> => ({
    isLocal: context.settings.policy.local_breakout,
    pools: (await context.maybe(coreDriverRef)?.pools?.()) ?? [],
    routes: await (seams.routes ?? kernelRoutes)(),
    device: links.device(),
    overlay: members.overlay()?.subnet,
    hasWayOut: links.wayOut() !== undefined,
    offered: links.offered(),
    direct: links.direct,
    isForwarding: await kernel.forwarding.isOn(),
  })
  const reconciler = breakoutReconciler(context, keeper, look, (now) => {
    const hasMoved = now.mode !== seen.mode
    seen = now
    if (!hasMoved) return
    context.log.info({ mode: now.mode, reason: now.reason ?? null }, 'breakout changed')
    context.changed(meshStandingRef)
  })
  const wake = (): void => context.enqueue(BREAKOUT_RESOURCE, KEY)
  const standing = meshStanding(members, links, () => seen)
  const changed = (): void => {
    wake()
    context.changed(meshStandingRef)
  }
  context.onSettings(wake)
  context.onChange(coreDriverRef, wake)
  context.defer(links.onChange(changed))
  context.defer(members.onChange(changed))
  return {
    reconcilers: [reconciler],
    services: new Map<string, object>([[meshStandingRef.id, standing]]),
    health: async () => [healthOf(seen)],
    stop: async (why) => {
      // A restart or an upgrade interrupts nobody: whoever comes next goes on with what is there.
      if (why === 'unload') await keeper.clear(AbortSignal.timeout(CLEAR_BOUND_MS))
    },
  }
}

function systemKernel(): KernelParts {
  const forwarding = kernelForwarding()
  const run = systemRun()
  return { forwarding, table: translationTable(run, forwarding), routing: peerRouting(run) }
}

function breakoutReconciler(
  context: Context<PeeringConfig>,
  keeper: BreakoutKeeper,
  look: () => Promise<Surroundings>,
  tell: (seen: Breakout) => void,
): Reconciler {
  const reconcile = async (signal: AbortSignal): Promise<Outcome> => {
    const around = await look()
    const wanted = wantedOf(around)
    try {
      const done = await keeper.keep(wanted, around.device, signal)
      if (done.length > 0) context.log.info({ done }, 'breakout put right')
    } catch (error) {
      signal.throwIfAborted()
      const reason = error instanceof Error ? error.message : String(error)
      tell({ mode: 'off', reason, isBroken: true })
      return { state: 'failed', reason }
    }
    tell({ mode: wanted.mode, reason: wanted.reason, isBroken: false })
    return { state: 'converged' }
  }
  return {
    resource: BREAKOUT_RESOURCE,
    runs: 'machine',
    resyncMs: RESYNC_MS,
    backoff: { firstMs: 1_000, longestMs: 15_000 },
    keys: async () => [KEY],
    reconcile: (_keys, signal) => reconcile(signal),
  }
}

function meshStanding(members: Members, links: Links, seen: () => Breakout): MeshStanding {
  return {
    carries: links.carries,
    state: async () => {
      const { mode } = seen()
      const all = members.list()
      const isJoined = all.some(({ isSelf }) => !isSelf)
      return {
        isJoined,
        isMember: all.some(({ isSelf, isRoot }) => isSelf && !isRoot),
        hasRoutes: isJoined && links.hasRoutes() && mode !== 'off',
        breakout: { mode, peerCount: links.active() },
      }
    },
  }
}

function healthOf({ mode, reason, isBroken }: Breakout): ComponentHealth {
  const words = {
    local: 'phones get out here',
    peer: 'phones get out at a peer',
    off: 'phones are not let out',
  }[mode]
  return {
    name: 'breakout',
    kind: 'feature',
    status: isBroken ? 'degraded' : 'ok',
    detail: reason === undefined ? words : `${words}: ${reason}`,
  }
}
