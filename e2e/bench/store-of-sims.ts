import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Service, StartOptions } from '../harness/service.ts'
import { diskFolder, ended, liftLimits, type Stage, started } from './bench.ts'

/** Sizes at which what depends on the number of SIMs is measured; `BENCH_SIMS=1000,100000` measures others. */
export const SIZES: readonly number[] = (process.env.BENCH_SIMS ?? '1000,100000,1000000')
  .split(',')
  .map(Number)
const FILE_ROWS = 50_000
const KEYS = '465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf'

/** Check digit of ISO/IEC 7812-1 annex B. */
function checkDigit(digits: string): number {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const doubled = Number(digits.at(-1 - i)) * (i % 2 === 0 ? 2 : 1)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return (10 - (sum % 10)) % 10
}

/** What a CSV of SIMs has beside their keys. */
type Column = 'iccid' | 'label' | 'msisdn'

/** The number, label and card of the SIM of that number. */
export function named(n: number): Readonly<Record<Column, string>> {
  const body = `898821${String(n).padStart(12, '0')}`
  return {
    iccid: body + checkDigit(body),
    label: `meter ${n} place${Math.floor(n / 100)}`,
    msisdn: `49${String(n).padStart(10, '0')}`,
  }
}

/** CSV of SIMs numbered from `first`, with these columns. */
export function simsCsv(first: number, rows: number, columns: readonly Column[]): string {
  const lines = [['imsi', 'ki', 'opc', ...columns].join(',')]
  for (let n = first; n < first + rows; n++) {
    const names = named(n)
    const more = columns.map((column) => names[column])
    lines.push([`99999${String(n).padStart(10, '0')},${KEYS}`, ...more].join(','))
  }
  return lines.join('\n')
}

/** Imports rows and gives how long the answer took, ms. */
export async function importSims(service: Service, csv: string, rows: number): Promise<number> {
  const startedAt = performance.now()
  const headers = { 'content-type': 'text/csv' }
  const { status, body } = await service.request('POST', '/v1/sims/import', { body: csv, headers })
  if (status !== 200 || body.imported !== rows)
    throw new Error(
      `${status} ${JSON.stringify(body).slice(0, 600)}: ${body.imported} of ${rows} rows were imported`,
    )
  return performance.now() - startedAt
}

/** Stores of each size, made once for all parts of a run. */
export interface SimStores {
  /** A service over a copy of the store with that many SIMs. */
  service(sims: number): Promise<Service & AsyncDisposable>
  /** The data directory of that many SIMs; others leave it as it is. */
  folder(sims: number): Promise<string>
}

/** A service without an HSS, as `npm start` has it, with room for all these SIMs. */
export const WITHOUT_HSS: StartOptions & { readonly env: Readonly<Record<string, string>> } = {
  env: { SVC_HSS_DRIVER: 'none', SVC_SIMS_MAX_SIMS: '10000000' },
  adminToken: 'benchmark-admin-token',
}

/** No store yet; each is made when it is first asked for. */
export function simStores(stage: Stage): SimStores {
  const parent = diskFolder(stage)
  const made = new Map<number, Promise<string>>()
  const folder = (sims: number): Promise<string> => {
    const known = made.get(sims) ?? fill(mkdtempSync(join(parent, 'sims-')), sims)
    made.set(sims, known)
    return known
  }
  return {
    folder,
    service: async (sims) => {
      const copy = mkdtempSync(join(parent, 'copy-'))
      // With the modes of the keys, which the service insists on.
      execFileSync('cp', ['-a', `${await folder(sims)}/.`, copy])
      const service = await started({ ...WITHOUT_HSS, dataDir: copy })
      const stop = async (): Promise<number | null> => {
        const code = await service.stop()
        rmSync(copy, { recursive: true })
        return code
      }
      return ended({ ...service, stop })
    },
  }
}

async function fill(dataDir: string, sims: number): Promise<string> {
  await using service = await started({ ...WITHOUT_HSS, dataDir })
  await liftLimits(service)
  for (let first = 0; first < sims; first += FILE_ROWS) {
    const rows = Math.min(FILE_ROWS, sims - first)
    await importSims(service, simsCsv(first, rows, ['iccid', 'label', 'msisdn']), rows)
    process.stderr.write(`  ${first + rows} of ${sims} SIMs stored\n`)
  }
  return dataDir
}
