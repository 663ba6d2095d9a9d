import { signal } from '@preact/signals'
import type { AnswerOf } from '@steeple/client'
import { loadPluginTexts } from '../text/index.ts'
import { listen } from './changes.ts'
import { api } from './client.ts'

/** What runs; undefined until it is known. */
export const plugins = signal<AnswerOf<'GET', '/v1/version'>['plugins'] | undefined>(undefined)

/** Reads which plugins the service has, now and whenever one comes or goes. */
export async function watchFeatures(): Promise<void> {
  listen(['plugin.*'], () => void loadPluginTexts().then(look))
  await look()
}

async function look(): Promise<void> {
  const version = await api.get('/v1/version')
  // Not told is told as none: the console's own pages are there all the same.
  plugins.value = version.ok ? version.data.plugins : (plugins.value ?? [])
}
