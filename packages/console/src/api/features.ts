import { signal } from '@preact/signals'
import { api } from './client.ts'
import { listen } from './live.ts'

const plugins = signal<ReadonlySet<string> | undefined>(undefined)

/** Whether the service has a plugin now, by its id: `mesh`. What it has not is in no menu. */
export function has(plugin: string): boolean {
  return plugins.value?.has(plugin) === true
}

/** Reads which plugins the service has, now and whenever one comes or goes. */
export async function watchFeatures(): Promise<void> {
  listen(['plugin.*'], () => void look())
  await look()
}

async function look(): Promise<void> {
  const version = await api.get('/v1/version')
  if (version.ok) plugins.value = new Set(version.data.plugins.map(({ name }) => name))
}
