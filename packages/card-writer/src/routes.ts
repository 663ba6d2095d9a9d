import {
  BATCH_ID_PATTERN,
  type Context,
  createTurns,
  defineTable,
  fieldRefused,
  type ImsiHash,
  isServiceError,
  type JsonSchema,
  type Migration,
  type OpenableSim,
  objectSchema,
  ok,
  type Principal,
  pageFrom,
  pageSchema,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
  type SimCard,
  simIssuerRef,
  simNotFound,
  simStateConflict,
  type Table,
  timestampFromMs,
} from '@steeple/contracts'
import { cardConflict, readCard, type SeenCard, type Writer, writeCard } from './pysim.ts'
import { cardScript } from './script.ts'
import { isSameCard } from './vendor-file.ts'

/** That a SIM was written on a card. */
export interface WrittenRow {
  readonly hash: string
  readonly written_at_ms: number
  /** Kind and id of who did it. */
  readonly written_by: string
  /** The last four digits of the card's own ICCID, which no writing changes. */
  readonly iccid_last4: string
}

export const WRITTEN: Table<WrittenRow> = defineTable(
  'card_writer_written',
  ['hash', 'written_at_ms', 'written_by', 'iccid_last4'],
  ['hash'],
)

/** Tables of this plugin; see README. */
export const MIGRATIONS: readonly Migration[] = [
  {
    id: '0001_written',
    up: [
      `create table card_writer_written (
        hash text primary key,
        written_at_ms bigint not null,
        written_by text not null,
        iccid_last4 text not null,
        row_sum bigint not null
      )`,
    ],
  },
]

/** Configuration at `card_writer`; see config.schema.json. */
export interface CardWriterConfig extends Writer {
  /** Name that phones show for the network; empty: it is not written. */
  readonly provider_name: string
}

type Cards = Context<CardWriterConfig>

interface SimBody {
  readonly imsi: ImsiHash
}
interface MarkBody extends SimBody {
  readonly iccid: string
  readonly again?: boolean
}
interface WriteBody extends MarkBody {
  readonly adm: string
}

const HASH: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{12}$', description: 'The hash of a SIM.' }
const ICCID: JsonSchema = {
  type: 'string',
  pattern: '^[0-9]{18,20}$',
  writeOnly: true,
  description: 'Of the card, as POST /v1/cards/read says it. No writing changes it.',
}
const AGAIN: JsonSchema = {
  type: 'boolean',
  description: 'Also a SIM that is written already, and over a card that holds another SIM of this network.',
}
const RECORD: JsonSchema = recordSchema({
  imsi_sha256_12: { type: 'string' },
  label: { type: ['string', 'null'] },
  state: { type: 'string' },
  written_at: { type: ['string', 'null'], format: 'date-time', description: 'Null: on no card yet.' },
  written_by: { type: ['string', 'null'], description: 'Kind and id of who wrote it.' },
  iccid_last4: { type: ['string', 'null'], description: 'Last digits of the number printed on that card.' },
})
const OF_CARD = ['card_writer_missing', 'card_missing', 'card_conflict'] as const
const OF_SIM = ['validation_failed', 'sim_not_found', 'sim_state_conflict', 'store_corrupt'] as const
/** SIMs of one answer. */
const MOST = 500

