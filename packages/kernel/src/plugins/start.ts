import { basename } from 'node:path'
import semver from 'semver'
import { type Blame, sayHang } from '../plugin-packages/blame.ts'
import type { KeptStates } from '../plugin-packages/kept-states.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { Moving } from './moves.ts'
import type { Change, Wanted } from './plugin-set.ts'

type Entry = Change & { readonly next: Wanted }

/** What a start does with what is found. */
interface StartPlan {
  /** Before the service listens: the plugins of the build, and what they cannot do without. Providers first. */
  readonly first: readonly Entry[]
  /** After that: what was installed. Providers first. */
  readonly later: readonly Entry[]
  /** Installed versions that failed when they were loaded last: why. */
  readonly refused: readonly { readonly found: FoundPlugin; readonly reason: string }[]
}

/**
 * Loads the plugins of the build, all in one generation. Throws the `plugin_failed` of an essential one, after all others
 * were tried. Gives what is left to do: one piece of work for each installed plugin; none throws.
 */
export async function startBundled(
  parts: Moving,
  blame: Pick<Blame, 'onHang'>,
): Promise<readonly (() => Promise<void>)[]> {
  const { host, catalogue, entries, set, pluginsDir } = parts
  await catalogue.scan()
  if (pluginsDir !== undefined) sayHang(host.log, pluginsDir, blame)
  const { first, later, refused } = planStart(parts)
  for (const { found, reason } of refused) entries.failed(found, reason)
  const failures = await set.apply(first)
  const rest = later.map((entry) => {
    const running = entries.of(entry.id).live
    if (running === undefined) entries.loading(entry.next.found)
    return () => loadLater(parts, entry, running?.found.version)
  })
  host.reconciler.begin()
  const missing = first.filter(({ id }) => entries.of(id).live === undefined)
  const loaded = first.length - missing.length
  host.log.info({ loaded, failed: missing.length, waiting: rest.length }, 'plugins loaded')
  const fatal = missing.find(({ next }) => next.found.manifest.essential === true)
  if (fatal !== undefined) throw failures.get(fatal.id)
  return rest
}

async function loadLater(
  { host, entries, set, leftOutBecause }: Moving,
  entry: Entry,
  runningBefore: string | undefined,
): Promise<void> {
  const { live, isLoading } = entries.of(entry.id)
  // Somebody has loaded or unloaded it meanwhile.
  if (live?.found.version !== runningBefore || (live === undefined && !isLoading)) return
  if (leftOutBecause(entry.next.found) !== undefined) {
    entries.of(entry.id).isLoading = false
    return
  }
  const failures = await set.apply([entry])
  const facts = { plugin: entry.id, version: entry.next.found.version }
  if (!failures.has(entry.id)) host.log.info(facts, 'plugin loaded')
}

/**
 * An installed version takes the place of one of the build at once only when it has run before; else the version of the
 * build comes first and is upgraded later, so that junk costs neither it nor time.
 */
function planStart(parts: Moving): StartPlan {
  const places = parts.catalogue.ids().map((id) => placesOf(id, parts))
  const first = places.flatMap((place) => place.first ?? [])
  const later = places.flatMap((place) => place.later ?? [])
  return { refused: places.flatMap((place) => place.refused ?? []), ...moved(first, later) }
}

function placesOf(
  id: string,
  { catalogue, kept, entries, leftOutBecause }: Moving,
): { readonly [Place in keyof StartPlan]?: StartPlan[Place][number] } {
  const versions = catalogue.versions(id).filter((one) => leftOutBecause(one) === undefined)
  const pinned = versions.find(({ version }) => version === kept.of(id).version)
  const found = pinned ?? versions[0]
  if (found === undefined || entries.of(id).live !== undefined) return {}
  const next: Wanted = { found, tables: pinned === undefined ? 'migrate' : 'keep' }
  if (found.origin === 'bundled') return { first: { id, next } }
  const own = versions.find(({ origin }) => origin === 'bundled')
  const reason = kept.failureOf(found)
  const rest = reason === undefined ? { later: { id, next } } : { refused: { found, reason } }
  if (own === undefined) {
    const before = reason === undefined ? undefined : versions.find((one) => hasRunBelow(one, found, kept))
    return before === undefined ? rest : { ...rest, later: { id, next: { found: before, tables: 'try' } } }
  }
  const fallback: Wanted = { found: own, tables: 'try' }
  if (reason === undefined && (pinned !== undefined || kept.hasRun(found)))
    return { first: { id, next, fallback } }
  return { first: { id, next: fallback }, ...rest }
}

