import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rowSum } from '@steeple/contracts'
import Database from 'better-sqlite3'
import { type Service, startService } from '../harness/service.ts'
import { type Finding, quantile } from './measure.ts'

const FEW = 1_000
const MANY = 100_000
const PAGES = 4_000
const PAGE_ROWS = 50
const SLACK = 1.2

/** p99 of a list page in the middle of 100,000 rows, beside that of 1,000 rows, measured in turns. */
export async function benchList(): Promise<readonly Finding[]> {
  const few = await seeded(FEW)
  const many = await seeded(MANY)
  try {
    const latencies = { few: [] as number[], many: [] as number[] }
    const walks = { few: walk(few.service), many: walk(many.service) }
    for (let page = 0; page < PAGES; page++) {
      latencies.few.push(await walks.few())
      latencies.many.push(await walks.many())
    }
    const value = quantile(latencies.many, 0.99)
    const reference = quantile(latencies.few, 0.99)
    return [
      {
        name: `list page p99 at ${MANY} rows`,
        value,
        unit: 'ms',
        beside: { what: `at ${FEW} rows`, value: reference },
        target: `≤ ${SLACK * 100} % of that at ${FEW}`,
        isMet: value <= SLACK * reference,
      },
    ]
  } finally {
    await few.stop()
    await many.stop()
  }
}

async function seeded(rows: number): Promise<{ readonly service: Service; stop(): Promise<void> }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
  const first = await startService({ dataDir })
  await first.request('POST', '/v1/tokens', { body: { name: 'seed', roles: ['viewer'] } })
  await first.stop()
  seed(join(dataDir, 'svc.db'), rows)
  const service = await startService({ dataDir })
  return {
    service,
    stop: async () => {
      await service.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Copies of the one token under other keys, one millisecond apart. */
function seed(path: string, rows: number): void {
  const db = new Database(path)
  const template = db.prepare('select * from access_token limit 1').get() as Record<string, unknown>
  const columns = Object.keys(template).filter((column) => column !== 'row_sum')
  const insert = db.prepare(
    `insert into access_token (${columns.join(', ')}, row_sum) values (${columns.map(() => '?').join(', ')}, ?)`,
  )
  db.transaction(() => {
    for (let n = 1; n < rows; n++) {
      const row: Record<string, unknown> = {
        ...template,
        id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        token_sha256: String(n).padStart(64, '0'),
        created_at_ms: Number(template.created_at_ms) - n,
      }
      insert.run(...columns.map((column) => row[column]), rowSum(columns, row))
    }
  })()
  db.close()
}

/** Asks for page after page, from the start again after the last; gives each page's latency in ms. */
function walk(service: Service): () => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let cursor: string | null = null
  return async () => {
    const startedAt = performance.now()
    const query = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const text = await get(agent, `${service.url}/v1/tokens?limit=${PAGE_ROWS}${query}`, service.adminToken)
    const elapsed = performance.now() - startedAt
    cursor = (JSON.parse(text) as { readonly next_cursor: string | null }).next_cursor
    return elapsed
  }
}

function get(agent: Agent, url: string, token: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))))
    })
    sent.on('error', reject)
    sent.end()
  })
}
