import type { Imsi, Pause, Reader, Tx } from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import type { SimsParts } from '../parts.ts'
import { firstHss } from '../provision/hss-breaker.ts'
import { AS_IS, type AsIs } from '../provision/push.ts'
import { openImsi, sealSim, wipeCard } from '../secrets/card.ts'
import type { IccidMac, IndexedIccid } from '../secrets/iccid-index.ts'
import { apnsOf, FRESH, SIMS, type SimRow } from '../store/sim-store.ts'
import { addWords, replaceWords } from '../store/word-store.ts'
import type { PlannedRow } from './import-plan.ts'
import { type ImportDraft, type ImportFacts, importRow } from './import-row.ts'
import type { Overwritten } from './overwritten.ts'
import type { Rows } from './read-rows.ts'

type RowStatus = 'imported' | 'updated' | 'exists' | 'error' | 'not_imported'

interface RowResult {
  readonly row: number
  readonly line: number | null
  readonly imsi_sha256_12: string | null
  readonly status: RowStatus
  readonly error: string | null
  /** In a dry run, of a subscriber that the HSS has already. */
  readonly overwrites?: readonly Overwritten[]
  /** Of a SIM that is there: fields that the row has otherwise and that stay. */
  readonly kept?: readonly AsIs[]
}

/** How many rows came to what. */
interface Totals {
  readonly imported: number
  readonly updated: number
  readonly skipped: number
  readonly failed: number
}

/** The report of an import while it grows. Rows may come in any order. */
export interface Results {
  set(row: PlannedRow, verdict: Verdict): void
  /** What importing a row would change in the HSS. */
  overwrites(row: PlannedRow, changes: readonly Overwritten[]): void
  /** Takes back what an atomic import was about to do. */
  withhold(): void
  readonly hasErrors: boolean
  totals(): Totals
  list(): readonly RowResult[]
}

/** A report without rows yet; of so many. Rows come by hash: a list that did not know its length would become a hash table. */
export function createResults(rows: number): Results {
  const results = new Array<RowResult>(rows)
  const count = (...wanted: readonly RowStatus[]): number =>
    results.reduce((sum, { status }) => sum + (wanted.includes(status) ? 1 : 0), 0)
  return {
    set: ({ number, place, hash }, { status, error, kept }) => {
      results[number - 1] = {
        row: number,
        line: place.line,
        imsi_sha256_12: hash ?? null,
        status,
        error: error ?? null,
        ...(kept === undefined ? {} : { kept }),
      }
    },
    overwrites: ({ number }, changes) => {
      const result = results[number - 1]
      if (result !== undefined) results[number - 1] = { ...result, overwrites: changes }
    },
    withhold: () => {
      results.forEach((result, at) => {
        if (result.status === 'imported' || result.status === 'updated')
          results[at] = { ...result, status: 'not_imported' }
      })
    },
    get hasErrors() {
      return results.some(({ status }) => status === 'error')
    },
    totals: () => ({
      imported: count('imported'),
      updated: count('updated'),
      skipped: count('exists', 'not_imported'),
      failed: count('error'),
    }),
    list: () => results,
  }
}

/** A row that was read without a fault, with what would be stored of it. */
export interface Ready {
  readonly planned: PlannedRow
  readonly imsi: Imsi
  readonly iccid: IndexedIccid | undefined
  /** Undefined when the row does not say. */
  readonly label: string | undefined
  readonly row: SimRow
}

/** What the rows of one import share. */
interface ImportPart {
  readonly parts: SimsParts
  readonly id: string
  readonly facts: ImportFacts
  readonly rows: Rows
  /** See `ImportPlan`. */
  readonly mayHaveTwins: boolean
  readonly results: Results
  readonly mac: IccidMac
  /** Up to which hash SIMs were indexed by their ICCID when the import began. */
  readonly indexedTo: string
}

interface Verdict extends Pick<RowResult, 'status' | 'kept'> {
  readonly error?: string
}

const IMPORTED: Verdict = { status: 'imported' }

/** Reads, compares and stores the rows of one import, and reports on each. */
export class ImportRows {
  readonly #of: ImportPart
  readonly #totalBefore: number
  /** Rows by hash, to find what is in the file twice. */
  readonly #seen = new Map<string, PlannedRow>()
  /** Rows by ICCID. */
  readonly #seenIccids = new Map<string, PlannedRow>()
  /** Hashes of SIMs by their ICCIDs, of the rows that are about to be compared. */
  #holders: ReadonlyMap<string, string> = new Map()
  #planned = 0

  constructor(of: ImportPart) {
    this.#of = of
    this.#totalBefore = of.parts.counters.total
  }