/** `GET /v1/cards` and what writes one. */
export function cardRoutes(context: Cards): readonly Route[] {
  // One reader, one card at a time.
  const turns = createTurns()
  return [
    listRoute(context),
    scriptRoute(context),
    route<unknown, unknown, unknown>({
      method: 'POST',
      path: '/v1/cards/read',
      role: 'sim:issuer',
      summary: 'Read which card is in the reader on the box',
      description:
        'Its kind, its ICCID, by which a card vendor’s file has its ADM key, and which SIM it holds.',
      schema: {
        response: recordSchema({
          model: { type: 'string' },
          iccid: { type: 'string', description: '18 to 20 digits.' },
          imsi_sha256_12: { type: ['string', 'null'], description: 'Null: the card tells nobody its IMSI.' },
        }),
      },
      errors: [...OF_CARD],
      audit: { none: 'changes nothing' },
      handle: async () => {
        const { model, iccid, hash } = await turns(() => readCard(context.config))
        return {
          ...ok({ model, iccid, imsi_sha256_12: hash ?? null }),
          headers: { 'cache-control': 'no-store' },
        }
      },
    }),
    route<unknown, unknown, WriteBody>({
      method: 'POST',
      path: '/v1/cards/write',
      role: 'sim:issuer',
      summary: 'Write a SIM on the card in the reader on the box',
      description:
        'pySim writes IMSI, keys and network, reads the card again and compares. It takes some seconds. The ADM key is tried once and ' +
        'is not stored. Counts against the limit sim_issue.',
      example: { imsi: '0123456789ab', iccid: '8988211000000000001', adm: '12345678' },
      schema: {
        body: objectSchema(
          {
            imsi: HASH,
            iccid: ICCID,
            adm: {
              type: 'string',
              pattern: '^([0-9]{4,8}|[0-9a-fA-F]{16})$',
              writeOnly: true,
              description: 'ADM1 of the card: digits as its vendor prints them, or 16 hexadecimal ones.',
            },
            again: AGAIN,
          },
          ['imsi', 'iccid', 'adm'],
        ),
        response: RECORD,
      },
      errors: [...OF_SIM, ...OF_CARD, 'card_write_failed', 'rate_limited'],
      audit: 'card.write',
      handle: (request) => turns(() => writeHere(context, request)),
    }),
    route<unknown, unknown, MarkBody>({
      method: 'POST',
      path: '/v1/cards/written',
      role: 'sim:admin',
      summary: 'Say that a SIM was written on a card elsewhere',
      description:
        'For a reader at a desk: `svc sim write --here` asks for it after it has compared the card.',
      example: { imsi: '0123456789ab', iccid: '8988211000000000001' },
      schema: {
        body: objectSchema({ imsi: HASH, iccid: ICCID, again: AGAIN }, ['imsi', 'iccid']),
        response: RECORD,
      },
      errors: [...OF_SIM, 'card_conflict'],
      audit: 'card.write',
      handle: async (request) => {
        const { imsi, iccid, again } = request.body
        await simToWrite(context, imsi, again)
        return await marked(context, request, iccid, 'desk')
      },
    }),
  ]
}

interface ListQuery {
  readonly imsi?: ImsiHash
  readonly batch_id?: string
}

/** `GET /v1/cards` */
function listRoute(context: Cards): Route {
  return route<unknown, ListQuery, unknown>({
    method: 'GET',
    path: '/v1/cards',
    role: 'viewer',
    summary: 'Show which SIMs of a batch, or whether one SIM, is written on a card',
    description: 'By hash. Cards that were written without this service are not known to it.',
    schema: {
      query: objectSchema({ imsi: HASH, batch_id: { type: 'string', pattern: BATCH_ID_PATTERN } }),
      response: pageSchema('cards', RECORD),
    },
    errors: ['validation_failed', 'store_corrupt'],
    paged: true,
    handle: async (request) => {
      const { imsi, batch_id: batch } = request.query
      if ((imsi === undefined) === (batch === undefined))
        throw fieldRefused('/batch_id', 'or imsi is needed, one of them')
      const issuer = context.use(simIssuerRef)
      const page = request.page()
      const limit = Math.min(page.limit, MOST)
      const found =
        batch === undefined
          ? await issuer.cards(imsi === undefined ? [] : [imsi])
          : await issuer.batch(batch, String(page.after?.[0] ?? ''), limit + 1)
      const record = async (card: (typeof found)[number]): Promise<object> =>
        recordOf(card, await WRITTEN.find(context.db, { hash: card.imsi }))
      return ok(await pageFrom({ ...page, limit }, 'cards', found, record, (card) => [card.imsi]))
    },
  })
}

