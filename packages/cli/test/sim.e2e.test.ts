import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { type Answer, against } from './fake-service.ts'
import { svc } from './svc.ts'

const sim = suite('cli/sim')

const HASH = '5c1b940e9d29'
const RECORD = {
  imsi_sha256_12: HASH,
  state: 'issued',
  profile: 'default',
  label: 'demo',
  attached: false,
  iccid_last4: '4711',
  expires_at: '2030-01-01T00:00:00.000Z',
  provisioning: { status: 'pending' },
}

sim('issues what was asked for and says how the cards are had', async () => {
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
  assert.match(out, /^SIM +STATE +ATTACHED +LABEL +ICCID +PROFILE +EXPIRES +PROVISIONING$/m)
  assert.match(out, /^5c1b940e9d29 +issued +no +demo +…4711 +default +2030-01-01 +pending$/m)
  assert.match(err, /svc sim export b-1/)
  assert.not.match(err, 'The core does not have them')
  const nobody = { ...RECORD, provisioning: { ...RECORD.provisioning, status: 'synced', driver: 'none' } }
  const unwritten = await against(() => ({ status: 201, body: { ...body, sims: [nobody] } }), args)
  assert.match(unwritten.err, 'The core does not have them')
})

sim('lists by filter and moves one SIM, waiting when asked to', async () => {
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
  const outcomes = [
    [{ status: 'synced', last_error: null }, /^done: the core has it$/m],
    [{ status: 'pending', last_error: null }, /^asked: the core has not confirmed it yet/m],
    [
      { status: 'pending', last_error: 'ECONNREFUSED' },
      /^asked: the core cannot be reached; it will be done/m,
    ],
    [{ status: 'failed', last_error: 'no such IMSI' }, /^asked, but the core refuses it/m],
  ] as const
  for (const [provisioning, said] of outcomes) {
    const resumed = await against(
      () => ({ body: { ...RECORD, provisioning, detached: 'not_attached' } }),
      ['sim', 'resume', '--wait', HASH],
    )
    assert.equal([resumed.code, resumed.seen[0]?.query], [0, { wait: '10s' }])
    assert.match(resumed.err, said)
    const asJson = await against(
      () => ({ body: { ...RECORD, provisioning } }),
      ['sim', 'resume', '--json', HASH],
    )
    assert.equal([asJson.code, asJson.err], [0, ''])
  }
})

sim('imports a file as it is and ends with 1 when a row has an error', async () => {
  await using dir = await tempDir()
  const csv = 'imsi,ki,opc\nx,y,z\n'
  await writeFile(join(dir.path, 'cards.csv'), csv)
  const error = 'imsi must be 6 to 15 digits'
  const results = [{ row: 1, line: 2, imsi_sha256_12: null, status: 'error', error }]
  const answer = (): Answer => ({ body: { imported: 0, skipped: 0, failed: 1, batch_id: null, results } })
  const file = await against(answer, ['sim', 'import', join(dir.path, 'cards.csv'), '--dry-run'])
  assert.equal([file.code, file.seen[0]?.body, file.seen[0]?.query], [1, csv, { dry_run: 'true' }])
  assert.is(file.seen[0]?.headers['content-type'], 'text/csv')
  assert.match(file.out, /^cards\.csv:2 +- +imsi must be 6 to 15 digits$/m)
  assert.match(file.out, /^would import +0$/m)
  assert.match(file.out, /this was a dry run/)
  const overwrites = [{ field: 'msisdn', before: '4917', after: null }]
  const there = { ...results[0], status: 'imported', error: null, overwrites }
  const told = await against(
    () => ({ body: { imported: 1, failed: 0, results: [there] } }),
    ['sim', 'import', join(dir.path, 'cards.csv'), '--dry-run'],
  )
  assert.match(told.out, /HSS has already would change:\n.*\ncards\.csv:2 +msisdn +4917 +-$/m)
  const piped = await against(answer, ['sim', 'import', '-', '--atomic'], { input: csv })
  assert.equal([piped.seen[0]?.body, piped.seen[0]?.query], [csv, { atomic: 'true' }])
  const missing = await svc(['sim', 'import', join(dir.path, 'no.csv')])
  assert.is(missing.code, 1)
  assert.match(missing.err, /^file_unreadable: /)
})

