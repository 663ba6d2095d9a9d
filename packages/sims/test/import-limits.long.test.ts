import { type Plugin, type PolicyReader, policyRef, systemPrincipal } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  driverPlugin,
  fakeContext,
  fakeHss,
  type InlinePlugin,
  loadTestbed,
  memoryDb,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { planImport } from '../src/import/import-plan.ts'
import { noteBegun, sweepImports } from '../src/import/open-imports.ts'
import { csvRows, jsonRowsOf, type Rows } from '../src/import/read-rows.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { plugin } from '../src/plugin.ts'
import type { SimBody } from './support/answers.ts'

/** A policy with these limits per hour. */
function limitsPlugin(rate_limits: Readonly<Record<string, number>>): InlinePlugin {
  // What the code under test reads of a policy.
  const reader = {
    bundle: () => ({ apns: ['internet'], rate_limits, sim_swap_cooldown_hours: 0 }),
  } as unknown as PolicyReader
  const plugin: Plugin = { setup: async () => ({ services: new Map([[policyRef.id, reader]]) }) }
  return {
    name: '@example/limits',
    version: '1.0.0',
    plugin,
    manifest: {
      id: 'fake-limits',
      kind: 'feature',
      contracts: '*',
      config_path: 'fake_limits',
      provides: [policyRef.id],
      handover: 'overlap',
    },
  }
}

const limits = suite('sims/import-limits')
let bed: Testbed

limits.before(async () => {
  const { startTestbed } = await loadTestbed()
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      driverPlugin('hss', fakeHss()),
      limitsPlugin({ sim_import_rows_per_hour: 1_000 }),
    ],
  })
})
limits.after(() => bed.stop())

const KEYS = '465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf'
const imsi = (number: number): string => `99999${String(number).padStart(10, '0')}`
const hashOf = (number: number): string => imsiHash(parseImsi(imsi(number))!)
const csv = (text: string, headers = {}): ReturnType<Testbed['request']> =>
  bed.request('POST', '/v1/sims/import', { body: text, headers: { 'content-type': 'text/csv', ...headers } })

/** The most processor time that reading a body takes this thread in one piece, and in all, ms, and what came of it. */
async function longestPiece(
  rowsOf: (pause: () => undefined) => Promise<Rows> | Rows,
): Promise<{ readonly ms: number; readonly whole: number; readonly ended: string }> {
  let since = process.threadCpuUsage()
  let most = 0
  let whole = 0
  const pause = (): undefined => {
    const { user, system } = process.threadCpuUsage(since)
    most = Math.max(most, (user + system) / 1_000)
    whole += (user + system) / 1_000
    since = process.threadCpuUsage()
  }
  let ended = 'read'
  try {
    since = process.threadCpuUsage()
    const plan = await planImport(await rowsOf(pause), 1_000_000, async () => pause())
    ended = `${plan.count} rows`
  } catch (error) {
    ended = (error as { code: string }).code
  }
  pause()
  return { ms: most, whole, ended }
}

const MIB_16 = 16 * 1_048_576
const HEADER = 'imsi,ki,opc\n'
/** What 16 MiB may cost, ms. */
const MOST_MS = 10_000
/** As many as one row may have. */
const BLANKS = ' '.repeat(16_000)

limits('reads the worst bodies in small pieces', async () => {
  const keys = `{"sims":[{${Array.from({ length: 900_000 }, (_, i) => `"k${i}":1`).join(',')}}]}`
  const csvs: readonly (readonly [string, string])[] = [
    [','.repeat(MIB_16), 'validation_failed'],
    ['\n'.repeat(MIB_16), 'validation_failed'],
    [HEADER + ','.repeat(MIB_16 - 20), '1 rows'],
    [HEADER + '\n'.repeat(MIB_16 - 20), '0 rows'],
    [HEADER + ',\n'.repeat(MIB_16 / 2 - 20), 'validation_failed'],
    [HEADER + '"'.repeat(MIB_16 - 20), '1 rows'],
    ['#\n'.repeat(MIB_16 / 2), 'validation_failed'],
    [`imsi,ki,opc,label\n${`,,,"a${BLANKS}b"\n`.repeat(40)}`, '40 rows'],
    [`"sep= "\nimsi ki opc\n${BLANKS}`, 'validation_failed'],
  ]
  const jsons: readonly (readonly [string, string])[] = [
    [keys, '1 rows'],
    [`{"sims":[${' '.repeat(MIB_16 - 20)}]}`, '0 rows'],
    [`{"sims":["${'\\"'.repeat(MIB_16 / 2 - 20)}"]}`, '1 rows'],
    [`{"sims":[${'['.repeat(MIB_16 - 20)}`, 'malformed_json'],
    [`{${'"":1,'.repeat(MIB_16 / 5 - 20)}"x":1}`, '1 rows'],
    [`{"sims":[]${',"":1'.repeat(MIB_16 / 5 - 20)}}`, '0 rows'],
    [`[${Array(40).fill(`{"label":"a${BLANKS}b"}`)}]`, '40 rows'],
  ]
  const found: string[] = []
  for (const [text, ended] of csvs) {
    const piece = await longestPiece((pause) => csvRows(Buffer.from(text), pause))
    if (piece.ended !== ended || piece.ms > 200 || piece.whole > MOST_MS)
      found.push(`${text.slice(0, 14)}…${text.slice(-14)} ${JSON.stringify(piece)}`)
  }
  for (const [text, ended] of jsons) {
    const piece = await longestPiece(() => jsonRowsOf(Buffer.from(text)))
    if (piece.ended !== ended || piece.ms > 200 || piece.whole > MOST_MS)
      found.push(`${text.slice(0, 14)}…${text.slice(-14)} ${JSON.stringify(piece)}`)
  }
  assert.equal(found, [])
})

