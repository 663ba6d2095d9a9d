import { resolve } from 'node:path'
import type { AnswerOf, ItemOf } from '@steeple/client'
import type { Command } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect } from '../client/service.ts'
import { failure, fileOf, usageError } from '../command-error.ts'
import { agreed } from '../output/ask-lines.ts'
import { jsonText, printList } from '../output/print.ts'
import { withProgress } from '../output/progress.ts'
import { type Column, fields, table } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

type Foreign = ItemOf<'/v1/sims/foreign'>
type Report = AnswerOf<'POST', '/v1/sims/adopt'>

const OTHER = 'those of the other core that the configuration names; it is only looked at'

/** Subscribers that a dry run shows. */
const MOST_SHOWN = 50

const FOREIGN_COLUMNS: readonly Column<Foreign>[] = [
  { title: 'SUBSCRIBER', value: 'imsi_sha256_12', fit: 'whole' },
  { title: 'NUMBER', value: 'msisdn' },
  { title: 'SLICES', value: ({ slices }) => slices.map(sliceText).join(' ') },
  {
    title: 'APNS',
    value: ({ slices }) => slices.flatMap(({ apns }) => apns.map(({ name }) => name)).join(';'),
  },
  {
    title: 'ADDRESSES',
    value: ({ slices }) => slices.flatMap(({ apns }) => apns.flatMap(({ addresses }) => addresses)).join(';'),
  },
  { title: 'BLOCKED', value: ({ is_blocked: isBlocked }) => (isBlocked ? 'yes' : 'no') },
  { title: 'ADOPT', value: ({ problem }) => problem ?? 'yes', fit: 'wrap' },
]

function sliceText({ sst, sd }: Foreign['slices'][number]): string {
  return sd === null ? String(sst) : `${sst}-${sd}`
}

/** `svc sim foreign` */
export function addForeignCommand(program: Command, terminal: Terminal): void {
  restCommand(program, 'sim foreign', 'list the subscribers of the core that are not yours yet')
    .addOption(limitOption())
    .option('--other', OTHER)
    .action(async (options: ListOptions & { readonly other?: true }) => {
      const service = connect(terminal, options)
      const query = options.other === true ? { source: 'other' as const } : {}
      const { problem } = (await service.get('/v1/sims/foreign', { query: { ...query, limit: 1 } })).data
      if (problem !== null) throw failure('cannot_list', problem)
      const found = await service.list('/v1/sims/foreign', 'subscribers', options.limit, { query })
      printList(terminal, options, found, FOREIGN_COLUMNS)
    })
}

interface AdoptOptions extends ConnectionOptions {
  readonly all?: true
  readonly other?: true
  readonly file?: readonly string[]
  readonly label?: string
  readonly yes?: boolean
  readonly dryRun?: boolean
}

/** `svc sim adopt` */
export function addAdoptCommand(program: Command, terminal: Terminal): void {
  restCommand(program, 'sim adopt [hash...]', 'take over subscribers that the core has already')
    .option('--all', 'all of them')
    .option('--other', OTHER)
    .option('--file <path...>', 'those in files that mongoexport wrote of Open5GS or free5GC')
    .option('--label <text>', 'label for all of them; #### becomes the last four digits of each IMSI')
    .option('--dry-run', 'show what would be done, and do not ask')
    .option('--yes', 'do it without asking')
    .addHelpText(
      'after',
      '\nWithout --yes it shows what it would do, and asks where there is a terminal. Phones stay on the network, and what the core\n' +
        'holds of the subscribers stays as it is. With --other or --file they are written into the core that this node drives; what it\n' +
        'cannot hold of them is named.',
    )
    .action((hashes: readonly string[], options: AdoptOptions) => adopt(terminal, hashes, options))
}

