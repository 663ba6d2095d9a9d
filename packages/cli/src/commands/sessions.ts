import type { ItemOf } from '@steeple/client'
import { type Command, Option } from 'commander'
import { connect } from '../client/service.ts'
import { printList } from '../output/print.ts'
import type { Column } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

/** States of a session. Contract section 7. */
const SESSION_STATES = ['active', 'idle', 'ended'] as const

interface SessionOptions extends ListOptions {
  readonly state?: (typeof SESSION_STATES)[number]
  readonly apn?: string
  readonly sim?: string
}

/** `svc sessions` */
export function addSessionsCommand(program: Command, terminal: Terminal): void {
  restCommand(program, 'sessions', 'who is online now; with --state ended who was')
    .addOption(limitOption())
    .addOption(new Option('--state <state>', 'in this state; live ones when absent').choices(SESSION_STATES))
    .option('--apn <apn>', 'to this APN or DNN')
    .option('--sim <hash>', 'of this SIM')
    .action(async (options: SessionOptions) => {
      const { state, apn, sim, limit } = options
      const query = { state, apn, imsi: sim === undefined ? undefined : simHash(sim) }
      const found = await connect(terminal, options).list('/v1/sessions', 'sessions', limit, { query })
      printList(terminal, options, found, state === 'ended' ? ENDED_COLUMNS : LIVE_COLUMNS)
    })
}

type Columns = readonly Column<ItemOf<'/v1/sessions'>>[]

const WHO: Columns = [
  { title: 'SIM', value: 'imsi_sha256_12', fit: 'whole' },
  'apn',
  { title: 'ADDRESS', value: 'ue_ip', fit: 'whole' },
]
const HOW_MUCH: Columns = [
  { title: 'UP', value: 'up_bytes', as: 'bytes', fit: 'whole' },
  { title: 'DOWN', value: 'down_bytes', as: 'bytes', fit: 'whole' },
  { title: 'STARTED', value: 'started_at', fit: 'whole' },
]
const WHERE: Columns = [
  { title: 'RADIO', value: 'technology', usual: 'lte' },
  { value: 'cell', usual: '-' },
  'source',
]
const LIVE_COLUMNS: Columns = [...WHO, { value: 'state', usual: 'active' }, ...HOW_MUCH, ...WHERE]
const ENDED_COLUMNS: Columns = [
  ...WHO,
  ...HOW_MUCH,
  { title: 'ENDED', value: 'ended_at', fit: 'whole' },
  ...WHERE,
]
