import { signal } from '@preact/signals'
import type { AnswerOf } from '@steeple/client'
import { listen } from './changes.ts'
import { api } from './client.ts'

const plugins = signal<ReadonlySet<string> | undefined>(undefined)

/** Whether the service has a plugin now, by its id: `mesh`. What it has not is in no menu. */
export function has(plugin: string): boolean {
  return plugins.value?.has(plugin) === true
}

/** The pages that plugins add to the console. */
export const pluginPages = signal<AnswerOf<'GET', '/v1/version'>['plugins'][number]['pages']>([])

/** Whether it is known by now what the service has. */
export function areFeaturesKnown(): boolean {
  return plugins.value !== undefined
}

/** Reads which plugins the service has, now and whenever one comes or goes. */
export async function watchFeatures(): Promise<void> {
  listen(['plugin.*'], () => void look())
  await look()
}

async function look(): Promise<void> {
  const version = await api.get('/v1/version')
  if (!version.ok) return
  plugins.value = new Set(version.data.plugins.map(({ name }) => name))
  pluginPages.value = version.data.plugins.flatMap(({ pages }) => pages)
}
