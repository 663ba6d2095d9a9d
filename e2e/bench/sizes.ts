import { setTimeout as delay } from 'node:timers/promises'
import type { Service } from '../harness/service.ts'
import { startService } from '../harness/service.ts'
import { cpuMs, type Finding, load, median, quantile } from './measure.ts'
import { type SearchCost, searchFindings } from './searches.ts'
import {
  importSims,
  liftLimits,
  SIZES,
  type SimStores,
  simStores,
  simsCsv,
  WITHOUT_HSS,
} from './store-of-sims.ts'

const IMPORT_ROWS = 5_000
const IMPORT_ROUNDS = 9
/** Imports in turns. */
const IMPORTS = [
  ['bare', []],
  ['carded', ['iccid']],
  ['labelled', ['label']],
] as const
const ICCID_SLACK = 1.2
const LABEL_SLACK = 1.5
const LEAST_ROWS_PER_SECOND = 6_000
const GET_LIMIT_US = 65
const LIST_LIMIT_MS = 1
const READ_SLACK = 1.5
const READ_WINDOWS = 3
const READ_SECONDS = 4
const SEARCH_SECONDS = 1
const CHECK_SLACK = 2
const CHECK_SHARE = 10
const RESTART_LIMIT_MS = 700
const RESTART_ROUNDS = 5
const MEMORY_LIMIT_MIB = 170
/** Memory is looked at so long after the last import. */
const AFTER_MS = 60_000
const SAMPLE_MS = 8_000

/** What depends on how many SIMs there are, at each size, over stores that are made once. */
export async function benchSizes(): Promise<readonly Finding[]> {
  const stores = simStores()
  try {
    const findings: Finding[] = []
    const smallest = new Map<string, number>()
    const searched = new Map<string, SearchCost>()
    for (const sims of SIZES) {
      findings.push(...(await importLines(stores, sims)))
      findings.push(...(await readLines(stores, sims, smallest)))
      findings.push(...(await searchLines(stores, sims, searched)))
      findings.push(await restartLine(stores, sims))
    }
    return findings
  } finally {
    stores.remove()
  }
}

/** Imports with and without ICCIDs, in turns. */
async function importLines(stores: SimStores, sims: number): Promise<readonly Finding[]> {
  const service = await stores.service(sims)
  try {
    await liftLimits(service)
    const times = { bare: [] as number[], carded: [] as number[], labelled: [] as number[] }
    const cpu = { bare: [] as number[], carded: [] as number[], labelled: [] as number[] }
    let first = 100_000_000
    for (let round = 0; round <= IMPORT_ROUNDS; round++)
      for (const [kind, columns] of IMPORTS) {
        const csv = simsCsv(first, IMPORT_ROWS, columns)
        first += IMPORT_ROWS
        const before = cpuMs(service.child.pid ?? 0)
        const ms = await importSims(service, csv, IMPORT_ROWS)
        // The first round finds cold caches and code.
        if (round === 0) continue
        times[kind].push(ms)
        cpu[kind].push(cpuMs(service.child.pid ?? 0) - before)
      }
    const rate = (1_000 * IMPORT_ROWS) / median(times.carded)
    await delay(AFTER_MS)
    const resident = service.residentMiB()
    const ratio = median(cpu.carded) / median(cpu.bare)
    return [
      {
        name: `import of ${IMPORT_ROWS} rows with ICCIDs at ${sims} SIMs`,
        value: rate,
        unit: 'rows/s',
        beside: { what: 'without ICCIDs', value: (1_000 * IMPORT_ROWS) / median(times.bare) },
        target: `≥ ${LEAST_ROWS_PER_SECOND}/s`,
        isMet: rate >= LEAST_ROWS_PER_SECOND,
      },
      {
        name: `CPU of that import at ${sims} SIMs`,
        value: median(cpu.carded),
        unit: 'ms',
        beside: { what: 'without ICCIDs', value: median(cpu.bare) },
        target: `≤ ${ICCID_SLACK * 100} %`,
        isMet: ratio <= ICCID_SLACK,
      },
      {
        name: `CPU of an import with labels of three words at ${sims} SIMs`,
        value: median(cpu.labelled),
        unit: 'ms',
        beside: { what: 'without labels', value: median(cpu.bare) },
        target: `≤ ${LABEL_SLACK * 100} %`,
        isMet: median(cpu.labelled) <= LABEL_SLACK * median(cpu.bare),
      },
      {
        name: `resident memory ${AFTER_MS / 1_000} s after imports at ${sims} SIMs`,
        value: resident,
        unit: 'MiB',
        target: `≤ ${MEMORY_LIMIT_MIB} MiB`,
        isMet: resident <= MEMORY_LIMIT_MIB,
      },
    ]
  } finally {
    await service.stop()
  }
}

