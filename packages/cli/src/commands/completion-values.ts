import { Argument, type Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json } from '../client/rest-client.ts'
import { printable } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'

/** Values that only the service knows. */
export type LiveKind = (typeof KINDS)[number]
const KINDS = ['sims', 'batches', 'profiles', 'apns', 'plugins', 'codes'] as const

/** The newest so many SIMs are offered, and looked at for batches, profiles and APNs. */
const NEWEST = 200

/** `svc __values KIND`, which the scripts of `svc completion` run: one value a line, nothing when the service is away. */
export function addValuesCommand(program: Command, terminal: Terminal): void {
  program
    .command('__values', { hidden: true })
    .addArgument(new Argument('<kind>').choices(KINDS))
    .action(async (kind: LiveKind) => {
      const values = await valuesOf(terminal, kind).catch((): readonly string[] => [])
      terminal.out(values.map((value) => `${printable(value)}\n`).join(''))
    })
}

async function valuesOf(terminal: Terminal, kind: LiveKind): Promise<readonly string[]> {
  const options: ConnectionOptions = {}
  const client = connect(terminal, options)
  const [path, key] = LISTS[kind] ?? ['/v1/sims', 'sims']
  const rows = await client.list(path, key, NEWEST)
  const values = rows.rows.flatMap((row) => row[FIELDS[kind]]).filter((value) => typeof value === 'string')
  // A word with a blank in it would be taken for two.
  return [...new Set(values)].filter((value) => /^\S+$/.test(value))
}

const LISTS: Readonly<Partial<Record<LiveKind, readonly [path: string, key: string]>>> = {
  plugins: ['/v1/plugins', 'plugins'],
  codes: ['/v1/esim/codes', 'codes'],
}

const FIELDS: Readonly<Record<LiveKind, keyof Json>> = {
  sims: 'imsi_sha256_12',
  batches: 'batch_id',
  profiles: 'profile',
  apns: 'apns',
  plugins: 'name',
  codes: 'token',
}
