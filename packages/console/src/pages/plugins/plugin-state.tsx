import type { ItemOf } from '@steeple/client'
import { word } from '../../text/index.ts'
import { Lamp, type Tone } from '../../ui/parts.tsx'

/** A plugin as the API lists it. */
export type PluginRecord = ItemOf<'/v1/plugins'>

const TONES: Readonly<Record<string, Tone>> = {
  running: 'ok',
  loading: 'on',
  failed: 'bad',
  rejected: 'bad',
  needs_config: 'warn',
  disabled: 'none',
  unloaded: 'none',
  found: 'none',
}

export function StateLamp({ plugin }: { readonly plugin: PluginRecord }) {
  return <Lamp tone={TONES[plugin.state] ?? 'warn'} label={word('plugins.state', plugin.state)} />
}

/** How it says that it is. */
export function HealthLamp({ plugin }: { readonly plugin: PluginRecord }) {
  if (plugin.state !== 'running') return null
  const tone = { ok: 'ok', degraded: 'warn', down: 'bad' }[plugin.health] as Tone | undefined
  return <Lamp tone={tone ?? 'none'} label={word('plugins.health', plugin.health)} />
}

/** Whether a version is below the one that runs: the service lists the highest first. */
export function isBelow(version: string, { versions, version: current }: PluginRecord): boolean {
  return versions.indexOf(version) > versions.indexOf(current)
}
