import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type MutationTx,
  msFromDuration,
  type Reply,
  type Request,
  validationFailed,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { policyApns } from '../issue/issue.ts'
import { SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { firstHss } from '../provision/first-hss.ts'
import { wipeCard } from '../secrets/card.ts'
import { openImsi, sealSim } from '../secrets/sealing.ts'
import { noteMove } from '../states/change.ts'
import { SIMS, type SimRow } from '../store/sim-row.ts'
import { isTaken } from '../store/sim-store.ts'
import type { Cells } from './columns.ts'
import { heldIccids } from './held-iccids.ts'
import { type ImportDraft, type ImportFacts, importRow } from './import-row.ts'
import type { ImportBody, ImportQuery } from './import-schema.ts'
import { checkRows, rowsOf } from './read-rows.ts'

/** One line of the report. */
interface Result {
  readonly row: number
  readonly imsi_sha256_12: string | null
  readonly status: 'imported' | 'exists' | 'error' | 'not_imported'
  readonly error: string | null
}
/** A row on its way in, with the place of its result. */
interface Ready {
  readonly at: number
  readonly row: SimRow
}
type ImportRequest = Request<unknown, ImportQuery, ImportBody | undefined>

/** Rows of one transaction: short enough not to hold up other writers and requests. */
const CHUNK = 250
/** Keys that are given to the reconciler without giving others a turn. */
const ENQUEUED_AT_ONCE = 1_000

/** Imports SIMs and reports on each row. Throws `validation_failed` for a body that has no rows to read. */
export async function runImport(parts: SimsParts, request: ImportRequest): Promise<Reply> {
  if (request.body === undefined) throw validationFailed('the import has no body')
  const { body, query, signal } = request
  const iccids = await checkRows(body)
  return await parts.imports(async () => {
    signal.throwIfAborted()
    const held = await heldIccids(parts.context.db, parts.vault, iccids)
    const run = new ImportRun(parts, request, held)
    if (query.dry_run === true) return { body: await run.dry(body) }
    return query.atomic === true ? await run.atomic(body) : await run.plain(body)
  })
}

class ImportRun {
  readonly #parts: SimsParts
  readonly #request: ImportRequest
  readonly #facts: ImportFacts
  readonly #id: string
  readonly #results: Result[] = []
  /** Row numbers by hash, to find what is in the file twice. */
  readonly #seen = new Map<string, number>()
  /** Row numbers by ICCID. */
  readonly #seenIccids = new Map<string, number>()
  /** Hashes of stored SIMs by ICCID. */
  readonly #heldIccids: ReadonlyMap<string, string>
  readonly #totalBefore: number
  #planned = 0

  constructor(parts: SimsParts, request: ImportRequest, heldIccids: ReadonlyMap<string, string>) {
    const { context } = parts
    const nowMs = context.clock.nowMs()
    this.#parts = parts
    this.#request = request
    this.#heldIccids = heldIccids
    this.#totalBefore = parts.counters.total
    this.#facts = {
      plmn: context.settings.plmn,
      policyApns: policyApns(parts),
      nowMs,
      expiresAtMs: nowMs + (msFromDuration(context.config.default_expiry) ?? 0),
    }
    const day = new Date(nowMs).toISOString().slice(0, 10).replaceAll('-', '')
    this.#id = `i-${day}-${[...randomBytes(12)].map((octet) => (octet % 32).toString(32)).join('')}`
  }

  async dry(body: ImportBody): Promise<object> {
    for await (const _ of this.#chunks(body));
    return this.#report()
  }

  /** Chunk by chunk, each durable for itself. Pushing begins when all are: both at once would take both longer. */
  async plain(body: ImportBody): Promise<Reply> {
    const { context } = this.#parts
    const waiting: string[] = []
    try {
      for await (const chunk of this.#chunks(body)) {
        if (chunk.length === 0) continue
        this.#request.signal.throwIfAborted()
        await context.mutate(this.#request.principal, 'sim.import', this.#id, async (tx) => {
          const added = await this.#insert(tx, chunk)
          tx.afterCommit(() => void waiting.push(...added))
          tx.audit({ detail: { rows: chunk.length, ids: chunk.map(({ row }) => row.hash) } })
        })
      }
    } finally {
      for (const [i, hash] of waiting.entries()) {
        context.enqueue(SIM_RESOURCE, hash)
        if (i % ENQUEUED_AT_ONCE === 0) await nextTurn()
      }
    }
    return await this.#request.mutate(this.#id, async (tx) => {
      tx.audit({ detail: this.#totals() })
      tx.event({ type: 'sim.import', subject: this.#id, data: this.#totals() })
      return { body: this.#report() }
    })
  }

  /** One transaction for all, or nothing. */
  async atomic(body: ImportBody): Promise<Reply> {
    const ready: Ready[] = []
    for await (const chunk of this.#chunks(body)) ready.push(...chunk)
    const isRefused = this.#results.some(({ status }) => status === 'error')
    if (isRefused) this.#withhold()
    return await this.#request.mutate(this.#id, async (tx) => {
      for (let at = 0; at < ready.length && !isRefused; at += CHUNK) {
        const added = await this.#insert(tx, ready.slice(at, at + CHUNK))
        for (const hash of added) tx.dirty(SIM_RESOURCE, hash)
        // Requests that only read go on meanwhile.
        await nextTurn()
      }
      const ids = isRefused ? [] : ready.map(({ row }) => row.hash)
      tx.audit({ detail: { ...this.#totals(), ids } })
      tx.event({ type: 'sim.import', subject: this.#id, data: this.#totals() })
      return { body: this.#report() }
    })
  }

  async *#chunks(body: ImportBody): AsyncGenerator<readonly Ready[]> {
    let chunk: Ready[] = []
    for (const cells of rowsOf(body)) {
      const ready = await this.#read(cells)
      if (ready !== undefined) chunk.push(ready)
      if (this.#results.length % CHUNK !== 0) continue
      yield chunk
      chunk = []
      await nextTurn()
    }
    yield chunk
  }

  /** Reads one row and reports on it; what comes back is to be inserted. */
  async #read(cells: Cells): Promise<Ready | undefined> {
    const read = importRow(cells, this.#facts)
    if (!('draft' in read)) {
      this.#add(read.hash, 'error', read.error)
      return undefined
    }
    const { draft, hash } = read
    try {
      const problem = this.#problemOf(hash)
      if (problem !== undefined) {
        this.#add(hash, 'error', problem)
        return undefined
      }
      this.#seen.set(hash, this.#results.length + 1)
      const known = await SIMS.find(this.#parts.context.db, { hash })
      if (known !== undefined) {
        const isSame = openImsi(this.#parts.vault, known) === draft.imsi
        this.#add(hash, isSame ? 'exists' : 'error', isSame ? null : 'another IMSI has the same identifier')
        return undefined
      }
      const clash = this.#iccidProblem(draft.iccid)
      if (clash !== undefined) {
        this.#add(hash, 'error', clash)
        return undefined
      }
      this.#planned += 1
      this.#add(hash, 'imported', null)
      return { at: this.#results.length - 1, row: this.#rowOf(draft) }
    } finally {
      wipeCard(draft.card)
    }
  }

  #problemOf(hash: string): string | undefined {
    const { context } = this.#parts
    const before = this.#seen.get(hash)
    if (before !== undefined) return `has the same IMSI as row ${before}`
    const { max_sims } = context.config
    return this.#totalBefore + this.#planned >= max_sims
      ? `this node keeps at most ${max_sims} SIMs (sims.max_sims)`
      : undefined
  }

  /** Notes the ICCID of a row that is imported. */
  #iccidProblem(iccid: string | undefined): string | undefined {
    if (iccid === undefined) return undefined
    const before = this.#seenIccids.get(iccid)
    if (before !== undefined) return `has the same ICCID as row ${before}`
    const holder = this.#heldIccids.get(iccid)
    if (holder !== undefined) return `iccid is the ICCID of the SIM ${holder}; revoke that one first`
    this.#seenIccids.set(iccid, this.#results.length + 1)
    return undefined
  }

  #rowOf(draft: ImportDraft): SimRow {
    const { context, vault } = this.#parts
    const { config } = context
    return {
      hash: draft.hash,
      plmn: formatPlmn(this.#facts.plmn),
      profile: draft.profile,
      state: 'issued',
      previous_state: null,
      suspend_reason: null,
      apns: JSON.stringify(draft.apns),
      downlink_bps: config.default_downlink_bps,
      uplink_bps: config.default_uplink_bps,
      quota_bytes: null,
      usage_bytes: 0,
      msisdn: draft.msisdn,
      label: draft.label,
      batch_id: this.#id,
      iccid_last4: draft.iccid?.slice(-4) ?? null,
      issued_at_ms: this.#facts.nowMs,
      expires_at_ms: draft.expiresAtMs,
      attached_at_ms: null,
      swapped_at_ms: null,
      replaces: null,
      generation: 1,
      ...sealSim(vault, draft.hash, draft.imsi, draft.card),
      ...firstHss(this.#parts, this.#facts.nowMs),
    }
  }

  /** Gives those that are to be pushed. */
  async #insert(tx: MutationTx, chunk: readonly Ready[]): Promise<readonly string[]> {
    const added: string[] = []
    for (const { at, row } of chunk) {
      if (await isTaken(tx, row.hash)) {
        // Somebody else was faster by a moment.
        this.#results[at] = { row: at + 1, imsi_sha256_12: row.hash, status: 'exists', error: null }
        continue
      }
      await SIMS.insert(tx, row)
      noteMove(this.#parts, tx, undefined, row)
      if (row.hss_status !== 'synced') added.push(row.hash)
    }
    return added
  }

  #add(hash: string | null, status: Result['status'], error: string | null): void {
    this.#results.push({ row: this.#results.length + 1, imsi_sha256_12: hash, status, error })
  }

  #withhold(): void {
    this.#results.forEach((result, at) => {
      if (result.status === 'imported') this.#results[at] = { ...result, status: 'not_imported' }
    })
  }

  #totals(): { readonly imported: number; readonly skipped: number; readonly failed: number } {
    const count = (...status: readonly Result['status'][]): number =>
      this.#results.filter((result) => status.includes(result.status)).length
    return { imported: count('imported'), skipped: count('exists', 'not_imported'), failed: count('error') }
  }

  #report(): object {
    const totals = this.#totals()
    const isNothing = totals.imported === 0 || this.#request.query.dry_run === true
    return { ...totals, batch_id: isNothing ? null : this.#id, results: this.#results }
  }
}
