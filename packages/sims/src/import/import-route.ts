import {
  chunksOf,
  createPause,
  freeOctets,
  isServiceError,
  type MutationTx,
  msFromDuration,
  type Pause,
  type Reply,
  type Request,
  type Route,
  route,
  type Tx,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import { readableCsv } from '@steeple/telecom'
import { batchId } from '../issue/draw-sims.ts'
import { policyApns } from '../issue/issue.ts'
import { SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { noteMoves } from '../states/change.ts'
import type { SimRow } from '../store/sim-store.ts'
import { type ImportPlan, type PlannedRow, planImport } from './import-plan.ts'
import { createResults, ImportRows, type Ready, type Results } from './import-rows.ts'
import { IMPORT_BODY, IMPORT_QUERY, IMPORT_REPORT, type ImportQuery } from './import-schema.ts'
import { auditCutShort, noteBegun, noteEnded } from './open-imports.ts'
import { tellOverwritten } from './overwritten.ts'
import { csvRows, jsonRowsOf, type Rows } from './read-rows.ts'

/** Whether a body is JSON, whatever it is called: CSV begins with a name, a comment or a mark. */
export function isJson(bytes: Buffer): boolean {
  const first = bytes.subarray(0, 1_024).toString('utf8').replace('\uFEFF', '').trimStart()[0]
  return first === '{' || first === '['
}

/** Rows that a dry run shows as it understands them. */
const FIRST_ROWS = 5

/** What can be compared with the file, in its order, and no secret. */
function firstRows(rows: readonly Ready[]): readonly object[] {
  const inOrder = rows.toSorted((one, other) => one.planned.number - other.planned.number)
  return inOrder.map(({ planned, row }) => {
    const { hash, iccid_last4, msisdn, profile, apns, label, expires_at_ms } = row
    return {
      row: planned.number,
      line: planned.place.line,
      imsi_sha256_12: hash,
      iccid_last4,
      msisdn,
      profile,
      apns: JSON.parse(apns),
      label,
      expires_at: timestampFromMs(expires_at_ms),
    }
  })
}

type ImportRequest = Request<unknown, ImportQuery, Uint8Array | undefined>

/** The limit of the policy that counts rows. */
const ROWS_LIMIT = 'sim_import_rows'

/** Rows of one transaction: short enough not to hold up other writers and requests. */
const CHUNK = 250

/** What is known of the rows of a larger body takes much memory: it is looked at when it is its turn, one at a time. */
const SMALL_BYTES = 65_536

/** Runs the work of a large import when those before it are done. */
type Turn = (work: () => Promise<Reply>) => Promise<Reply>

/**
 * Imports SIMs and reports on each row. `charge` says what the mutation is to take from the limit of rows.
 * Throws `validation_failed` and `malformed_json` for a body that has no rows to read, `rate_limited`.
 */
async function runImport(
  parts: SimsParts,
  request: ImportRequest,
  charge: (rows: number) => void,
): Promise<Reply> {
  const turn: Turn = (work) =>
    parts.imports(async () => {
      request.signal.throwIfAborted()
      return await work()
    })
  if ((request.body?.length ?? 0) <= SMALL_BYTES) return await planAndRun(parts, request, charge, turn)
  return await turn(() => planAndRun(parts, request, charge, (work) => work()))
}

async function planAndRun(
  parts: SimsParts,
  request: ImportRequest,
  charge: (rows: number) => void,
  turn: Turn,
): Promise<Reply> {
  const pause = createPause()
  const rows = await rowsOf(request, pause)
  const room = parts.context.config.max_sims - parts.counters.total
  const plan = await planImport(rows, room, pause)
  const { dry_run: isDry, atomic: isAtomic } = request.query
  if (isDry !== true && isAtomic !== true && plan.count <= CHUNK) {
    charge(plan.count)
    return await (await begin(parts, request, { rows, plan, pause })).small()
  }
  return await turn(async () => {
    if (isDry === true) return { body: await (await begin(parts, request, { rows, plan, pause })).dry() }
    await request.take(ROWS_LIMIT, plan.count)
    const run = await begin(parts, request, { rows, plan, pause })
    return isAtomic === true ? await run.atomic() : await run.plain()
  })
}

async function rowsOf(request: ImportRequest, pause: Pause): Promise<Rows> {
  const { body } = request
  if (body === undefined) throw validationFailed('the import has no body; send the file of cards')
  const octets = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const readable = await readableCsv(octets, pause)
  const isCalledJson = /json/i.test(request.header('content-type') ?? '')
  return isCalledJson || isJson(readable) ? jsonRowsOf(readable) : await csvRows(readable, pause)
}

interface Body {
  readonly rows: Rows
  readonly plan: ImportPlan
  readonly pause: Pause
}

async function begin(parts: SimsParts, request: ImportRequest, { rows, plan, pause }: Body): Promise<Run> {
  const { context, iccids } = parts
  const nowMs = context.clock.nowMs()
  const id = batchId('i', nowMs)
  const results = createResults(plan.count)
  const facts = {
    plmn: context.settings.plmn,
    policyApns: policyApns(parts),
    nowMs,
    expiresAtMs: nowMs + (msFromDuration(context.config.default_expiry) ?? 0),
    label: request.query.label,
  }
  const [mac, indexedTo] = [await iccids.mac(), await iccids.indexedTo(context.db)]
  const { mayHaveTwins } = plan
  const imported = new ImportRows({ parts, id, facts, rows, mayHaveTwins, results, mac, indexedTo })
  return new Run({ parts, request, id, nowMs, plan, pause, results, rows: imported, body: rows })
}

interface RunPart {
  readonly parts: SimsParts
  readonly request: ImportRequest
  readonly id: string
  readonly nowMs: number
  readonly plan: ImportPlan
  readonly pause: Pause
  readonly results: Results
  readonly rows: ImportRows
  readonly body: Rows
}

class Run {
  readonly #of: RunPart

  constructor(of: RunPart) {
    this.#of = of
  }

  async dry(): Promise<object> {
    const { parts, request, plan, rows, results, pause } = this.#of
    const first: Ready[] = []
    let isTold = true
    for (const chunk of chunksOf(plan.rows, CHUNK)) {
      const read = await this.#read(chunk)
      await rows.findHolders(parts.context.db, read, pause)
      first.push(...read.filter(({ planned }) => planned.number <= FIRST_ROWS))
      const added: Ready[] = []
      for (const ready of read) {
        if ((await rows.look(parts.context.db, ready)) === 'imported') added.push(ready)
        await pause()
      }
      isTold = (await tellOverwritten(parts, results, added, request.signal)) && isTold
    }
    return { ...this.#report(), first_rows: firstRows(first), hss: isTold ? 'asked' : 'silent' }
  }

  /** A few rows with their audit entry in one transaction, which those of other requests may share. */
  async small(): Promise<Reply> {
    const { request, plan, id } = this.#of
    const ready = await this.#read(plan.rows)
    return await request.mutate(id, async (tx) => {
      for (const hash of await this.#store(tx, ready)) tx.dirty(SIM_RESOURCE, hash)
      return this.#conclude(tx)
    })
  }

  /** Chunk by chunk, each durable for itself. Pushing begins when all are: both at once would take both longer. */
  async plain(): Promise<Reply> {
    const { request, id } = this.#of
    const waiting: string[] = []
    try {
      await this.#storeChunks(waiting)
    } finally {
      await this.#push(waiting)
    }
    return await request.mutate(id, async (tx) => {
      await noteEnded(tx, id)
      return this.#conclude(tx)
    })
  }

  /** One transaction for all, or nothing. */
  async atomic(): Promise<Reply> {
    const { parts, request, id, plan, rows, results, pause } = this.#of
    const wanted: Ready[] = []
    for (const chunk of chunksOf(plan.rows, CHUNK)) {
      const read = await this.#read(chunk)
      await rows.findHolders(parts.context.db, read, pause)
      for (const ready of read) {
        if ((await rows.look(parts.context.db, ready)) !== undefined) wanted.push(ready)
        await pause()
      }
    }
    const isRefused = results.hasErrors
    if (isRefused) results.withhold()
    rows.forget()
    return await request.mutate(id, async (tx) => {
      if (!isRefused) for (const hash of await this.#store(tx, wanted)) tx.dirty(SIM_RESOURCE, hash)
      return this.#conclude(tx)
    })
  }

  async #read(chunk: readonly PlannedRow[]): Promise<readonly Ready[]> {
    const { rows, pause } = this.#of
    const found: Ready[] = []
    for (const planned of chunk) {
      const ready = rows.read(planned)
      if (ready !== undefined) found.push(ready)
      await pause()
    }
    return found
  }

  /** Gives the hashes of what is to be pushed. Requests that only read go on meanwhile. */
  async #store(tx: Tx, ready: readonly Ready[]): Promise<readonly string[]> {
    const { parts, rows, pause } = this.#of
    const added: SimRow[] = []
    for (const some of chunksOf(ready, CHUNK)) {
      await rows.findHolders(tx, some, pause)
      for (const one of some) {
        const row = await rows.store(tx, one)
        if (row !== undefined) added.push(row)
        await pause()
      }
    }
    await noteMoves(
      parts,
      tx,
      added.map((after) => ({ after })),
    )
    return added.filter(({ hss_status }) => hss_status !== 'synced').map(({ hash }) => hash)
  }

  async #storeChunks(waiting: string[]): Promise<void> {
    const { parts, request, id, plan, nowMs } = this.#of
    const { principal, signal, id: requestId } = request
    let isBegun = false
    try {
      for (const chunk of chunksOf(plan.rows, CHUNK)) {
        const ready = await this.#read(chunk)
        signal.throwIfAborted()
        await parts.context.db.write(async (tx) => {
          if (!isBegun) await noteBegun(tx, id, { principal, requestId, nowMs })
          const added = await this.#store(tx, ready)
          tx.afterCommit(() => {
            isBegun = true
            waiting.push(...added)
          })
        })
      }
    } catch (error) {
      if (isBegun) await this.#cutShort(error)
      throw error
    }
  }

  /** What was stored has its audit entry now, or when the store takes writes again. */
  async #cutShort(error: unknown): Promise<void> {
    const { parts, request, id } = this.#of
    const { kind, id: who, name } = request.principal
    const reason = isServiceError(error)
      ? error.code
      : request.signal.aborted
        ? 'the client left'
        : 'internal'
    const open = { id, principal: JSON.stringify({ kind, id: who, name }), request_id: request.id }
    await auditCutShort(parts.context, open, reason).catch((cause: unknown) =>
      parts.context.log.warn({ err: cause, batch: id }, 'an import that was cut short is audited later'),
    )
  }

  async #push(hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) {
      this.#of.parts.context.enqueue(SIM_RESOURCE, hash)
      await this.#of.pause()
    }
  }

  #conclude(tx: MutationTx): Reply {
    const totals = this.#of.results.totals()
    tx.audit({ detail: { ...totals } })
    tx.event({ type: 'sim.import', subject: this.#of.id, data: { ...totals } })
    return { body: this.#report() }
  }

  #report(): object {
    const { results, request, id } = this.#of
    const totals = results.totals()
    const isNothing = totals.imported === 0 || request.query.dry_run === true
    const { columns } = this.#of.body
    return { ...totals, batch_id: isNothing ? null : id, columns, results: results.list() }
  }
}

