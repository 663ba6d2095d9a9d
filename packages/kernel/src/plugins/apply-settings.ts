import { inDependencyOrder } from '../plugin-packages/order.ts'
import { unchosenBecause } from './checks.ts'
import type { LivePlugin } from './live.ts'
import { load, type Moving, reload } from './moves.ts'

/** After a change of the settings: the choice among drivers, those that waited for it, and each whose own part has changed. */
export async function applySettings(parts: Moving): Promise<void> {
  await parts.catalogue.scan()
  await applyChoice(parts)
  await applyWaiting(parts)
  for (const plugin of parts.entries.live()) await applyTo(parts, plugin)
}

/** Of several drivers of a kind, the ones that were chosen before go and those that are chosen now come. */
async function applyChoice(parts: Moving): Promise<void> {
  const settings = parts.host.settings.current()
  const gone = parts.entries.live().filter(({ found }) => unchosenBecause(settings, found) !== undefined)
  const chosen = parts.catalogue.ids().flatMap((id) => {
    const versions = parts.catalogue.versions(id)
    const pinned = versions.find(({ version }) => version === parts.kept.of(id).version)
    const found = pinned ?? versions[0]
    return found?.manifest.selected_by !== undefined && parts.entries.record(id).state === 'found'
      ? [found]
      : []
  })
  for (const { manifest } of chosen)
    parts.entries.of(manifest.id).because = 'the configuration chooses it now'
  await parts.set.apply([
    ...gone.map(({ found }) => ({ id: found.manifest.id })),
    ...inDependencyOrder(chosen).map((found) => ({
      id: found.manifest.id,
      next: { found, tables: 'try' } as const,
    })),
  ])
}

/** Those that wait for a key of theirs come when it has a value. */
async function applyWaiting(parts: Moving): Promise<void> {
  for (const { name } of parts.entries.records().filter(({ state }) => state === 'needs_config'))
    await load(parts, name, {}, 'the configuration has what it waited for').catch((error: unknown) =>
      parts.host.log.error({ plugin: name, err: error }, 'plugin with its new settings could not be loaded'),
    )
}

async function applyTo(parts: Moving, { found, settings }: LivePlugin): Promise<void> {
  const { id, config_path } = found.manifest
  try {
    const changes = parts.host.settings.changes(settings, config_path)
    const keys = changes.filter(({ apply }) => apply === 'reload').map(({ key }) => key)
    if (keys.length > 0) await reload(parts, id, `the configuration has changed: ${keys.join(', ')}`)
  } catch (error) {
    parts.host.log.error({ plugin: id, err: error }, 'changed settings could not be applied')
  }
}
