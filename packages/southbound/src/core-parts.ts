import {
  type ComponentHealth,
  type Context,
  type CoreObserved,
  type Imsi,
  type Look,
  nodeIdentityRef,
  type Settings,
  subscribersRef,
  systemPrincipal,
} from '@steeple/contracts'
import { imsiHash } from '@steeple/telecom'
import { type Engine, engineAt } from './engine/engine.ts'
import { systemdEngine } from './engine/systemd.ts'

/** Hashes in one audit entry; more are counted. */
const MOST_NAMED = 50

/** Of these phones the ones whose SIM was issued or imported here and may be on. */
export async function phonesOfOurs(context: Context, phones: Iterable<Imsi>): Promise<ReadonlySet<Imsi>> {
  const subscribers = context.maybe(subscribersRef)
  const ours = new Set<Imsi>()
  for (const imsi of phones) {
    const known = await subscribers?.find(imsiHash(imsi))
    if (known?.state === 'issued' || known?.state === 'in-use') ours.add(imsi)
  }
  return ours
}

/** Writes into the trail whose phones are told to attach again, and why. Throws while the store takes no writes. */
export async function recordRecall(
  context: Context,
  phones: Iterable<Imsi>,
  why: { readonly core: 'core_a' | 'core_b'; readonly reason: string },
): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  const sims = [...phones].map((imsi) => imsiHash(imsi))
  await context.mutate(systemPrincipal('core_config'), 'core.recall', target, async (tx) => {
    tx.audit({
      detail: { core: why.core, phones: sims.length, sims: sims.slice(0, MOST_NAMED), reason: why.reason },
    })
  })
}

/** Status and words of the component `work` of a core. */
export type WorkJudged = readonly [status: ComponentHealth['status'], detail: string]

/**
 * Whether the functions of a core do their work. One that lacks something is down for phones although its daemons answer: so it
 * is told to whoever listens to alerts. Who lacks the same is named together.
 */
export function workJudged({
  services,
  problems = new Map(),
  restarted = new Map(),
}: Pick<CoreObserved, 'services' | 'problems' | 'restarted'>): WorkJudged {
  const known = [...services].filter(([, state]) => state !== 'unknown')
  const down = known.filter(([, state]) => state === 'down').map(([daemon]) => daemon)
  // Of a core that is away as a whole `daemons` tells.
  if (down.length === known.length && known.length > 0) return ['degraded', 'none of its daemons answers']
  const byWords = Map.groupBy(problems.keys(), (daemon) => problems.get(daemon) ?? '')
  const lost = [
    ...down.filter((daemon) => !restarted.has(daemon)).map((daemon) => `${daemon}: it does not answer`),
    ...[...restarted].map(([daemon, words]) => `${daemon}: ${words}`),
    ...[...byWords].map(([words, daemons]) => `${daemons.join(', ')}: ${words}`),
  ]
  if (lost.length > 0) return ['down', lost.join('; ')]
  return ['ok', 'its functions have what they need of one another']
}

type Southbound = Settings['southbound']
type Runners = Pick<Settings['core_a'], 'containers' | 'units'>

/** What runs the daemons of a core, by role: containers, or units of systemd. */
export function runnersOf(southbound: Southbound, core: Runners): Readonly<Record<string, string>> {
  return core[runnersKey(southbound, core)]
}

/** The key of a core that names them: what `southbound.driver` says; where it is `none`, the one that is filled. */
export function runnersKey({ driver }: Southbound, core: Runners): 'containers' | 'units' {
  const hasContainers = Object.keys(core.containers).length > 0
  return driver === 'systemd' || (driver === 'none' && !hasContainers) ? 'units' : 'containers'
}

/** What runs the daemons of a core, as the settings say at each call. A core that is only looked at is read through it too. */
export function coreEngine(settings: () => Settings, core: 'core_a' | 'core_b'): Engine {
  const containers = engineAt(() => settings().hss.engine_socket)
  const units = systemdEngine()
  const now = (): Engine => {
    const { southbound, [core]: section } = settings()
    return runnersKey(southbound, section) === 'units' ? units : containers
  }
  return {
    inspect: (...args) => now().inspect(...args),
    restart: (...args) => now().restart(...args),
    logsTail: (...args) => now().logsTail(...args),
    logsSince: (...args) => now().logsSince(...args),
  }
}

/** What the daemons of a core run in, where this node drives them. */
export function looksOf(settings: Settings, core: 'core_a' | 'core_b'): readonly Look[] {
  const { southbound, [core]: section } = settings
  if (southbound.driver === 'none') return []
  const kind = runnersKey(southbound, section)
  return Object.entries(section[kind]).map(([name, runner]) => {
    const key = `${core}.${kind}.${name} (or southbound.driver)`
    return kind === 'units' ? { name, unit: runner, key } : { name, container: runner, key }
  })
}

/** The pages of those daemons that have a URL, which stands at `SECTION.DAEMON_url`. */
export function pagesOf(urls: Readonly<Record<string, string>>, section: string): readonly Look[] {
  const named = Object.entries(urls).filter(([, url]) => url !== '')
  return named.map(([name, url]) => ({ name, url, key: `${section}.${name}_url` }))
}