/** Reads while the check of the store runs after the start, and once it is over. */
async function readLines(
  stores: SimStores,
  sims: number,
  smallest: Map<string, number>,
): Promise<readonly Finding[]> {
  const service = await stores.service(sims)
  try {
    const page = await service.request('GET', '/v1/sims?limit=1')
    const one = `/v1/sims/${page.body.sims[0].imsi_sha256_12}`
    // Code that has not run yet is slower, with and without a check: what is compared with a quiet service has run as long.
    await read(service, one)
    const during = (await isChecking(service)) ? await read(service, one) : undefined
    if (during === undefined)
      process.stdout.write(`  the check of ${sims} SIMs was over before reads beside it could be measured\n`)
    const check = during === undefined ? undefined : await checkShare(service)
    while (await isChecking(service)) await delay(5_000)
    const get = await read(service, one)
    const list = await read(service, '/v1/sims?limit=100')
    const firstGet = smallest.get('get') ?? get.p99
    const firstList = smallest.get('list') ?? list.p99
    smallest.set('get', firstGet).set('list', firstList)
    return [
      readFinding(
        `CPU of GET /v1/sims/{imsi} at ${sims} SIMs`,
        get.cpuUs,
        'µs',
        GET_LIMIT_US,
        'PyHSS 3,900, etcd 263, free5GC 3,898, Ella 175',
      ),
      readFinding(
        `CPU of a list of 100 at ${sims} SIMs`,
        list.cpuUs / 1_000,
        'ms',
        LIST_LIMIT_MS,
        'PyHSS 14.8, etcd 3.3, Ella 20.7',
      ),
      slackFinding(`p99 of that GET at ${sims} SIMs`, get.p99, firstGet, READ_SLACK, `at ${SIZES[0]} SIMs`),
      slackFinding(
        `p99 of that list at ${sims} SIMs`,
        list.p99,
        firstList,
        READ_SLACK,
        `at ${SIZES[0]} SIMs`,
      ),
      ...(during === undefined || check === undefined
        ? []
        : [
            slackFinding(
              `p99 of that GET beside the check at ${sims} SIMs`,
              during.p99,
              get.p99,
              CHECK_SLACK,
              'quiet',
            ),
            {
              name: `the service's thread during the check at ${sims} SIMs`,
              value: check,
              unit: '% of a core',
              target: `≤ ${CHECK_SHARE} %`,
              isMet: check <= CHECK_SHARE,
            },
          ]),
    ]
  } finally {
    await service.stop()
  }
}

/** Reads of the searches, once the check of the store is over. */
async function searchLines(
  stores: SimStores,
  sims: number,
  smallest: Map<string, SearchCost>,
): Promise<readonly Finding[]> {
  const service = await stores.service(sims)
  try {
    while (await isChecking(service)) await delay(5_000)
    const cost = async (path: string): Promise<number> => (await read(service, path, SEARCH_SECONDS)).cpuUs
    return await searchFindings(service, sims, smallest, cost)
  } finally {
    await service.stop()
  }
}

function readFinding(name: string, value: number, unit: string, limit: number, peers: string): Finding {
  return {
    name,
    value,
    unit,
    target: `≤ ${limit} ${unit} (another machine: ${peers})`,
    isMet: value <= limit,
  }
}

function slackFinding(name: string, value: number, beside: number, slack: number, what: string): Finding {
  return {
    name,
    value,
    unit: 'ms',
    beside: { what, value: beside },
    target: `≤ ${slack * 100} %`,
    isMet: value <= slack * beside,
  }
}

interface ReadResult {
  readonly p99: number
  readonly cpuUs: number
}

/** The middle of some windows: what a processor manages changes by a third from one to the next on machines that others use, too. */
async function read(service: Service, path: string, seconds = READ_SECONDS): Promise<ReadResult> {
  const headers = { authorization: `Bearer ${service.adminToken}` }
  const url = service.url + path
  await load({ url, connections: 16, seconds: 1, headers })
  const windows: ReadResult[] = []
  for (let window = 0; window < READ_WINDOWS; window++) {
    const before = cpuMs(service.child.pid ?? 0)
    const result = await load({ url, connections: 16, seconds, headers })
    if (result.non2xx > 0 || result.errors > 0)
      throw new Error(`${path}: ${result.non2xx} answers were not 2xx`)
    const cpuUs = (1_000 * (cpuMs(service.child.pid ?? 0) - before)) / result.total
    windows.push({ p99: result.p99, cpuUs })
  }
  return { p99: median(windows.map(({ p99 }) => p99)), cpuUs: median(windows.map((one) => one.cpuUs)) }
}

async function isChecking(service: Service): Promise<boolean> {
  const { body } = await service.request('GET', '/metrics')
  return /^svc_kernel_store_check_rows [1-9]/m.test(String(body))
}

/** What the process takes while only the check runs, in percent of a core. */
async function checkShare(service: Service): Promise<number> {
  await delay(1_000)
  const before = cpuMs(service.child.pid ?? 0)
  await delay(SAMPLE_MS)
  return (100 * (cpuMs(service.child.pid ?? 0) - before)) / SAMPLE_MS
}

/** kill -9 and start again over the same data. */
async function restartLine(stores: SimStores, sims: number): Promise<Finding> {
  const dataDir = await stores.folder(sims)
  const times: number[] = []
  for (let round = 0; round <= RESTART_ROUNDS; round++) {
    const service = await startService({ ...WITHOUT_HSS, dataDir })
    if (round > 0) times.push(service.startMs)
    await service.kill()
  }
  const value = median(times)
  return {
    name: `restart after kill -9 at ${sims} SIMs, longest ${Math.round(quantile(times, 1))} ms`,
    value,
    unit: 'ms',
    target: `≤ ${RESTART_LIMIT_MS} ms`,
    isMet: value <= RESTART_LIMIT_MS,
  }
}
