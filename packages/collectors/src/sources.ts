import {
  type Collector,
  type ComponentHealth,
  type Context,
  collectorRef,
  serviceInfoRef,
} from '@steeple/contracts'

/** A collector that is there. */
export interface Provided {
  /** The plugin that provides it. */
  readonly id: string
  readonly collector: Collector
}

/** Collectors by source, and those that cannot be asked. */
export interface Sources {
  readonly bySource: ReadonlyMap<string, Provided>
  readonly refused: readonly ComponentHealth[]
}

const SOURCE = /^[a-z][a-z0-9-]*$/

/**
 * Finds collectors by the plugins that run: each provides `collector.<its id>`. Positions belong to a source: of two plugins
 * with the same one the first is asked, and health says so of the other.
 */
export function findSources(context: Context): Sources {
  const bySource = new Map<string, Provided>()
  const refused: ComponentHealth[] = []
  for (const { name: id } of context.maybe(serviceInfoRef)?.plugins() ?? []) {
    const collector = context.maybe(collectorRef(id))
    if (collector === undefined) continue
    const { source } = collector
    const first = bySource.get(source)
    if (!SOURCE.test(source)) refused.push(down(id, `its source is not named ${SOURCE.source}`))
    else if (first === undefined) bySource.set(source, { id, collector })
    else refused.push(down(id, `its source ${source} is that of ${first.id}: unload one of the two`))
  }
  return { bySource, refused }
}

function down(name: string, detail: string): ComponentHealth {
  return { name, kind: 'collector', status: 'down', detail }
}