limits('has one audit entry with counts and the request, however many rows', async () => {
  const rows = Array.from({ length: 700 }, (_, i) => `${imsi(1_000 + i)},${KEYS}`)
  const answer = await csv(`${HEADER}${rows.join('\n')}`, { 'x-request-id': 'import-of-700' })
  assert.is(bodyOf<{ imported: number }>(answer).imported, 700)
  const entries = (await bed.audit()).filter(({ action }) => action === 'sim.import')
  assert.is(entries.length, 1)
  const [entry] = entries
  assert.equal(entry?.detail, { imported: 700, updated: 0, skipped: 0, failed: 0 })
  assert.is(entry?.requestId, answer.headers.get('x-request-id'))
  const events = (await bed.events()).filter(({ type }) => type === 'sim.import')
  assert.equal(
    events.map(({ data }) => data),
    [{ imported: 700, updated: 0, skipped: 0, failed: 0 }],
  )
})

limits('gives a SIM that is there the label of its row', async () => {
  await csv(`imsi,ki,opc,label\n${imsi(1)},${KEYS},old\n${imsi(2)},${KEYS},kept\n`)
  const again = `imsi,ki,opc,label\n${imsi(1)},${KEYS},Ada\n${imsi(2)},${KEYS},\n`
  const dry = await bed.request('POST', '/v1/sims/import?dry_run=true', {
    body: again,
    headers: { 'content-type': 'text/csv' },
  })
  const answer = bodyOf<{ updated: number; skipped: number; results: { status: string; line: number }[] }>(
    await csv(again),
  )
  assert.equal(bodyOf<{ results: unknown }>(dry).results, answer.results)
  assert.equal([answer.updated, answer.skipped], [1, 1])
  assert.equal(
    answer.results.map(({ status, line }) => [status, line]),
    [
      ['updated', 2],
      ['exists', 3],
    ],
  )
  const labels = await Promise.all(
    [1, 2].map(async (number) =>
      bodyOf<SimBody & { label: string }>(await bed.request('GET', `/v1/sims/${hashOf(number)}`)),
    ),
  )
  assert.equal(
    labels.map(({ label }) => label),
    ['Ada', 'kept'],
  )
})

limits('refuses rows beyond the limit of the policy before it stores one', async () => {
  const token = bed.credential({ kind: 'token', id: 'issuer', roles: ['viewer', 'sim:issuer'] })
  const send = (first: number, count: number, query = ''): ReturnType<Testbed['request']> => {
    const rows = Array.from({ length: count }, (_, i) => `${imsi(first + i)},${KEYS}`)
    const headers = { 'content-type': 'text/csv' }
    return bed.request('POST', `/v1/sims/import${query}`, {
      token,
      headers,
      body: `${HEADER}${rows.join('\n')}`,
    })
  }
  const taken = await send(20_000, 300)
  assert.is(taken.headers.get('ratelimit-remaining'), '700')
  assert.is((await send(21_000, 100)).headers.get('ratelimit-remaining'), '600')
  for (const query of ['', '?atomic=true'])
    assert.is(codeOf(await send(22_000, 601, query), 429), 'rate_limited')
  assert.is((await send(22_000, 1_001, '?dry_run=true')).status, 200, 'a dry run takes nothing')
  assert.is((await bed.request('GET', `/v1/sims/${hashOf(22_000)}`)).status, 404)
  assert.is((await send(22_000, 600)).status, 200)
  assert.is(codeOf(await send(23_000, 1), 429), 'rate_limited')
})

limits('audits an import that a kill has cut short', async () => {
  const db = memoryDb(MIGRATIONS)
  const { context, mutations } = fakeContext({ db, config: undefined })
  const principal = systemPrincipal('someone')
  const nowMs = context.clock.nowMs()
  await db.write((tx) => noteBegun(tx, 'i-cut', { principal, requestId: 'r-1', nowMs: nowMs - 7_200_000 }))
  await db.write((tx) => noteBegun(tx, 'i-running', { principal, requestId: 'r-2', nowMs: nowMs + 1 }))
  await sweepImports(context, true)
  await sweepImports(context, true)
  assert.equal(
    mutations.map(({ target, principal, detail }) => [target, principal.id, detail.request_id]),
    [['i-cut', 'someone', 'r-1']],
  )
  db.close()
})

limits.run()
