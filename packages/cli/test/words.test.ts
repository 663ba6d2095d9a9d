import { assert, suite } from '@steeple/testkit'
import type { Json } from '../src/client/service.ts'
import { SIM_COLUMNS } from '../src/commands/sim-columns.ts'
import { heldCapabilities } from '../src/doctor/doctor.ts'
import { octets } from '../src/output/octets.ts'
import { flatten, table, valueAt } from '../src/output/table.ts'
import { assign, patchFromAssignments } from '../src/program.ts'

const words = suite('cli/words')

words('says of an end that never comes that it is none, as a day and as a moment', () => {
  const rows = [{ day: '9999-12-31T23:59:59.000Z', moment: '9999-12-31T23:59:59.000Z' }]
  const text = table(rows, [{ value: 'day', as: 'day' }, 'moment'])
  assert.match(text, /no end\s+no end/)
})

words('takes JSON as JSON and everything else as text', () => {
  assert.equal(patchFromAssignments(['a.b=1', 'a.c=true', 'd=null', 'e=x=y', 'f=', 'g="1"']), {
    a: { b: 1, c: true },
    d: null,
    e: 'x=y',
    f: '',
    g: '1',
  })
  for (const word of ['a', '=1', 'a..b=1', 'A=1', '__proto__=1', 'a.__proto__.b=1'])
    assert.throws(() => patchFromAssignments([word]), /no key\.path=value/)
})

words('lays one patch over another and finds values by path', () => {
  const merged = assign({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: 3 }, d: [2] })
  assert.equal(merged, { a: { b: 3, c: 2 }, d: [2] })
  assert.is(valueAt(merged, 'a.b'), 3)
  assert.is(valueAt(merged, 'a.b.c'), undefined)
  assert.is(valueAt(merged, 'constructor'), undefined)
})

words('writes tables that line up and cannot move the cursor', () => {
  const rows = [
    { name: 'long name', n: 1 },
    { name: 'x\n\u001b[2J', n: undefined },
  ]
  const text = table(rows, [
    { title: 'NAME', value: (row) => row.name },
    { title: 'N', value: (row) => row.n },
  ])
  assert.is(text, 'NAME       N\nlong name  1\nx\uFFFD\uFFFD[2J     -\n')
  assert.equal(flatten({ a: { b: [], c: {} }, d: null }), [
    ['a.b', []],
    ['a.c', {}],
    ['d', null],
  ])
})

words('fits tables to the screen: cells are cut, sentences go on below, identifiers stay', () => {
  const rows = [
    {
      id: '5c1b940e9d29',
      label: 'a long label of somebody',
      why: 'the phone was refused because its card has other keys',
    },
  ]
  const columns = [
    { title: 'SIM', value: (row: (typeof rows)[number]) => row.id, fit: 'whole' },
    { title: 'LABEL', value: (row: (typeof rows)[number]) => row.label },
    { title: 'WHY', value: (row: (typeof rows)[number]) => row.why, fit: 'wrap' },
  ] as const
  const lines = table(rows, columns, 50).trimEnd().split('\n')
  assert.ok(
    lines.every((line) => line.length <= 50),
    lines.join('\n'),
  )
  assert.match(lines[1] ?? '', /^5c1b940e9d29 {2}a long \S+.*…/)
  const why = lines.slice(1).map((line) => line.slice(lines[0]?.indexOf('WHY')).trim())
  assert.is(why.join(' '), rows[0]?.why)
  assert.is(table(rows, columns).split('\n').length, 3)
  assert.match(table(rows, columns, 5), /5c1b940e9d29/)
  const times = ['2026-11-21T18:52:00.679Z', null, 'never'].map((at) => ({ at }))
  assert.is(table(times, ['at']), 'AT\n2026-11-21 18:52:00Z\n-\nnever\n')
})

words('leaves out a column that says the usual of all rows where the lines are too long', () => {
  const sim = (status: string): Json => ({
    imsi_sha256_12: '5c1b940e9d29',
    state: 'issued',
    attached: false,
    label: 'north Fatima Diallo 4072',
    iccid_last4: '0727',
    profile: 'default',
    expires_at: '2027-11-21T19:17:52.803Z',
    provisioning: { status },
  })
  const shown = (status: string, width?: number): string =>
    table([sim('synced'), sim(status)], SIM_COLUMNS, width)
  assert.match(shown('synced', 200), /PROFILE +EXPIRES +PROVISIONING$/m)
  assert.match(shown('synced'), /PROFILE +EXPIRES +PROVISIONING$/m)
  assert.is.not(shown('synced', 80).includes('PRO'), true)
  assert.match(
    shown('synced', 80),
    /^5c1b940e9d29 +issued +no +north Fatima Diallo 4072 +…0727 +2027-11-21$/m,
  )
  assert.match(shown('pending', 80), /north .*… +…0727 +2027-11-21 +pending$/m)
  for (const line of shown('pending', 80).split('\n')) assert.ok(line.length <= 80, line)
})

words('reads capability sets', () => {
  assert.is(heldCapabilities('Name:\tnode\nCapEff:\t0000000000003000\n'), 0x3000n)
  assert.is(heldCapabilities(''), undefined)
})

words('writes octets with a unit of which there is at least one', () => {
  const written = [0, 1, 999, 1_000, 999_949, 999_950, 1e9, 2 ** 53, -1_500].map(octets)
  assert.equal(written, [
    '0 B',
    '1 B',
    '999 B',
    '1.0 kB',
    '999.9 kB',
    '1.0 MB',
    '1.0 GB',
    '9.0 PB',
    '-1.5 kB',
  ])
  assert.is(octets(null), '-')
})

words.run()
