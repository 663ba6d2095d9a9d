import { setTimeout as delay } from 'node:timers/promises'
import { done, type Service } from '../harness/service.ts'
import {
  type Bench,
  bench,
  cpuOf,
  type Finding,
  least,
  liftLimits,
  loadOn,
  median,
  most,
  mostTimes,
  quantile,
  shareOf,
  started,
  times,
} from './bench.ts'
import { importSims, named, SIZES, type SimStores, simStores, simsCsv, WITHOUT_HSS } from './store-of-sims.ts'

const IMPORT_ROWS = 5_000
/** Imports in turns. */
const IMPORTS = [
  ['bare', []],
  ['carded', ['iccid']],
  ['labelled', ['label']],
] as const
/** Memory is looked at so long after the last import. */
const AFTER_MS = 60_000
/** What a value may be of that at the smallest size. */
const SLACK = 1.5

/** What the smallest size took, by the name of a line: what a larger one is held to. */
type Smallest = Map<string, Cost>
interface Cost {
  readonly p99: number
  readonly cpuUs: number
  /** SIMs that it answered. */
  readonly answers: number
}

/** What depends on how many SIMs there are, at each size. */
export const SIZES_BENCH: Bench = bench({
  name: 'sizes',
  about: 'imports, reads, searches and restarts at each number of SIMs, over stores that are made once',
  setup: simStores,
  act: async (stores) => {
    const smallest: Smallest = new Map()
    const lines = await times(SIZES.length, async (at) => {
      const sims = SIZES[at] ?? 0
      return [
        ...(await importLines(stores, sims)),
        ...(await readLines(stores, sims, smallest)),
        ...(await searchLines(stores, sims, smallest)),
        await restartLine(stores, sims),
      ]
    })
    return lines.flat()
  },
})

/** Imports with and without ICCIDs, in turns. */
async function importLines(stores: SimStores, sims: number): Promise<readonly Finding[]> {
  await using service = await stores.service(sims)
  await liftLimits(service)
  const took = { bare: [] as number[], carded: [] as number[], labelled: [] as number[] }
  const cpu = { bare: [] as number[], carded: [] as number[], labelled: [] as number[] }
  let first = 100_000_000
  await times(10, async (round) => {
    for (const [kind, columns] of IMPORTS) {
      const csv = simsCsv(first, IMPORT_ROWS, columns)
      first += IMPORT_ROWS
      const before = cpuOf(service)
      const ms = await importSims(service, csv, IMPORT_ROWS)
      // The first round finds cold caches and code.
      if (round === 0) continue
      took[kind].push(ms)
      cpu[kind].push(cpuOf(service) - before)
    }
  })
  const rate = (kind: keyof typeof took): number => (1_000 * IMPORT_ROWS) / median(took[kind])
  await delay(AFTER_MS)
  const labels = `CPU of an import with labels of three words at ${sims} SIMs`
  const without = ['without ICCIDs', median(cpu.bare)] as const
  return [
    least(`import of ${IMPORT_ROWS} rows with ICCIDs at ${sims} SIMs`, rate('carded'), 'rows/s', 6_000, {
      beside: ['without ICCIDs', rate('bare')],
      target: '≥ 6000/s',
    }),
    mostTimes(`CPU of that import at ${sims} SIMs`, median(cpu.carded), 'ms', 1.2, without),
    mostTimes(labels, median(cpu.labelled), 'ms', 1.5, ['without labels', median(cpu.bare)]),
    most(
      `resident memory ${AFTER_MS / 1_000} s after imports at ${sims} SIMs`,
      service.residentMiB(),
      'MiB',
      170,
    ),
  ]
}

/** Reads while the check of the store runs after the start, and once it is over. */
async function readLines(stores: SimStores, sims: number, smallest: Smallest): Promise<readonly Finding[]> {
  await using service = await stores.service(sims)
  const one = `/v1/sims/${(await done(service, 'GET', '/v1/sims?limit=1')).sims[0].imsi_sha256_12}`
  // Code that has not run yet is slower, with and without a check: what is compared with a quiet service has run as long.
  await read(service, one)
  const during = (await isChecking(service)) ? await read(service, one) : undefined
  if (during === undefined)
    process.stdout.write(`  the check of ${sims} SIMs was over before reads beside it could be measured\n`)
  const check = during === undefined ? undefined : await shareOf(service, 8_000, 1_000)
  while (await isChecking(service)) await delay(5_000)
  const get = await read(service, one)
  const list = await read(service, '/v1/sims?limit=100')
  const slack = (name: string, { p99 }: Cost): Finding => {
    const first = smallest.get(name)?.p99 ?? p99
    if (!smallest.has(name)) smallest.set(name, { p99, cpuUs: 0, answers: 0 })
    return mostTimes(`p99 of that ${name} at ${sims} SIMs`, p99, 'ms', SLACK, [`at ${SIZES[0]} SIMs`, first])
  }
  return [
    most(`CPU of GET /v1/sims/{imsi} at ${sims} SIMs`, get.cpuUs, 'µs', 65, {
      target: '≤ 65 µs (another machine: PyHSS 3,900, etcd 263, free5GC 3,898, Ella 175)',
    }),
    most(`CPU of a list of 100 at ${sims} SIMs`, list.cpuUs / 1_000, 'ms', 1, {
      target: '≤ 1 ms (another machine: PyHSS 14.8, etcd 3.3, Ella 20.7)',
    }),
    slack('GET', get),
    slack('list', list),
    ...(during === undefined || check === undefined
      ? []
      : [
          mostTimes(`p99 of that GET beside the check at ${sims} SIMs`, during.p99, 'ms', 2, [
            'quiet',
            get.p99,
          ]),
          most(`the service's thread during the check at ${sims} SIMs`, check, '% of a core', 10, {
            target: '≤ 10 %',
          }),
        ]),
  ]
}

