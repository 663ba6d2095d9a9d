import {
  type ComponentHealth,
  type Context,
  coreDriverRef,
  type Instance,
  type KernelRoute,
  kernelRoutes,
  messageOf,
  type Outcome,
  type Peering,
  peeringRef,
  type Reconciler,
} from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import type { Links } from '../links.ts'
import type { Members } from '../members.ts'
import { type Run, systemRun } from '../wireguard/run.ts'
import { type Forwarding, kernelForwarding, type TranslationTable, translationTable } from './kernel.ts'
import { type Surroundings, type Wanted, wantedOf } from './wanted.ts'

/** Priorities of the rules, and the number of the table. Nobody else's may be the same: they are taken away with ours. */
const NEAR_PRIORITY = 5150
const FAR_PRIORITY = 5151
const ROUTES = '5150'
const OWN: ReadonlySet<number> = new Set([NEAR_PRIORITY, FAR_PRIORITY])

/** How phones get to a peer's way out: rules of the kernel for packets from the pools. ip-rule(8). */
interface PeerRouting {
  /** Only packets from these networks go into `device` by default, each other destination of this box stays nearer. */
  keep(pools: readonly string[], device: string | undefined, signal: AbortSignal): Promise<boolean>
}

/** One line of `ip -j rule list`; `table` is a number or a name. */
interface ListedRule {
  readonly priority: number
  readonly src: string
  readonly srclen?: number
  readonly table?: string
  readonly suppress_prefixlen?: number
}

/** The rules in the kernel. Those that are right are not touched. */
export function peerRouting(run: Run): PeerRouting {
  return {
    keep: async (pools, device, signal) => {
      const ip = (args: readonly string[]): Promise<string> => run('ip', ['-4', ...args], { signal })
      const rules = JSON.parse(await ip(['-j', 'rule', 'list'])) as readonly ListedRule[]
      const found = rules.filter(({ priority }) => OWN.has(priority)).map(textOf)
      const wanted = device === undefined ? [] : pools.flatMap(rulesFor)
      const route = wanted.length === 0 ? undefined : device
      const steps = [
        // The route first: a rule that leads to an empty table leads to the box's own default route.
        ...routeSteps(await deviceOf(ip), route),
        ...wanted.filter((rule) => !found.includes(rule)).map((rule) => ['rule', 'add', ...rule.split(' ')]),
        ...found.filter((rule) => !wanted.includes(rule)).map((rule) => ['rule', 'del', ...rule.split(' ')]),
      ]
      for (const step of steps) await ip(step)
      return steps.length > 0
    },
  }
}

function routeSteps(found: string | undefined, wanted: string | undefined): readonly (readonly string[])[] {
  if (found === wanted) return []
  if (wanted === undefined) return [['route', 'flush', 'table', ROUTES]]
  return [['route', 'replace', 'default', 'dev', wanted, 'table', ROUTES]]
}

/** First what this box knows a way to beside its own default route, then the mesh. */
function rulesFor(pool: string): readonly string[] {
  return [
    `priority ${NEAR_PRIORITY} from ${pool} table main suppress_prefixlength 0`,
    `priority ${FAR_PRIORITY} from ${pool} table ${ROUTES}`,
  ]
}

function textOf({ priority, src, srclen, table = '', suppress_prefixlen: suppressed }: ListedRule): string {
  const from = src === 'all' ? '0.0.0.0/0' : `${src}/${srclen ?? 32}`
  const suppress = suppressed === undefined ? '' : ` suppress_prefixlength ${suppressed}`
  return `priority ${priority} from ${from} table ${table}${suppress}`
}

/** Undefined where the table has no default route, or was never used: ip calls that an error. */
async function deviceOf(ip: (args: readonly string[]) => Promise<string>): Promise<string | undefined> {
  const text = await ip(['-j', 'route', 'show', 'default', 'table', ROUTES]).catch(() => '[]')
  const [route] = JSON.parse(text) as readonly { readonly dev?: string }[]
  return route?.dev
}