/** Whether it is a version below one that failed which has run, of the same major version. */
function hasRunBelow(one: FoundPlugin, { version }: FoundPlugin, kept: KeptStates): boolean {
  const isBelow = semver.lt(one.version, version) && semver.major(one.version) === semver.major(version)
  return isBelow && kept.hasRun(one)
}

/** A plugin of the build waits for the installed one that it requires; an essential one has it brought forward. */
function moved(first: readonly Entry[], later: readonly Entry[]): Pick<StartPlan, 'first' | 'later'> {
  const early = new Set(first)
  const late = new Set(later)
  const needed = new Set(first.filter(({ next }) => next.found.manifest.essential === true))
  for (let pair = misplaced(early, late); pair !== undefined; pair = misplaced(early, late)) {
    const [user, provider] = pair
    if (needed.has(user)) {
      late.delete(provider)
      early.add(provider)
      needed.add(provider)
    } else {
      early.delete(user)
      late.add(user)
    }
  }
  return { first: ordered(early), later: ordered(late) }
}

/** One that comes early, and the late one that alone provides what it requires. */
function misplaced(early: ReadonlySet<Entry>, late: ReadonlySet<Entry>): readonly [Entry, Entry] | undefined {
  for (const user of early) {
    for (const service of user.next.found.manifest.requires ?? []) {
      if ([...early].some((entry) => provides(entry, service))) continue
      const provider = [...late].find((entry) => provides(entry, service))
      if (provider !== undefined) return [user, provider]
    }
  }
  return undefined
}

function provides({ next }: Entry, service: string): boolean {
  return next.found.manifest.provides?.includes(service) === true
}

function ordered(entries: ReadonlySet<Entry>): readonly Entry[] {
  const byFound = new Map([...entries].map((entry) => [entry.next.found, entry]))
  return inDependencyOrder([...byFound.keys()]).flatMap((found) => byFound.get(found) ?? [])
}

/** Says loudly what safe mode leaves alone: without what was installed, the service is not the one that anybody wants. */
export function sayLeftAlone(parts: Moving): void {
  const installed = parts.catalogue.ids().flatMap((id) => parts.catalogue.installed(id))
  const folders = installed.map(({ dir }) => basename(dir))
  const what = folders.length === 0 ? 'nothing is installed' : `left alone: ${folders.join(', ')}`
  parts.host.log.warn({ folders }, 'safe mode: installed plugins are left alone')
  const detail = `the service runs in safe mode; ${what}`
  parts.host.health.report('plugins', [{ name: 'plugins', kind: 'feature', status: 'degraded', detail }])
}

/**
 * Providers before those that require their services; among equals those of the build, which what was installed must not cost
 * anything, then by id. Plugins of a cycle come last: their check says what is missing.
 */
export function inDependencyOrder(plugins: readonly FoundPlugin[]): readonly FoundPlugin[] {
  const rest = new Map(
    [...plugins]
      .sort((a, b) => rankOf(a) - rankOf(b) || byLetters(a.manifest.id, b.manifest.id))
      .map((found) => [found.manifest.id, found]),
  )
  const ordered: FoundPlugin[] = []
  const isReady = (found: FoundPlugin): boolean => {
    const missing = new Set([...rest.values()].filter((other) => other !== found).flatMap(providesOf))
    return !(found.manifest.requires ?? []).some((service) => missing.has(service))
  }
  // Each time the first that may come: one of the build that had to wait comes before what was installed.
  for (
    let next = [...rest.values()].find(isReady);
    next !== undefined;
    next = [...rest.values()].find(isReady)
  ) {
    ordered.push(next)
    rest.delete(next.manifest.id)
  }
  return [...ordered, ...rest.values()]
}

function rankOf({ origin }: FoundPlugin): number {
  return origin === 'bundled' ? 0 : 1
}

function providesOf(found: FoundPlugin): readonly string[] {
  return found.manifest.provides ?? []
}

/** Ids are lower-case ASCII: to ask for the rules of a language, as `localeCompare` does, costs a start 5 ms. */
function byLetters(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
