import type { Settings } from '@steeple/contracts'
import semver from 'semver'
import type { KeptStates } from '../plugin-packages/kept-states.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { LivePlugin } from './live.ts'
import type { ServiceContainer } from './service-container.ts'

/** Somebody who cannot do without a service. */
export interface Dependent {
  readonly plugin: string
  readonly service: string
}

/** The live plugins that require, or have asked for, what `id` provides. */
export function dependentsOf(
  id: string,
  live: readonly {
    readonly found: FoundPlugin
    readonly services: ReadonlyMap<string, object>
    readonly used: ReadonlySet<string>
  }[],
): readonly Dependent[] {
  const provided = live.find((plugin) => plugin.found.manifest.id === id)?.services
  if (provided === undefined) return []
  return live
    .filter((plugin) => plugin.found.manifest.id !== id)
    .flatMap(({ found, used }) =>
      [...new Set([...(found.manifest.requires ?? []), ...used])]
        .filter((service) => provided.has(service))
        .map((service) => ({ plugin: found.manifest.id, service })),
    )
}

/** What the checks compare a plugin with. */
export interface Surroundings {
  /** Version of the host's `@steeple/contracts`. */
  readonly contractsVersion: string
  /** Who provides a service once this plugin is set up, other than itself: the kernel, a live or a co-loading one. */
  providerOf(service: string): string | undefined
  /** The copy of the same plugin that runs now. */
  readonly running: FoundPlugin | undefined
  /** Who requires what the running copy provides. */
  readonly dependents: readonly Dependent[]
}

/** Everything that can be said against a plugin before its code runs; undefined when there is nothing. */
export function problemOf(found: FoundPlugin, around: Surroundings): string | undefined {
  return (
    contractsProblem(found, around.contractsVersion) ??
    identityProblem(found, around.running) ??
    requiresProblem(found, around) ??
    providesProblem(found, around) ??
    droppedProblem(found, around.dependents)
  )
}

/** Why it was built for other contracts than these; undefined when it was not. */
export function contractsProblem(found: FoundPlugin, version: string): string | undefined {
  const range = found.manifest.contracts
  if (semver.satisfies(version, range, { includePrerelease: true })) return undefined
  return `it was built for contracts ${range}, this service has ${version}; build it again for that`
}

function identityProblem(found: FoundPlugin, running: FoundPlugin | undefined): string | undefined {
  if (running === undefined) return undefined
  if (running.packageName !== found.packageName) {
    return `its id belongs to ${running.packageName}, this is ${found.packageName}`
  }
  if (running.manifest.kind !== found.manifest.kind) {
    return `its kind ${found.manifest.kind} is not that of the running one, ${running.manifest.kind}`
  }
  return undefined
}

function requiresProblem(found: FoundPlugin, around: Surroundings): string | undefined {
  const own = new Set(found.manifest.provides)
  const missing = (found.manifest.requires ?? []).filter(
    (service) => own.has(service) || around.providerOf(service) === undefined,
  )
  return missing.length === 0 ? undefined : `nobody provides ${missing.join(', ')}`
}

function providesProblem(found: FoundPlugin, around: Surroundings): string | undefined {
  for (const service of found.manifest.provides ?? []) {
    const other = around.providerOf(service)
    if (other !== undefined)
      return `it provides ${service}, which ${other} provides already; svc plugin disable ${other} makes way for it`
  }
  return undefined
}

function droppedProblem(found: FoundPlugin, dependents: readonly Dependent[]): string | undefined {
  const dropped = dependents.find(({ service }) => found.manifest.provides?.includes(service) !== true)
  return dropped === undefined
    ? undefined
    : `it no longer provides ${dropped.service}, which ${dropped.plugin} requires`
}

/** Throws when a provider of something that it requires has failed after it was set up. */
export function refuseOrphan(services: ServiceContainer, { found }: LivePlugin): void {
  const missing = found.manifest.requires?.find((service) => services.ownerOf(service) === undefined)
  if (missing !== undefined) throw new TypeError(`nobody provides ${missing} any more`)
}

/**
 * Why a version of a plugin is left out; undefined when it is not. What is part of every build stays: without it the service
 * would not be one.
 */
export function leftOutBecause(
  settings: Settings,
  kept: KeptStates,
  isSafeMode: boolean,
  found: FoundPlugin,
): string | undefined {
  const { essential, id, machine } = found.manifest
  if (isSafeMode && found.origin === 'installed') return 'the service runs in safe mode'
  if (essential === true) return undefined
  if (kept.of(id).isDisabled === true) return `somebody disabled it; svc plugin enable ${id} brings it back`
  if (settings.plugins.disabled.includes(id)) return 'it is in plugins.disabled of the configuration'
  const { cluster } = settings
  if (machine === true && cluster.instance !== cluster.machine)
    return `it belongs to the machine of the instance ${cluster.machine || '(none: set cluster.machine)'}`
  return unchosenBecause(settings, found)
}

/** Why the choice of its kind fell on another plugin; undefined when it did not, or when there is no choice. */
export function unchosenBecause(settings: object, { manifest }: FoundPlugin): string | undefined {
  const { selected_by: by } = manifest
  if (by === undefined) return undefined
  const value = by.key.split('.').reduce<unknown>(propertyOf, settings)
  if (typeof value === 'string' && by.values.includes(value)) return undefined
  // A manifest can name any key, and this is shown to whoever may list plugins: a URL may hold a password.
  const isName = typeof value === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(value)
  return `it needs ${by.key} to be ${by.values.join(' or ')}, which is ${isName ? value : 'no name of a driver'}`
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
