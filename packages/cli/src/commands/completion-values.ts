import { Argument, type Command } from 'commander'
import { connect } from '../client/service.ts'
import { printable } from '../output/table.ts'
import type { ValueList } from '../part.ts'
import { part as esimSmdp } from '../parts/esim-smdp.ts'
import type { Terminal } from '../terminal.ts'

/** Values that only the service knows. */
export type LiveKind = string

/** The newest so many SIMs are offered, and looked at for batches, profiles and APNs. */
const NEWEST = 200

/** `svc __values KIND`, which the scripts of `svc completion` run: one value a line, nothing when the service is away. */
export function addValuesCommand(program: Command, terminal: Terminal): void {
  program
    .command('__values', { hidden: true })
    .addArgument(new Argument('<kind>').choices(Object.keys(LISTS)))
    .action(async (kind: LiveKind) => {
      const values = await valuesOf(terminal, kind).catch((): readonly string[] => [])
      terminal.out(values.map((value) => `${printable(value)}\n`).join(''))
    })
}

async function valuesOf(terminal: Terminal, kind: LiveKind): Promise<readonly string[]> {
  const { path, key, field } = LISTS[kind] ?? { path: '', key: '', field: '' }
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
  ...esimSmdp.values,
}
