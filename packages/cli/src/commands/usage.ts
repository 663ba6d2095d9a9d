import type { AnswerOf } from '@steeple/client'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { usageError } from '../command-error.ts'
import { chart } from '../output/chart.ts'
import { octets } from '../output/octets.ts'
import { printRecord } from '../output/print.ts'
import { fields, table } from '../output/table.ts'
import { type LocalTime, localTimes, usageSummary } from '../output/usage-summary.ts'
import type { Terminal } from '../terminal.ts'
import { restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

interface UsageOptions extends ConnectionOptions {
  readonly by: 'hour' | 'day'
  readonly from?: string
  readonly to?: string
}

const HOUR_MS = 3_600_000
/** How far back a chart goes when nobody says. */
const SPANS_MS = { hour: 24 * HOUR_MS, day: 30 * 24 * HOUR_MS } as const
/** Columns when standard output is no screen. */
const PAPER_COLUMNS = 80

/** `svc usage HASH` */
export function addUsageCommand(program: Command, terminal: Terminal): void {
  restCommand(program, 'usage <hash>', 'how much a SIM has used, what is left of its quota, and when')
    .addOption(
      new Option('--by <step>', 'a line for each hour or day').choices(['hour', 'day']).default('day'),
    )
    .option('--from <time>', 'RFC 3339; 30 days ago when absent, 24 hours with --by hour')
    .option('--to <time>', 'RFC 3339; now when absent')
    .action((hash: string, options: UsageOptions) => usage(terminal, hash, options))
}

async function usage(terminal: Terminal, hash: string, options: UsageOptions): Promise<void> {
  const { by } = options
  const to = timeOf('--to', options.to) ?? Date.now()
  const from = timeOf('--from', options.from) ?? hourOf(to - SPANS_MS[by])
  if (from >= to) throw usageError('--from is not before --to')
  const query = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), step: by }
  const path = { imsi: simHash(hash) }
  const { data } = await connect(terminal, options).get('/v1/sims/{imsi}/usage', { path, query })
  if (options.json === true) return printRecord(terminal, options, data)
  terminal.out(fields(usageSummary(data)))
  terminal.out(sources(data, terminal.columns))
  const steps = stepsOf(data, { by, from, to, localTime: localTimes(data.time_zone) })
  terminal.out(series(steps, terminal.columns ?? PAPER_COLUMNS))
}

function hourOf(ms: number): number {
  return ms - (ms % HOUR_MS)
}

function timeOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw usageError(`${option} is a time such as 2026-01-31T00:00:00Z`)
  return time
}

type Usage = AnswerOf<'GET', '/v1/sims/{imsi}/usage'>

/** What each source saw; one alone says no more than the summary. */
function sources({ by_source: bySource }: Usage, width: number | undefined): string {
  const rows = Object.entries(bySource ?? {}).map(([source, of]) => ({ ...of, source }))
  if (rows.length < 2) return ''
  return `\n${table(
    rows,
    [
      'source',
      { title: 'UP', value: 'up_bytes', as: 'bytes' },
      { title: 'DOWN', value: 'down_bytes', as: 'bytes' },
    ],
    width,
  )}`
}

/** One hour or day. */
interface Step {
  readonly title: string
  readonly upBytes: number
  readonly downBytes: number
  readonly isIncomplete: boolean
}

interface StepOptions {
  readonly by: UsageOptions['by']
  readonly from: number
  readonly to: number
  readonly localTime: LocalTime
}

const NONE: Omit<Step, 'title'> = { upBytes: 0, downBytes: 0, isIncomplete: false }

/** The hours or days from the first with usage on, those without among them. */
function stepsOf({ series: known = [] }: Usage, { by, from, to, localTime }: StepOptions): readonly Step[] {
  const titleOf = (ms: number): string => localTime(ms).slice(0, by === 'day' ? 10 : 16)
  const steps = new Map<string, Step>()
  // There are zones whose hours begin at the half of ours.
  const shift = Date.parse(known[0]?.at ?? '') % HOUR_MS || 0
  for (let ms = hourOf(from) + shift; ms < to; ms += HOUR_MS)
    steps.set(titleOf(ms), { title: titleOf(ms), ...NONE })
  for (const row of known) {
    const title = titleOf(Date.parse(row.at))
    const { upBytes, downBytes, isIncomplete } = steps.get(title) ?? NONE
    // The hour that comes twice when clocks are put back is one line.
    steps.set(title, {
      title,
      upBytes: upBytes + row.up_bytes,
      downBytes: downBytes + row.down_bytes,
      isIncomplete: isIncomplete || row.is_incomplete,
    })
  }
  const all = [...steps.values()].toSorted((a, b) => (a.title < b.title ? -1 : 1))
  const begin = all.findIndex(({ upBytes, downBytes }) => upBytes + downBytes > 0)
  return begin === -1 ? [] : all.slice(begin)
}

function series(steps: readonly Step[], width: number): string {
  if (steps.length === 0) return '\nNothing was used in this time.\n'
  const up = steps.map(({ upBytes }) => octets(upBytes))
  const down = steps.map(({ downBytes }) => octets(downBytes))
  const [upWidth, downWidth] = [up, down].map((all) => Math.max(...all.map(({ length }) => length)))
  const lines = steps.map(({ title, upBytes, downBytes, isIncomplete }, at) => {
    const moved = `${down[at]?.padStart(downWidth ?? 0)} down  ${up[at]?.padStart(upWidth ?? 0)} up`
    return { title, amount: upBytes + downBytes, note: isIncomplete ? `${moved}  or more` : moved }
  })
  return `\n${chart(lines, width)}`
}
