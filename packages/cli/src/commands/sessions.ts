import { type Command, Option } from 'commander'
import { connect, type Json } from '../client/rest-client.ts'
import { octets } from '../output/octets.ts'
import { printList } from '../output/print.ts'
import { type Column, moment } from '../output/table.ts'
import type { Terminal } from '../terminal.ts'
import { type ListOptions, limitOption, restCommand } from './options.ts'
import { simHash } from './sim-columns.ts'

interface SessionOptions extends ListOptions {
  readonly state?: string
  readonly apn?: string
  readonly sim?: string
}

/** States of a session. Contract section 7. */
const SESSION_STATES: readonly string[] = ['active', 'idle', 'ended']

/** `svc sessions` */
export function addSessionsCommand(program: Command, terminal: Terminal): void {
  restCommand(program, 'sessions', 'who is online now; with --state ended who was')
    .addOption(limitOption())
    .addOption(new Option('--state <state>', 'in this state; live ones when absent').choices(SESSION_STATES))
    .option('--apn <apn>', 'to this APN or DNN')
    .option('--sim <hash>', 'of this SIM')
    .action((options: SessionOptions) => list(terminal, options))
}

async function list(terminal: Terminal, options: SessionOptions): Promise<void> {
  const { state, apn, sim, limit } = options
  const imsi = sim === undefined ? undefined : simHash(sim)
  const sessions = await connect(terminal, options).list('/v1/sessions', 'sessions', limit, {
    state,
    apn,
    imsi,
  })
  const isEnded = state === 'ended'
  printList(terminal, options.json === true, sessions, isEnded ? ENDED_COLUMNS : LIVE_COLUMNS)
}

const WHO: readonly Column<Json>[] = [
  { title: 'SIM', value: (row) => row.imsi_sha256_12, fit: 'whole' },
  { title: 'APN', value: (row) => row.apn },
  { title: 'ADDRESS', value: (row) => row.ue_ip, fit: 'whole' },
]
const HOW_MUCH: readonly Column<Json>[] = [
  { title: 'UP', value: (row) => octets(row.up_bytes), fit: 'whole' },
  { title: 'DOWN', value: (row) => octets(row.down_bytes), fit: 'whole' },
]
const WHERE: readonly Column<Json>[] = [
  { title: 'RADIO', value: (row) => row.technology, usual: 'lte' },
  { title: 'CELL', value: (row) => row.cell, usual: '-' },
  { title: 'SOURCE', value: (row) => row.source },
]
const STARTED: Column<Json> = { title: 'STARTED', value: (row) => moment(row.started_at), fit: 'whole' }
const LIVE_COLUMNS: readonly Column<Json>[] = [
  ...WHO,
  { title: 'STATE', value: (row) => row.state, usual: 'active' },
  ...HOW_MUCH,
  STARTED,
  ...WHERE,
]
const ENDED_COLUMNS: readonly Column<Json>[] = [
  ...WHO,
  ...HOW_MUCH,
  STARTED,
  { title: 'ENDED', value: (row) => moment(row.ended_at), fit: 'whole' },
  ...WHERE,
]