/** Octets of a body with subscribers. */
export const BODY_LIMIT: number = 16 * 1024 * 1024

/** Keys of 3GPP TS 35.208 test set 1, which open no network. */
const IMPORT_EXAMPLE = {
  sims: [
    {
      imsi: '999990000000001',
      ki: '465b5ce8b199b49faa5f0a2ee238a6bc',
      opc: 'cd63cb71954a9f4e48a5994e37a02baf',
      label: 'harbour',
    },
  ],
}

/** `POST /v1/sims/import` */
export function importRoute(parts: SimsParts): Route {
  // What a small import is to take in its own transaction; a large one takes before its first.
  const costs = new WeakMap<object, number>()
  return route<unknown, ImportQuery, Uint8Array | undefined>({
    method: 'POST',
    path: '/v1/sims/import',
    role: 'sim:issuer',
    example: IMPORT_EXAMPLE,
    summary: 'Import SIMs of cards that exist',
    description:
      'CSV with a header row (columns in any order and case; comma, semicolon or tab; UTF-8 or UTF-16; as spreadsheets, card ' +
      'vendors, pySim, Magma and srsEPC write it), or JSON ({"sims": […]}, a list, an object a line; as Ella Core, ' +
      'Open5GS by mongoexport and free5GC have it). At most 50,000 rows; one bad row never stops the others unless atomic ' +
      'is asked for. A CSV in which a quote is not closed is refused as a whole. A SIM that is there gets the label of its row when ' +
      'that is another one. What a row does not say stays as the HSS has it, where it has the subscriber already: number, AMBR, ' +
      'APNs with their rules; such a SIM has no end. A dry run says what would be overwritten there. The limit ' +
      'sim_import_rows counts rows, except those of a dry run.',
    schema: { query: IMPORT_QUERY, body: IMPORT_BODY, response: IMPORT_REPORT },
    consumes: ['text/csv'],
    bodyLimit: BODY_LIMIT,
    rawBody: true,
    errors: ['validation_failed', 'body_too_large', 'unsupported_media_type', 'rate_limited'],
    audit: 'sim.import',
    rateLimit: { name: ROWS_LIMIT, cost: (body: Uint8Array | undefined) => costs.get(body ?? costs) ?? 0 },
    handle: async (request) => {
      const { body = new Uint8Array() } = request
      try {
        return await runImport(parts, request, (rows) => costs.set(body, rows))
      } finally {
        freeOctets(body)
      }
    },
  })
}