/** `POST /v1/cards/script` */
function scriptRoute(context: Cards): Route {
  return route<unknown, unknown, SimBody>({
    method: 'POST',
    path: '/v1/cards/script',
    role: 'sim:admin',
    summary: 'Get a script for pySim-shell that writes a SIM on a card',
    description:
      'It holds the IMSI and the keys of the SIM: whoever has it can copy the SIM. Counts against the limit sim_issue.',
    example: { imsi: '0123456789ab' },
    schema: {
      body: recordSchema({ imsi: HASH }),
      response: recordSchema({
        imsi_sha256_12: { type: 'string' },
        file: { type: 'string', description: 'A name for it.' },
        script: { type: 'string' },
      }),
    },
    errors: [...OF_SIM, 'rate_limited'],
    audit: 'card.script',
    rateLimit: { name: 'sim_issue' },
    handle: async (request) => {
      const { imsi } = request.body
      const script = cardScript(await simToWrite(context, imsi, true), context.config.provider_name)
      const body = { imsi_sha256_12: imsi, file: `card-${imsi}.pysim`, script }
      return await request.mutate(imsi, async () => ({
        ...ok(body),
        headers: { 'cache-control': 'no-store' },
        sealed: true,
      }))
    },
  })
}

async function writeHere(context: Cards, request: Request<unknown, unknown, WriteBody>): Promise<Reply> {
  const { imsi, iccid, adm, again } = request.body
  const sim = await simToWrite(context, imsi, again)
  const seen = await readCard(context.config)
  if (!isSameCard(seen.iccid, iccid))
    throw cardConflict('another card is in the reader than the one that was read; read it again')
  await refuseInUse(context, seen, imsi, again)
  await request.take('sim_issue', 1)
  const failure = await writeCard(context.config, cardScript(sim, context.config.provider_name), adm).catch(
    (error: unknown) => error,
  )
  return await marked(context, request, iccid, 'box', failure)
}

/** A SIM that may be put on a card. */
async function simToWrite(context: Cards, imsi: ImsiHash, again = false): Promise<OpenableSim> {
  const sim = await context.use(simIssuerRef).sim(imsi)
  if (sim === undefined) throw simNotFound(imsi)
  if (sim.view.state === 'revoked') throw simStateConflict(`the SIM ${imsi} is revoked; write another one`)
  const before = again ? undefined : await WRITTEN.find(context.db, { hash: imsi })
  if (before !== undefined)
    throw cardConflict(
      `the SIM ${imsi} is on the card …${before.iccid_last4} already; write it anyway only if that card is gone`,
    )
  return sim
}

/** A card in somebody’s phone is not overwritten by mistake. */
async function refuseInUse(context: Cards, { hash }: SeenCard, imsi: ImsiHash, again = false): Promise<void> {
  if (again || hash === undefined || hash === imsi) return
  const held = await context.use(simIssuerRef).sim(hash)
  if (held !== undefined && held.view.state !== 'revoked')
    throw cardConflict(
      `the card holds the SIM ${hash} of this network; take another card, or overwrite it anyway`,
    )
}

async function marked(
  context: Cards,
  request: Request<unknown, unknown, MarkBody>,
  iccid: string,
  place: 'box' | 'desk',
  failure?: unknown,
): Promise<Reply> {
  const { imsi } = request.body
  const [card] = await context.use(simIssuerRef).cards([imsi])
  if (card === undefined) throw simNotFound(imsi)
  return await request.mutate(imsi, async (tx) => {
    const iccid_last4 = iccid.slice(-4)
    // The keys went to the card even if it does not hold them: the trail says so.
    tx.audit({ detail: { iccid_last4, place } })
    if (failure !== undefined) throw isServiceError(failure) ? failure : new Error('pySim could not be run')
    const row = {
      hash: imsi,
      written_at_ms: context.clock.nowMs(),
      written_by: whoIs(request.principal),
      iccid_last4,
    }
    await WRITTEN.put(tx, row)
    tx.event({ type: 'card.write', subject: imsi, data: { iccid_last4, place } })
    return ok(recordOf(card, row))
  })
}

function whoIs({ kind, id }: Principal): string {
  return `${kind}:${id}`
}

function recordOf({ imsi, label, state }: SimCard, row: WrittenRow | undefined): object {
  return {
    imsi_sha256_12: imsi,
    label: label ?? null,
    state,
    written_at: row === undefined ? null : timestampFromMs(row.written_at_ms),
    written_by: row?.written_by ?? null,
    iccid_last4: row?.iccid_last4 ?? null,
  }
}