sim(
  'names the line of a row, the columns that are not read and the first rows, and the label for all',
  async () => {
    const csv = '\uFEFF\r\nimsi,ki,opc\r\n\r\na,b,c\r\n   \r\nx,y,z\r\n'
    const results = [
      { row: 1, line: 4, imsi_sha256_12: HASH, status: 'imported', error: null },
      { row: 2, line: 6, imsi_sha256_12: null, status: 'error', error: 'line 6: has 9 cells' },
    ]
    const columns = [
      { name: 'imsi', read_as: 'imsi' },
      { name: 'kic1', read_as: null },
    ]
    const first = { row: 1, imsi_sha256_12: HASH, iccid_last4: '0123', apns: ['internet'], label: 'shore' }
    const answer = (): Answer => ({
      body: { imported: 1, skipped: 0, failed: 1, batch_id: 'i-1', columns, first_rows: [first], results },
    })
    const run = await against(answer, ['sim', 'import', '-', '--label', 'harbour team'], { input: csv })
    assert.equal(run.seen[0]?.query, { label: 'harbour team' })
    assert.match(run.out, /^standard input:6 +- +has 9 cells$/m)
    assert.match(run.out, /^Columns that are not read: kic1$/m)
    assert.match(run.out, new RegExp(`^1 +${HASH} +…0123 .* internet +shore$`, 'm'))
    const empty = await against(answer, ['sim', 'import', '-'], { input: ' \n' })
    assert.equal([empty.code, empty.seen.length], [1, 0])
    assert.match(empty.err, /^file_empty: there is nothing in standard input/)
    assert.match(run.out, /^imported +1$/m)
  },
)

sim('finds by words in an address and by whole identifiers in a body alone', async () => {
  const words = await against(
    () => ({ body: { sims: [RECORD], next_cursor: null } }),
    ['sim', 'find', 'demo'],
  )
  assert.equal([words.code, words.seen[0]?.path, words.seen[0]?.query.q], [0, '/v1/sims', 'demo'])
  const none = await against(() => ({ body: { sims: [], next_cursor: null } }), ['sim', 'find', 'demo'])
  assert.equal([none.code, none.out, none.err], [1, '', 'No SIM matches.\n'])
  const several = await against(
    () => ({ body: { sims: [RECORD], next_cursor: null } }),
    ['sim', 'find', 'anna', 'harbour'],
  )
  assert.is(several.seen[0]?.query.q, 'anna harbour')
  for (const [text, bodies] of [
    ['999990000000001', [{ imsi: '999990000000001' }, { msisdn: '999990000000001' }]],
    ['8988211000000000003', [{ iccid: '8988211000000000003' }]],
  ] as const) {
    const body = { sims: [RECORD] }
    const found = await against(() => ({ body }), ['sim', 'find', '-', '--json'], { input: `${text}\n` })
    assert.is(found.code, 0, found.err)
    assert.equal(
      found.seen.map((request) => [request.method, request.path, request.query, request.body]),
      bodies.map((sent) => ['POST', '/v1/sims/find', {}, sent]),
    )
    assert.not.match(found.out + found.err, text)
  }
})

sim('labels, and says why a phone is not on, with what to do', async () => {
  const label = await against(() => ({ body: RECORD }), ['sim', 'label', HASH, 'Anna'])
  assert.equal([label.seen[0]?.path, label.seen[0]?.body], [`/v1/sims/${HASH}/label`, { label: 'Anna' }])
  const none = await against(() => ({ body: RECORD }), ['sim', 'label', HASH, '--none'])
  assert.equal(none.seen[0]?.body, { label: null })
  assert.is((await against(() => ({ body: RECORD }), ['sim', 'label', HASH])).code, 2)
  const checks = [
    { name: 'state', status: 'ok', detail: 'issued', advice: null },
    { name: 'attempts', status: 'failed', detail: 'refused: wrong keys', advice: 'write the card anew' },
  ]
  const body = { imsi_sha256_12: HASH, verdict: 'refused: wrong keys', checks }
  const why = await against(() => ({ body }), ['sim', 'why', HASH])
  assert.equal([why.code, why.seen[0]?.path], [1, `/v1/sims/${HASH}/diagnosis`])
  assert.match(why.out, /^attempts +failed +refused: wrong keys$/m)
  assert.match(why.out, /^- write the card anew$/m)
  const byName = await against(
    ({ path }) => ({ body: path === '/v1/sims' ? { sims: [RECORD], next_cursor: null } : body }),
    ['sim', 'why', 'demo'],
  )
  assert.is(byName.seen[1]?.path, `/v1/sims/${HASH}/diagnosis`)
  const nobody = await against(() => ({ body: { sims: [] } }), ['sim', 'why', '-'], {
    input: '999990000000009\n',
  })
  assert.equal([nobody.code, nobody.out], [1, ''])
  assert.match(nobody.err, /^sim_not_found: .*issued or imported/)
})

