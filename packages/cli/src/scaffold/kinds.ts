import type { PluginKind } from '@steeple/contracts'

/** A kind that `svc plugin new` has a template for: all of them. */
export type ScaffoldKind = PluginKind

/** In the order of the help text. */
export const KINDS: readonly ScaffoldKind[] = ['core', 'hss', 'ran', 'collector', 'feature']

/** The key of the configuration that chooses among drivers of a kind. */
export const SELECTED_BY: Readonly<Partial<Record<ScaffoldKind, string>>> = {
  core: 'core',
  hss: 'hss.driver',
  ran: 'ran.driver',
}