/** Resource and key of the reconciler. */
const BREAKOUT_RESOURCE = 'mesh_breakout'
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
): Promise<Instance> {
  const kernel = seams.kernel ?? systemKernel()
  const keeper = breakoutKeeper(kernel)
  let seen: Breakout = { mode: 'off', reason: 'not looked at yet', isBroken: false, isInPlace: false }
  const look = async (): Promise<Surroundings> => ({
    isDriven: context.settings.southbound.driver !== 'none',
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
    context.changed(peeringRef)
  })
  const wake = (): void => context.enqueue(BREAKOUT_RESOURCE, KEY)
  const handshakeState = meshStanding(members, links, () => seen)
  const changed = (): void => {
    wake()
    context.changed(peeringRef)
  }
  context.onSettings(wake)
  context.onChange(coreDriverRef, wake)
  context.defer(links.onChange(changed))
  context.defer(members.onChange(changed))
  return {
    reconcilers: [reconciler],
    services: new Map<string, object>([[peeringRef.id, handshakeState]]),
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
      const reason = messageOf(error)
      tell({ mode: 'off', reason, isBroken: true, isInPlace: false })
      return { state: 'failed', reason }
    }
    const isInPlace = wanted.table !== undefined
    tell({ mode: wanted.mode, reason: wanted.reason, isBroken: false, isInPlace })
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

function meshStanding(members: Members, links: Links, seen: () => Breakout): Peering {
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

function healthOf({ mode, reason, isBroken, isInPlace }: Breakout): ComponentHealth {
  const words = {
    local: 'phones get out here',
    peer: 'phones get out at a peer',
    off: 'phones are not let out',
  }[mode]
  return {
    name: 'breakout',
    kind: 'feature',
    status: isBroken ? 'degraded' : 'ok',
    detail: [
      reason === undefined ? words : `${words}: ${reason}`,
      ...(isInPlace ? ['translation and forwarding by this box'] : []),
    ].join('; '),
  }
}

/** What was seen to be so after the last look. */
interface Breakout {
  readonly mode: 'local' | 'peer' | 'off'
  /** Why phones are not let out as was asked for; undefined when they are. */
  readonly reason: string | undefined
  /** Whether something that was asked of the kernel could not be had. */
  readonly isBroken: boolean
  /** Whether the table of this box is in the kernel. */
  readonly isInPlace: boolean
}

/** The kernel's part of breakout. */
interface KernelParts {
  readonly table: TranslationTable
  readonly forwarding: Forwarding
  readonly routing: PeerRouting
}

/** Holds the kernel at what is wanted. */
interface BreakoutKeeper {
  /** What it had to put right, in words for the log. Throws what stood in the way. */
  keep(wanted: Wanted, device: string | undefined, signal: AbortSignal): Promise<readonly string[]>
  /** Takes everything away again that it made, also in an earlier run. */
  clear(signal: AbortSignal): Promise<void>
}

/** `maybe`: an earlier run may have left it. */
type Presence = 'yes' | 'maybe' | 'no'

/** Takes away what may be there; where nobody may look, and nothing is wanted, an earlier run could do nothing either. */
async function without<T>(presence: Presence, nothing: T, remove: () => Promise<T>): Promise<T> {
  if (presence === 'no') return nothing
  try {
    return await remove()
  } catch (error) {
    if (presence === 'yes') throw error
    return nothing
  }
}

/** Programs are started only where something is to be there, or may have been left by an earlier run. */
function breakoutKeeper({ table, forwarding, routing }: KernelParts): BreakoutKeeper {
  let hasTable: Presence = 'maybe'
  let hasRules: Presence = 'maybe'
  const keepTable = async (wanted: Wanted, signal: AbortSignal): Promise<readonly string[]> => {
    if (wanted.table === undefined) {
      const wasThere = await without(hasTable, false, () => table.remove(signal))
      signal.throwIfAborted()
      hasTable = 'no'
      return wasThere ? ['translation removed'] : []
    }
    hasTable = 'yes'
    const done = (await table.keep(wanted.table, signal)) ? ['translation put in place'] : []
    if (!wanted.isForwarding || (await forwarding.isOn())) return done
    await forwarding.turn(true)
    return [...done, 'forwarding turned on']
  }
  const keepRules = async (
    pools: readonly string[],
    device: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> => {
    const keep = (): Promise<boolean> => routing.keep(pools, device, signal)
    if (pools.length > 0) hasRules = 'yes'
    const hasChanged = pools.length > 0 ? await keep() : await without(hasRules, false, keep)
    signal.throwIfAborted()
    if (pools.length === 0) hasRules = 'no'
    return hasChanged ? ['routing of phones changed'] : []
  }
  return {
    keep: async (wanted, device, signal) => {
      // On the way in, addresses are translated before the first packet goes there.
      const done = await keepTable(wanted, signal)
      return [...done, ...(await keepRules(wanted.viaPeer, device, signal))]
    },
    clear: async (signal) => {
      await keepRules([], undefined, signal)
      await without(hasTable, false, () => table.remove(signal))
      hasTable = 'no'
    },
  }
}