async function adopt(terminal: Terminal, hashes: readonly string[], options: AdoptOptions): Promise<void> {
  if (hashes.length > 0 === (options.all === true))
    throw usageError('give the subscribers by their hashes, or --all; svc sim foreign lists them')
  const service = connect(terminal, options)
  const who = options.all === true ? { all: true as const } : { ids: hashes.map(simHash) }
  const chosen = { ...who, ...(await fromOf(terminal, options)) }
  const send = async (isDry: boolean): Promise<Report> => {
    const body = { ...chosen, label: options.label, dry_run: isDry }
    return (await service.post('/v1/sims/adopt', { body })).data
  }
  if (options.yes !== true || options.dryRun === true) {
    const dry = await send(true)
    if (!(await isWanted(terminal, options, dry))) return terminal.answer(dry.failed === 0 ? 0 : 1)
  }
  const done = await withProgress(terminal, 'taking subscribers over', () => send(false))
  if (options.json === true) terminal.out(jsonText(done))
  else terminal.out(reportText(terminal, done, false))
  const isOther = done.results.some((one) => one.is_unchanged === false)
  if (done.failed !== 0 || isOther) terminal.answer(1)
}

/** Which subscribers: those of the core of this node where nothing is said. */
async function fromOf(
  terminal: Terminal,
  { other, file }: AdoptOptions,
): Promise<{ readonly source?: 'other'; readonly documents?: string[] }> {
  if (other === true && file !== undefined) throw usageError('give --other or --file, not both')
  if (file !== undefined)
    return {
      documents: await Promise.all(
        file.map(async (one) => (await fileOf(resolve(terminal.cwd, one))).toString('utf8')),
      ),
    }
  return other === true ? { source: 'other' } : {}
}

/** Shows what would be done, and asks whether to do it where somebody can answer. */
async function isWanted(terminal: Terminal, options: AdoptOptions, dry: Report): Promise<boolean> {
  const isAsked = options.dryRun !== true && options.json !== true && terminal.ask !== undefined
  if (options.json === true) terminal.out(jsonText(dry))
  else terminal.out(reportText(terminal, dry, true))
  if (!isAsked || dry.adopted === 0) {
    if (options.json !== true) terminal.err('Nothing was changed. --yes takes them over.\n')
    return false
  }
  const isYes = await agreed(
    terminal,
    `Take over ${dry.adopted} ${dry.adopted === 1 ? 'subscriber' : 'subscribers'}?`,
  )
  if (!isYes) terminal.err('Nothing was changed.\n')
  return isYes
}

function reportText(terminal: Terminal, report: Report, isDry: boolean): string {
  const { results, adopted, failed, left, batch_id: batch } = report
  const same = results.filter((one) => one.is_unchanged === true).length
  const totals = isDry
    ? { 'would adopt': adopted, failed, left }
    : { adopted, 'unchanged in the core': same, failed, left, batch_id: batch }
  const told = results.filter(
    ({ error, changes, is_unchanged: isSame }) => error !== null || changes.length > 0 || isSame === false,
  )
  const columns = [
    { title: 'SUBSCRIBER', value: 'imsi_sha256_12', fit: 'whole' },
    {
      title: isDry ? 'WHAT WOULD HAPPEN' : 'WHAT HAPPENED',
      value: (one: Report['results'][number]) => whatOf(one, isDry),
      fit: 'wrap',
    },
  ] as const
  const more = told.length > MOST_SHOWN ? `and ${told.length - MOST_SHOWN} more; --json shows all\n` : ''
  const rows =
    told.length === 0 ? '' : `\n${table(told.slice(0, MOST_SHOWN), columns, terminal.columns)}${more}`
  return `${fields(totals)}${rows}`
}

function whatOf({ error, changes, is_unchanged: isSame }: Report['results'][number], isDry: boolean): string {
  if (error !== null) return `left alone: ${error}`
  if (isSame === false)
    return changes.length > 0
      ? `adopted; the core of this node holds otherwise: ${changes.join(', ')}`
      : 'adopted, but the core holds it otherwise than before; svc audit list tells who changed it'
  const fields = changes.map((one) => (one === 'AMBR' ? 'speed (AMBR)' : one)).join(', ')
  return `${isDry ? 'would be' : 'was'} written anew with the same value, since the core cannot read it as it is: ${fields}`
}
