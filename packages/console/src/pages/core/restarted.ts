import type { ItemOf } from '@steeple/client'

/** One time that daemons were restarted. */
export interface Restarted {
  readonly seq: number
  readonly at: string
  readonly daemons: readonly string[]
  /** Why, in the service's words; undefined when it was for the files. */
  readonly why: string | undefined
  /** The files of the configuration that are other ones since. */
  readonly files: readonly string[]
}

/** What an entry of the trail says of daemons that were restarted, by a repair or for another configuration. */
export function restartedOf({
  seq,
  at,
  detail,
}: Pick<ItemOf<'/v1/audit'>, 'seq' | 'at' | 'detail'>): Restarted {
  const { daemons, restarted, reason, changed } = (detail ?? {}) as Readonly<Record<string, unknown>>
  const why = typeof reason === 'string' ? reason : undefined
  return { seq, at, daemons: textsOf(daemons ?? restarted), why, files: textsOf(changed) }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