sim('takes a hash alone where a SIM is named in an address', async () => {
  for (const words of [['show'], ['suspend'], ['resume'], ['revoke'], ['label', '--none']]) {
    const run = await against(() => ({ body: RECORD }), ['sim', ...words, '999990000000001'])
    assert.equal([run.code, run.out, run.seen.length], [2, '', 0], run.err)
    assert.match(run.err, /12 of 0-9 a-f; svc sim find/)
    assert.not.match(run.err, '999990000000001')
  }
})

sim('lists whose phone is attached', async () => {
  const list = await against(
    () => ({ body: { sims: [{ ...RECORD, attached: true }], next_cursor: null } }),
    ['sim', 'list', '--attached'],
  )
  assert.is(list.seen[0]?.query.attached, 'true')
  assert.match(list.out, /^5c1b940e9d29 +issued +yes /m)
  const unknown = await against(
    () => ({ body: { sims: [{ ...RECORD, attached: null }], next_cursor: null } }),
    ['sim', 'list', '--not-attached'],
  )
  assert.is(unknown.seen[0]?.query.attached, 'false')
  assert.match(unknown.out, /^5c1b940e9d29 +issued +unknown /m)
  assert.is((await svc(['sim', 'list', '--state', 'lost'])).code, 2)
})

sim('shows, sets, tops up and takes away the quota of one SIM', async () => {
  const record = {
    imsi_sha256_12: HASH,
    total_bytes: 1_500_000,
    quota_bytes: 5e9,
    remaining_bytes: 3e9,
    action: 'suspend',
  }
  const quota = (...args: readonly string[]): ReturnType<typeof against> =>
    against(() => ({ body: record }), ['sim', 'quota', HASH, ...args])
  const shown = await quota()
  assert.equal([shown.seen[0]?.method, shown.seen[0]?.path], ['GET', `/v1/sims/${HASH}/usage`])
  assert.match(shown.out, /^quota +5\.0 GB, then suspend$/m)
  assert.match(shown.out, /^left +3\.0 GB$/m)
  const idle = await against(
    () => ({ body: { ...record, enforcement: 'alert_only' } }),
    ['sim', 'quota', HASH],
  )
  assert.match(
    idle.out,
    /^quota +5\.0 GB, then an alert alone: suspend is not enforced \(fairuse\.enabled is false\)$/m,
  )
  const slow = await against(
    () => ({ body: { ...record, action: 'throttle', throttle_bps: 64_000 } }),
    ['sim', 'quota', HASH],
  )
  assert.match(slow.out, /^quota +5\.0 GB, then throttle to 64000 bit\/s$/m)
  const bodies = await Promise.all(
    [
      ['--bytes', '5GB', '--period', 'day', '--action', 'throttle', '--throttle-bps', '64000'],
      ['--bytes', '2GiB'],
      ['--add', '1.5MB'],
      ['--none'],
    ].map(async (args) => (await quota(...args)).seen[0]?.body),
  )
  assert.equal(bodies, [
    { quota_bytes: 5e9, period: 'day', action: 'throttle', throttle_bps: 64_000 },
    { quota_bytes: 2 ** 31 },
    { add_bytes: 1_500_000 },
    { quota_bytes: null },
  ])
  for (const args of [
    ['--bytes', '5 apples'],
    ['--bytes', '1GB', '--none'],
    ['--period', 'day'],
  ]) {
    const run = await quota(...args)
    assert.equal([run.code, run.seen.length], [2, 0], args.join(' '))
  }
})

sim.run()
