import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Service, startService } from '../harness/service.ts'
import { realDiskFolder } from './real-disk.ts'

/** Sizes at which what depends on the number of SIMs is measured; `BENCH_SIMS=1000,100000` measures others. */
export const SIZES: readonly number[] = (process.env.BENCH_SIMS ?? '1000,100000,1000000')
  .split(',')
  .map(Number)

const FILE_ROWS = 50_000
const TOKEN = 'benchmark-admin-token'
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
  const { status, body } = await service.request('POST', '/v1/sims/import', {
    body: csv,
    headers: { 'content-type': 'text/csv' },
  })
  if (status !== 200 || body.imported !== rows)
    throw new Error(
      `${status} ${JSON.stringify(body).slice(0, 600)}: ${body.imported} of ${rows} rows were imported`,
    )
  return performance.now() - startedAt
}

/** Stores of each size, made once for all parts of a run. */
export interface SimStores {
  /** A service over a copy of the store with that many SIMs; `stop` removes it. */
  service(sims: number): Promise<Service>
  /** The data directory of that many SIMs; others leave it as it is. */
  folder(sims: number): Promise<string>
  remove(): void
}

/** The environment and token of a service without an HSS, as `npm start` has it. */
export const WITHOUT_HSS: { readonly env: Readonly<Record<string, string>>; readonly adminToken: string } = {
  env: { SVC_HSS_DRIVER: 'none', SVC_SIMS_MAX_SIMS: '10000000' },
  adminToken: TOKEN,
}

/** No store yet; each is made when it is first asked for. */
export function simStores(): SimStores {
  const parent = realDiskFolder()
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
      const service = await startService({ ...WITHOUT_HSS, dataDir: copy })
      const stop = async (): Promise<number | null> => {
        const code = await service.stop()
        rmSync(copy, { recursive: true })
        return code
      }
      return { ...service, stop }
    },
    remove: () => rmSync(parent, { recursive: true, force: true }),
  }
}

async function fill(dataDir: string, sims: number): Promise<string> {
  const service = await startService({ ...WITHOUT_HSS, dataDir })
  await liftLimits(service)
  for (let first = 0; first < sims; first += FILE_ROWS) {
    const rows = Math.min(FILE_ROWS, sims - first)
    await importSims(service, simsCsv(first, rows, ['iccid', 'label', 'msisdn']), rows)
    process.stderr.write(`  ${first + rows} of ${sims} SIMs stored\n`)
  }
  await service.stop()
  return dataDir
}

/** Lets a benchmark do more in an hour than the default policy. */
export async function liftLimits(service: Service): Promise<void> {
  const rate_limits = { sim_issue_per_hour: 1_000_000, sim_import_rows_per_hour: 100_000_000 }
  const { status } = await service.request('PUT', '/v1/policy', { body: { rate_limits } })
  if (status !== 200) throw new Error(`the policy was not changed: ${status}`)
}
