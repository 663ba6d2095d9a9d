import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { startService } from '../harness/service.ts'
import { bareInserts, templatesOf } from './bare-inserts.ts'
import { type Finding, load, median } from './measure.ts'
import { realDiskFolder } from './real-disk.ts'

const ROUNDS = 3
const SECONDS = 3
const LEAST_PER_SECOND = 800
const LEAST_SHARE = 0.3

/** One kind of mutation: what is posted where, and which tables it writes one row of. */
interface Kind {
  readonly name: string
  readonly path: string
  readonly body: object
  readonly tables: readonly string[]
  /** The least share of the bare binding; only the rate is held to something when absent. */
  readonly leastShare?: number
  readonly clients: readonly number[]
}

const TOKENS: Kind = {
  name: 'durable mutation with audit',
  path: '/v1/tokens',
  body: { name: 'bench', roles: ['viewer'] },
  tables: ['access_token', 'kernel_audit', 'kernel_outbox'],
  leastShare: LEAST_SHARE,
  clients: [8, 32],
}
const SIMS: Kind = {
  name: 'issue one SIM, with vault, files and audit',
  path: '/v1/sims',
  body: {},
  tables: ['sims_sim', 'sims_batch', 'kernel_audit', 'kernel_outbox'],
  clients: [8],
}

/**
 * Durable audited mutations over HTTP (POST /v1/tokens), beside the bare binding doing the same inserts with the same
 * number of them in each commit.
 */
export function benchMutation(): Promise<readonly Finding[]> {
  return benchKind(TOKENS)
}

/** Issuing one SIM per request, beside the bare binding inserting the same rows. */
export function benchIssue(): Promise<readonly Finding[]> {
  return benchKind(SIMS)
}

async function benchKind(kind: Kind): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const clients of kind.clients) {
    const ours: number[] = []
    const bare: number[] = []
    const folder = realDiskFolder()
    for (let round = 0; round < ROUNDS; round++) {
      const one = await measured(kind, clients, mkdtempSync(join(folder, 'data-')))
      ours.push(one.ours)
      bare.push(one.bare)
    }
    rmSync(folder, { recursive: true })
    const value = median(ours)
    const ceiling = median(bare)
    const { leastShare } = kind
    findings.push({
      name: `${kind.name}, ${clients} clients`,
      value,
      unit: '/s',
      beside: { what: `bare binding, same inserts, ${clients} per commit`, value: ceiling },
      target: `${leastShare === undefined ? '' : `≥ ${leastShare * 100} % of bare and `}≥ ${LEAST_PER_SECOND}/s`,
      isMet: value >= (leastShare ?? 0) * ceiling && value >= LEAST_PER_SECOND,
    })
  }
  return findings
}

async function measured(
  kind: Kind,
  clients: number,
  dataDir: string,
): Promise<{ readonly ours: number; readonly bare: number }> {
  // As npm start has it: nothing to push to.
  const service = await startService({
    dataDir,
    flags: ['--log-level', 'info'],
    env: { SVC_HSS_DRIVER: 'none' },
  })
  try {
    await service.request('PUT', '/v1/policy', { body: { rate_limits: { sim_issue_per_hour: 100_000 } } })
    const result = await load({
      url: service.url + kind.path,
      connections: clients,
      seconds: SECONDS,
      method: 'POST',
      headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(kind.body),
    })
    if (result.non2xx > 0 || result.errors > 0)
      throw new Error(`${result.non2xx} answers were not 2xx, ${result.errors} failed`)
    const templates = templatesOf(join(service.dataDir, 'svc.db'), kind.tables)
    return { ours: result.perSecond, bare: bareInserts(templates, clients, SECONDS) }
  } finally {
    await service.stop()
  }
}
