import semver from 'semver'
import type { TableStep } from './bring-up.ts'
import type { Catalogue } from './catalogue.ts'
import type { FoundPlugin } from './manifest.ts'
import { inDependencyOrder } from './order.ts'
import type { PastTrials } from './trials.ts'

/** A version that a start loads, and what happens to its tables. */
export interface Entry {
  readonly found: FoundPlugin
  readonly tables: TableStep
}

/** What a start does with what is found. */
export interface StartPlan {
  /** Before the service listens: the plugins of the build, and what they cannot do without. Providers first. */
  readonly first: readonly Entry[]
  /** After that: what was installed. Providers first. */
  readonly later: readonly Entry[]
  /** Installed versions that failed when they were loaded last: why. */
  readonly refused: readonly { readonly found: FoundPlugin; readonly reason: string }[]
}

/** What a plan is made from. */
export interface PlanParts {
  readonly catalogue: Catalogue
  readonly pinned: ReadonlyMap<string, string>
  readonly past: PastTrials
  /** Whether the configuration lets it load. */
  readonly isWanted: (found: FoundPlugin) => boolean
}

/** The version of a plugin that is part of the build. */
export function ownVersion(catalogue: Catalogue, id: string): FoundPlugin | undefined {
  return catalogue.versions(id).find(({ origin }) => origin === 'bundled')
}

/**
 * Plans a start. An installed version takes the place of one of the build at once only when it has run before; else the
 * version of the build comes first and is upgraded later, so that junk costs neither it nor time.
 */
export function planStart(parts: PlanParts): StartPlan {
  const { catalogue, pinned, isWanted } = parts
  const places = catalogue
    .highest(pinned)
    .filter(isWanted)
    .map((found) => placesOf(found, parts))
  const first = places.flatMap((place) => place.first ?? [])
  const later = places.flatMap((place) => place.later ?? [])
  return { refused: places.flatMap((place) => place.refused ?? []), ...moved(first, later) }
}

/** Where one plugin comes in, of which `found` is the version that is meant. */
function placesOf(
  found: FoundPlugin,
  { catalogue, pinned, past, isWanted }: PlanParts,
): { readonly [Place in keyof StartPlan]?: StartPlan[Place][number] } {
  const { id } = found.manifest
  const isPinned = pinned.get(id) === found.version
  const entry: Entry = { found, tables: isPinned ? 'keep' : 'migrate' }
  if (found.origin === 'bundled') return { first: entry }
  const own = ownVersion(catalogue, id)
  const reason = past.failureOf(found)
  const rest = reason === undefined ? { later: entry } : { refused: { found, reason } }
  if (own === undefined) {
    const before = reason === undefined ? undefined : ranBefore(found, catalogue, past)
    return before === undefined ? rest : { ...rest, later: { found: before, tables: 'try' } }
  }
  if (reason === undefined && (isPinned || past.hasRun(found))) return { first: entry }
  return isWanted(own) ? { first: { found: own, tables: 'try' }, ...rest } : rest
}

/** The highest version below one that failed which has run, of the same major version. */
function ranBefore(
  { manifest, version }: FoundPlugin,
  catalogue: Catalogue,
  past: PastTrials,
): FoundPlugin | undefined {
  return catalogue
    .versions(manifest.id)
    .find(
      (one) =>
        semver.lt(one.version, version) &&
        semver.major(one.version) === semver.major(version) &&
        past.hasRun(one),
    )
}

/** A plugin of the build waits for the installed one that it requires; an essential one has it brought forward. */
function moved(first: readonly Entry[], later: readonly Entry[]): Pick<StartPlan, 'first' | 'later'> {
  const early = new Set(first)
  const late = new Set(later)
  const needed = new Set(first.filter(({ found }) => found.manifest.essential === true))
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
    for (const service of user.found.manifest.requires ?? []) {
      if ([...early].some((entry) => provides(entry, service))) continue
      const provider = [...late].find((entry) => provides(entry, service))
      if (provider !== undefined) return [user, provider]
    }
  }
  return undefined
}

function provides({ found }: Entry, service: string): boolean {
  return found.manifest.provides?.includes(service) === true
}

function ordered(entries: ReadonlySet<Entry>): readonly Entry[] {
  const byFound = new Map([...entries].map((entry) => [entry.found, entry]))
  return inDependencyOrder([...byFound.keys()]).flatMap((found) => byFound.get(found) ?? [])
}
