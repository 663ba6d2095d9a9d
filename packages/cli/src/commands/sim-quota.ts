import type { RequestOf } from '@steeple/client'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { usageError } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import { fields } from '../output/table.ts'
import { usageSummary } from '../output/usage-summary.ts'
import type { Terminal } from '../terminal.ts'
import { positiveInteger, restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

interface QuotaOptions extends ConnectionOptions {
  readonly bytes?: number
  readonly period?: 'day' | 'week' | 'month' | 'none'
  readonly action?: 'suspend' | 'throttle' | 'alert'
  readonly throttleBps?: number
  readonly add?: number
  readonly none?: boolean
}

const PREFIXES = ['', 'K', 'M', 'G', 'T', 'P']

/** `svc sim quota HASH` */
export function addQuotaCommand(program: Command, terminal: Terminal): void {
  restCommand(program, 'sim quota <hash>', 'the data quota of a SIM: shows it, sets it, tops it up')
    .option('--bytes <size>', 'octets of both directions together: 5GB, 500MB, 2GiB', size)
    .addOption(
      new Option('--period <period>', 'when it begins anew; month when absent').choices([
        'day',
        'week',
        'month',
        'none',
      ]),
    )
    .addOption(
      new Option('--action <action>', 'when it is used up; suspend when absent').choices([
        'suspend',
        'throttle',
        'alert',
      ]),
    )
    .option('--throttle-bps <rate>', 'for --action throttle: bit/s that are left', positiveInteger)
    .option('--add <size>', 'once more for this period: 1GB', size)
    .option('--none', 'take the quota away')
    .action((hash: string, options: QuotaOptions) => quota(terminal, hash, options))
}

async function quota(terminal: Terminal, hash: string, options: QuotaOptions): Promise<void> {
  const service = connect(terminal, options)
  const path = { imsi: simHash(hash) }
  const body = changeOf(options)
  const { data } =
    body === undefined
      ? await service.get('/v1/sims/{imsi}/usage', { path })
      : await service.post('/v1/sims/{imsi}/quota', { path, body })
  terminal.out(options.json === true ? jsonText(data) : fields(usageSummary(data)))
}

/** What is asked for; undefined when it is only to be shown. Throws `usage`. */
function changeOf(options: QuotaOptions): RequestOf<'POST', '/v1/sims/{imsi}/quota'>['body'] {
  const { bytes, add, none, period, action, throttleBps } = options
  const asked = [bytes, add, none].filter((value) => value !== undefined).length
  if (asked > 1) throw usageError('--bytes, --add and --none are of one quota at a time')
  const hasTerms = period !== undefined || action !== undefined || throttleBps !== undefined
  if (hasTerms && bytes === undefined)
    throw usageError('--period, --action and --throttle-bps go with --bytes')
  if (none === true) return { quota_bytes: null }
  if (add !== undefined) return { add_bytes: add }
  // JSON leaves out what is undefined.
  return bytes === undefined ? undefined : { quota_bytes: bytes, period, action, throttle_bps: throttleBps }
}

/** Octets of `5GB` (units of 1000), `2GiB` (of 1024) or a plain number. */
function size(text: string): number {
  const [, digits, prefix = '', binary] = /^(\d+(?:\.\d+)?)\s?([KMGTP]?)(i?)B?$/i.exec(text) ?? []
  const unit = (binary === 'i' || binary === 'I' ? 1024 : 1000) ** PREFIXES.indexOf(prefix.toUpperCase())
  const octets = Number(digits) * unit
  if (!Number.isSafeInteger(octets) || (binary !== '' && prefix === ''))
    throw new InvalidArgumentError('It is a size such as 5GB, 500MB, 2GiB or a number of octets.')
  return octets
}
