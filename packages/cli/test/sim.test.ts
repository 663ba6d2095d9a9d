import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, type FakeService, fakeService, type Seen } from './fake-service.ts'
import { PROCESS_LIMIT, type Run, svc } from './svc.ts'

const sim = suite('cli/sim')

const HASH = '5c1b940e9d29'
const RECORD = {
  imsi_sha256_12: HASH,
  state: 'issued',
  profile: 'default',
  label: 'demo',
  expires_at: '2030-01-01T00:00:00.000Z',
  provisioning: { status: 'pending' },
}

async function against(
  answer: (request: Seen) => Answer,
  args: readonly string[],
  input = '',
): Promise<Run & { readonly seen: FakeService['seen'] }> {
  const service = await fakeService(answer)
  try {
    const run = await svc(args, { env: { SVC_URL: service.url, SVC_TOKEN: 'svc_test' }, input })
    return { ...run, seen: service.seen }
  } finally {
    await service.close()
  }
}

sim(
  'issues what was asked for and says how the cards are had',
  async () => {
    const body = { issued: 1, output_dir: '/d', batch_id: 'b-1', first: {}, sims: [RECORD] }
    const args = [
      'sim',
      'issue',
      '--count',
      '2',
      '--apn',
      'internet,ims',
      '--expires-in',
      '30d',
      '--label',
      'demo',
    ]
    const { code, out, err, seen } = await against(() => ({ status: 201, body }), args)
    assert.is(code, 0)
    assert.equal(seen[0]?.body, { count: 2, apns: ['internet', 'ims'], expires_in: '30d', label: 'demo' })
    assert.match(out, /^SIM +STATE +PROFILE +LABEL +EXPIRES +PROVISIONING$/m)
    assert.match(out, /^5c1b940e9d29 +issued +default +demo .* pending$/m)
    assert.match(err, /svc sim export b-1/)
  },
  PROCESS_LIMIT,
)

sim(
  'lists by filter and moves one SIM, waiting when asked to',
  async () => {
    const list = await against(
      () => ({ body: { sims: [RECORD], next_cursor: null } }),
      ['sim', 'list', '--state', 'issued', '--batch', 'b-1', '--hash', '5c', '--limit', '10'],
    )
    assert.equal(list.seen[0]?.query, { state: 'issued', batch_id: 'b-1', q: '5c', limit: '10' })
    const moved = await against(
      () => ({ body: { ...RECORD, state: 'suspended', detached: 'yes' } }),
      ['sim', 'suspend', HASH, '--wait', '5s', '--reason', 'lost'],
    )
    const [request] = moved.seen
    assert.equal(
      [request?.method, request?.path, request?.query, request?.body],
      ['POST', `/v1/sims/${HASH}/suspend`, { wait: '5s' }, { reason: 'lost' }],
    )
    assert.match(moved.out, /^detached +yes$/m)
  },
  PROCESS_LIMIT,
)

sim(
  'imports a file as it is and ends with 1 when a row has an error',
  async () => {
    await using dir = await tempDir()
    const csv = 'imsi,ki,opc\nx,y,z\n'
    await writeFile(join(dir.path, 'cards.csv'), csv)
    const results = [{ row: 1, imsi_sha256_12: null, status: 'error', error: 'imsi must be 6 to 15 digits' }]
    const answer = (): Answer => ({ body: { imported: 0, skipped: 0, failed: 1, batch_id: null, results } })
    const file = await against(answer, ['sim', 'import', join(dir.path, 'cards.csv'), '--dry-run'])
    assert.equal([file.code, file.seen[0]?.body, file.seen[0]?.query], [1, csv, { dry_run: 'true' }])
    assert.is(file.seen[0]?.headers['content-type'], 'text/csv')
    assert.match(file.out, /^1 +- +imsi must be 6 to 15 digits$/m)
    const piped = await against(answer, ['sim', 'import', '-', '--atomic'], csv)
    assert.equal([piped.seen[0]?.body, piped.seen[0]?.query], [csv, { atomic: 'true' }])
    const missing = await svc(['sim', 'import', join(dir.path, 'no.csv')])
    assert.is(missing.code, 1)
    assert.match(missing.err, /^file_unreadable: /)
  },
  PROCESS_LIMIT,
)

sim.run()
