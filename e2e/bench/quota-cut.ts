import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installStandInNetwork, STAND_IN_ENV } from '../harness/plugins/stand-in-network.ts'
import { type Service, startService } from '../harness/service.ts'
import { type Finding, quantile } from './measure.ts'
import { realDiskFolder } from './real-disk.ts'
import { liftLimits } from './store-of-sims.ts'

const SIMS = 5_000
const PER_REQUEST = 1_000
const ALLOWANCE = 1_000
const LIMIT_S = 60
const MOST_TIMES = 2
const IDLE_MS = 20_000
/** Between two requests of the one who measures. */
const PAUSE_MS = 5

/** How long it takes until 5,000 phones that go over their quota in one interval are gone, and what others feel of it. */
export async function benchQuotaCut(): Promise<readonly Finding[]> {
  const dataDir = mkdtempSync(join(realDiskFolder(), 'steeple-bench-'))
  const usageFile = join(dataDir, 'usage.txt')
  installStandInNetwork(dataDir, usageFile)
  const service = await startService({ dataDir, env: { ...STAND_IN_ENV, SVC_FAIRUSE_ENABLED: 'true' } })
  try {
    await liftLimits(service)
    const hashes = await issueAll(service)
    await attached(service, SIMS)
    const idle = await latencies(service, hashes, async () => await sleep(IDLE_MS))
    let tookMs = Number.NaN
    const busy = await latencies(service, hashes, async () => {
      const startedAt = performance.now()
      appendFileSync(usageFile, hashes.map((hash) => `${hash} ${ALLOWANCE}\n`).join(''))
      await attached(service, 0)
      tookMs = performance.now() - startedAt
    })
    const [idleP99, busyP99] = [quantile(idle, 0.99), quantile(busy, 0.99)]
    return [
      {
        name: `${SIMS} SIMs over quota in one interval of 1 s: all phones gone`,
        value: tookMs / 1_000,
        unit: 's',
        target: `≤ ${LIMIT_S} s`,
        isMet: tookMs <= LIMIT_S * 1_000,
      },
      {
        name: 'p99 of GET /v1/sims/{imsi} meanwhile',
        value: busyP99,
        unit: 'ms',
        beside: {
          what: `idle; p50 ${quantile(busy, 0.5).toFixed(1)} ms, idle ${quantile(idle, 0.5).toFixed(1)} ms`,
          value: idleP99,
        },
        target: `≤ ${MOST_TIMES} × idle`,
        isMet: busyP99 <= MOST_TIMES * idleP99,
      },
    ]
  } finally {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function issueAll(service: Service): Promise<readonly string[]> {
  const hashes: string[] = []
  while (hashes.length < SIMS) {
    const body = { count: PER_REQUEST, quota_bytes: ALLOWANCE }
    const answer = await service.request('POST', '/v1/sims', { body })
    if (answer.status !== 201)
      throw new Error(`issuing answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    for (const sim of answer.body.sims) hashes.push(String(sim.imsi_sha256_12))
  }
  return hashes
}

/** Until so many phones are on the network, as the metrics say. */
async function attached(service: Service, phones: number): Promise<void> {
  for (;;) {
    const text = String((await service.request('GET', '/metrics')).body)
    const now = /^svc_sims_phones_attached (\S+)$/m.exec(text)?.[1]
    if (Number(now) === phones) return
    await sleep(250)
  }
}

/** Ms of one request after another while something goes on. */
async function latencies(
  service: Service,
  hashes: readonly string[],
  during: () => Promise<void>,
): Promise<readonly number[]> {
  const found: number[] = []
  let isOver = false
  const probe = (async () => {
    for (let i = 0; !isOver; i++) {
      const startedAt = performance.now()
      await service.request('GET', `/v1/sims/${hashes[i % hashes.length]}`)
      found.push(performance.now() - startedAt)
      await sleep(PAUSE_MS)
    }
  })()
  await during()
  isOver = true
  await probe
  return found
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
