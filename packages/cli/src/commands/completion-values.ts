import type { Command } from 'commander'
import { connect } from '../client/service.ts'
import { printable } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'

/** Values that only the service knows: a kind, or the words that say where they are (`valueWords`). */
export type LiveKind = string

/** A list of the service and which of its fields completes a word. */
interface ValueList {
  readonly path: string
  /** The key of the list in the answer. */
  readonly key: string
  readonly field: string
}

/** What `__values` takes for a list that has no kind. */
export function valueWords({ path, key, field }: ValueList): LiveKind {
  return `${path} ${key} ${field}`
}

/** The newest so many SIMs are offered, and looked at for batches, profiles and APNs. */
const NEWEST = 200

/** `svc __values KIND|PATH KEY FIELD`, which the scripts of `svc completion` run: one value a line, nothing when the service is away. */
export function addValuesCommand(program: Command, terminal: Terminal): void {
  program
    .command('__values <kind> [key] [field]', { hidden: true })
    .action(async (kind: string, key: string | undefined, field: string | undefined) => {
      const list = key === undefined || field === undefined ? LISTS[kind] : { path: kind, key, field }
      const values =
        list === undefined ? [] : await valuesOf(terminal, list).catch((): readonly string[] => [])
      terminal.out(values.map((value) => `${printable(value)}\n`).join(''))
    })
}

async function valuesOf(terminal: Terminal, { path, key, field }: ValueList): Promise<readonly string[]> {
  const { rows } = await connect(terminal, {}).anyList(`GET ${path}`, key, NEWEST, {})
  const values = rows.flatMap((row) => row[field]).filter((value) => typeof value === 'string')
  // A word with a blank in it would be taken for two.
  return [...new Set(values)].filter((value) => /^\S+$/.test(value))
}

const SIMS = { path: '/v1/sims', key: 'sims' } as const

const LISTS: Readonly<Record<string, ValueList>> = {
  sims: { ...SIMS, field: 'imsi_sha256_12' },
  batches: { ...SIMS, field: 'batch_id' },
  profiles: { ...SIMS, field: 'profile' },
  apns: { ...SIMS, field: 'apns' },
  plugins: { path: '/v1/plugins', key: 'plugins', field: 'name' },
}