const PAGE = 'SIMs, a page'
const EMPTY_PAGE = 'search: what none has'

/** Each list, filter and search of SIMs and of what grows with them, by what finds the SIM of number `n`. */
function searches(n: number, hash: string, batch: string): Readonly<Record<string, string>> {
  const { iccid, msisdn, label } = named(n)
  const sims = (query: string): string => `/v1/sims?limit=20&${query}`
  return {
    [PAGE]: '/v1/sims?limit=20',
    'SIMs by state': sims('state=issued'),
    'SIMs by state that none has': sims('state=suspended'),
    'SIMs by profile': sims('profile=default'),
    'SIMs by label': sims(`label=${encodeURIComponent(label)}`),
    'SIMs of a batch': sims(`batch_id=${batch}`),
    'SIMs by the last four digits of the card': sims(`iccid_last4=${iccid.slice(-4)}`),
    'SIMs by number': sims(`msisdn=${msisdn}`),
    'search: begin of the hash': sims(`q=${hash.slice(0, 6)}`),
    'search: word of many labels': sims('q=meter'),
    'search: word of few labels': sims(`q=place${Math.floor(n / 100)}`),
    'search: word of one label, a number': sims(`q=${n}`),
    'search: last 3 digits of the card': sims(`q=${iccid.slice(-3)}`),
    'search: last 4 digits of the card': sims(`q=${iccid.slice(-4)}`),
    'search: last 6 digits of the card': sims(`q=${iccid.slice(-6)}`),
    'search: last 8 digits of the number': sims(`q=${msisdn.slice(-8)}`),
    'search: two words': sims(`q=meter%20${n}`),
    [EMPTY_PAGE]: sims('q=nowhere'),
    'usage of a SIM': `/v1/sims/${hash}/usage`,
    sessions: '/v1/sessions?limit=20',
    'ended sessions': '/v1/sessions?state=ended&limit=20',
    'audit, a page': '/v1/audit?limit=20',
    'audit by action': '/v1/audit?limit=20&action=sim.import',
    alerts: '/v1/alerts?limit=20',
    nodes: '/v1/nodes',
    health: '/v1/health',
    status: '/v1/status',
  }
}

/**
 * Every list, filter and search costs at a million SIMs what it costs at a thousand, or half more. The same four digits are
 * the end of more cards in a larger store: what one more answer costs is counted apart.
 */
async function searchLines(stores: SimStores, sims: number, smallest: Smallest): Promise<readonly Finding[]> {
  await using service = await stores.service(sims)
  while (await isChecking(service)) await delay(5_000)
  const n = Math.floor(sims / 3)
  const { msisdn } = named(n)
  const [{ imsi_sha256_12: hash, batch_id: batch }] = (
    await done(service, 'GET', `/v1/sims?limit=1&msisdn=${msisdn}`)
  ).sims
  const costs = new Map<string, Cost>()
  for (const [what, path] of Object.entries(searches(n, hash, batch))) {
    const answers = (await service.request('GET', path)).body.sims?.length ?? 0
    costs.set(what, { ...(await read(service, path, 1)), answers })
  }
  for (const [what, cost] of costs) smallest.set(what, smallest.get(what) ?? cost)
  const page = costs.get(PAGE)
  const answerUs = ((page?.cpuUs ?? 0) - (costs.get(EMPTY_PAGE)?.cpuUs ?? 0)) / (page?.answers ?? 1)
  return [...costs].map(([what, { cpuUs, answers }]) => {
    const before = smallest.get(what) ?? { cpuUs, answers }
    const value = before.cpuUs + Math.max(0, answers - before.answers) * answerUs
    const beside = [`at ${SIZES[0]} SIMs, for as many answers`, value] as const
    return mostTimes(`CPU of ${what} at ${sims} SIMs`, cpuUs, 'µs', SLACK, beside)
  })
}

/** The middle of some windows: what a processor manages changes by a third from one to the next on machines that others use, too. */
async function read(service: Service, path: string, seconds = 4): Promise<Cost> {
  const wish = { url: service.url + path, token: service.adminToken, connections: 16 }
  await loadOn(service, { ...wish, seconds: 1 })
  const windows = await times(3, () => loadOn(service, { ...wish, seconds }))
  const cpuUs = 1_000 * median(windows.map(({ cpuMs }) => cpuMs))
  return { p99: median(windows.map(({ p99 }) => p99)), cpuUs, answers: 0 }
}

async function isChecking(service: Service): Promise<boolean> {
  const { body } = await service.request('GET', '/metrics')
  return /^svc_kernel_store_check_rows [1-9]/m.test(String(body))
}

/** kill -9 and start again over the same data. */
async function restartLine(stores: SimStores, sims: number): Promise<Finding> {
  const dataDir = await stores.folder(sims)
  const took = await times(6, async () => {
    const service = await started({ ...WITHOUT_HSS, dataDir })
    await service.kill()
    return service.startMs
  })
  const counted = took.slice(1)
  const longest = Math.round(quantile(counted, 1))
  return most(`restart after kill -9 at ${sims} SIMs, longest ${longest} ms`, median(counted), 'ms', 700)
}