  /** Reads one row; one with a fault is reported. */
  read(planned: PlannedRow): Ready | undefined {
    const { rows, facts, results } = this.#of
    const read = importRow(rows.cells(planned.place) ?? new Map(), facts, planned.hash)
    if (!('draft' in read)) {
      results.set(planned, { status: 'error', error: read.error })
      return undefined
    }
    const { draft, hash } = read
    try {
      const before = this.#seen.get(hash)
      if (before !== undefined) {
        results.set(planned, { status: 'error', error: `has the same IMSI as ${nameOf(before)}` })
        return undefined
      }
      if (this.#of.mayHaveTwins) this.#seen.set(hash, planned)
      const { iccid: text, imsi, label } = draft
      const iccid = text === undefined ? undefined : { iccid: text, mac: this.#of.mac(text) }
      const { parts, id } = this.#of
      const row = rowOf(parts, { ...facts, id }, draft, iccid?.mac)
      return { planned, imsi, iccid, label: label ?? undefined, row }
    } finally {
      wipeCard(draft.card)
    }
  }

  /** Finds who has the ICCIDs of some rows, before these are looked at or stored with the same reader. */
  async findHolders(reader: Reader, ready: readonly Ready[], pause: Pause): Promise<void> {
    const { parts, indexedTo } = this.#of
    const cards = ready.flatMap(({ iccid }) => iccid ?? [])
    this.#holders = await parts.iccids.holders(reader, cards, { indexedTo, pause })
  }

  /** Compares a row with the store and reports what would be done; undefined when there is nothing to do. */
  async look(reader: Reader, ready: Ready): Promise<'imported' | 'updated' | undefined> {
    const verdict = (await this.#known(reader, ready)) ?? this.#clash(ready) ?? this.#fault() ?? IMPORTED
    this.#report(ready, verdict)
    const { status } = verdict
    return status === 'imported' || status === 'updated' ? status : undefined
  }

  /** Stores a row, or the label of one that is there, and reports on it. Gives what is new, whose move is for the caller to note. */
  async store(tx: Tx, ready: Ready): Promise<SimRow | undefined> {
    const { row } = ready
    const fault = this.#clash(ready) ?? this.#fault()
    const isNew = fault === undefined && (await SIMS.insertNew(tx, row))
    const verdict = isNew ? IMPORTED : ((await this.#known(tx, ready)) ?? fault ?? IMPORTED)
    if (verdict.status === 'updated') {
      const known = await SIMS.find(tx, { hash: row.hash })
      if (known !== undefined) {
        const relabelled = { ...known, label: row.label }
        await SIMS.put(tx, relabelled)
        await replaceWords(tx, relabelled)
      }
    }
    this.#report(ready, verdict)
    if (!isNew) return undefined
    await addWords(tx, row)
    return row
  }

  /** Begins to count anew: what was looked at is stored now. */
  forget(): void {
    this.#seenIccids.clear()
    this.#planned = 0
  }

  #report({ planned, iccid }: Ready, verdict: Verdict): void {
    this.#of.results.set(planned, verdict)
    if (verdict.status !== 'imported') return
    this.#planned += 1
    if (iccid !== undefined && this.#of.mayHaveTwins) this.#seenIccids.set(iccid.iccid, planned)
  }

  /** No room is left for one more. */
  #fault(): Verdict | undefined {
    const { max_sims } = this.#of.parts.context.config
    return this.#totalBefore + this.#planned < max_sims
      ? undefined
      : { status: 'error', error: `this node keeps at most ${max_sims} SIMs (sims.max_sims)` }
  }

  /** Another SIM has the ICCID, in the file or in the store. */
  #clash({ iccid, row }: Ready): Verdict | undefined {
    if (iccid === undefined) return undefined
    const before = this.#seenIccids.get(iccid.iccid)
    if (before !== undefined) return { status: 'error', error: `has the same ICCID as ${nameOf(before)}` }
    const holder = this.#holders.get(iccid.iccid)
    return holder === undefined || holder === row.hash
      ? undefined
      : { status: 'error', error: `iccid is the ICCID of the SIM ${holder}; revoke that one first` }
  }

  /** The SIM is stored already; then nothing but its label is taken from the row. */
  async #known(reader: Reader, { row, imsi, label }: Ready): Promise<Verdict | undefined> {
    const known = await SIMS.find(reader, { hash: row.hash })
    if (known === undefined) return undefined
    if (openImsi(this.#of.parts.vault, known) !== imsi)
      return { status: 'error', error: 'another IMSI has the same identifier' }
    const kept = keptOf(known, row)
    return {
      status: label === undefined || label === known.label ? 'exists' : 'updated',
      ...(kept.length === 0 ? {} : { kept }),
    }
  }
}

/** What a row says of a SIM otherwise than it is. */
function keptOf(known: SimRow, row: SimRow): readonly AsIs[] {
  const open = (row.as_is ?? '').split(' ')
  const isSame: Readonly<Record<AsIs, boolean>> = {
    apns: apnsOf(known).toSorted().join() === apnsOf(row).toSorted().join(),
    ambr: known.downlink_bps === row.downlink_bps && known.uplink_bps === row.uplink_bps,
    msisdn: known.msisdn === row.msisdn,
    expires_at: known.expires_at_ms === row.expires_at_ms,
  }
  return AS_IS.filter((what) => !open.includes(what) && !isSame[what])
}

/** What a draft becomes that an import, or a taking over, stores. */
export function rowOf(
  parts: SimsParts,
  { plmn, nowMs, id }: Pick<ImportFacts, 'plmn' | 'nowMs'> & { readonly id: string },
  draft: ImportDraft,
  mac: Uint8Array | undefined,
): SimRow {
  const { config } = parts.context
  return {
    ...FRESH,
    hash: draft.hash,
    plmn: formatPlmn(plmn),
    profile: draft.profile,
    apns: JSON.stringify(draft.apns),
    downlink_bps: draft.ambrBps?.down ?? config.default_downlink_bps,
    uplink_bps: draft.ambrBps?.up ?? config.default_uplink_bps,
    as_is: draft.asIs.length === 0 ? null : draft.asIs.join(' '),
    msisdn: draft.msisdn,
    label: draft.label,
    batch_id: id,
    iccid_last4: draft.iccid?.slice(-4) ?? null,
    issued_at_ms: nowMs,
    expires_at_ms: draft.expiresAtMs,
    iccid_mac: mac ?? null,
    ...sealSim(parts.vault, draft.hash, draft.imsi, draft.card),
    ...firstHss(parts, nowMs),
  }
}

/** What a person finds a row by: its line where the body has lines. */
function nameOf({ number, place }: PlannedRow): string {
  return place.line === null ? `row ${number}` : `line ${place.line}`
}
