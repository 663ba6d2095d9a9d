import { assert, eventually, suite } from '@steeple/testkit'
import fc from 'fast-check'
import {
  changedPaths,
  type Draft,
  draftOf,
  emptyEntry,
  type Policy,
  patchOf,
  rebased,
  shown,
} from '../src/pages/rules/rule-fields.ts'
import { type Answers, inBrowser, open, Refusal, type Screen } from './support/page.ts'

/** The rules: what is typed, what is sent, and what becomes of both when somebody else was first. */
const rules = suite('console/rules')
inBrowser(rules)

const ENTRY = {
  technology: 'lte',
  band: 'b3',
  low_mhz: 1815,
  high_mhz: 1825.1,
  max_eirp_dbm: 30,
  country: 'DE',
}
const LICENSE = {
  ...{ acknowledged: true, reference: 'L-1', holder: 'Village', expires_at: null },
  ...{ acknowledged_by: 'user:ada', acknowledged_at: '2026-01-01T12:00:00.000Z' },
}
const POLICY = {
  ...{ revision: 3, updated_at: '2026-01-01T12:00:00.000Z', apns: ['internet', 'ims'] },
  spectrum: { license: LICENSE, allow_list: [ENTRY] },
  retention_days: { sessions: 30, audit: 365, metrics: 7 },
  rate_limits: {
    ...{ sim_issue_per_hour: 100, sim_revoke_per_hour: 50, sim_import_rows_per_hour: 1000 },
    ...{ spectrum_check_per_hour: 60, tx_arm_per_hour: 10 },
  },
  ...{ sim_swap_cooldown_hours: 24, mesh: { allow_route_advertise: true, secret: 'unsaid' } },
} as unknown as Policy

const BASE = draftOf(POLICY)
const patched = (typed: Draft) => patchOf(BASE, { ...BASE, ...typed })

rules('sends nothing of what is typed as it was', () => {
  assert.equal(patchOf(BASE, BASE), { patch: {}, wrong: new Set() })
  assert.equal(patchOf(BASE, draftOf(structuredClone(POLICY))), { patch: {}, wrong: new Set() })
})

rules('sends each rule as the service has it, and with it none that stands beside it', () => {
  const at = new Date(2027, 5, 1, 12, 30).toISOString()
  for (const [typed, patch] of [
    [{ apns: ' internet,\nims  iot\n' }, { apns: ['internet', 'ims', 'iot'] }],
    [{ apns: '' }, { apns: [] }],
    [{ 'retention_days.audit': ' 30 ' }, { retention_days: { audit: 30 } }],
    [{ 'retention_days.audit': '1,5' }, { retention_days: { audit: 1.5 } }],
    [{ 'spectrum.license.holder': '  ' }, { spectrum: { license: { holder: null } } }],
    [{ 'spectrum.license.acknowledged': false }, { spectrum: { license: { acknowledged: false } } }],
    [{ 'spectrum.license.expires_at': '2027-06-01T12:30' }, { spectrum: { license: { expires_at: at } } }],
    [{ 'spectrum.allow_list': [] }, { spectrum: { allow_list: [] } }],
    [
      { 'spectrum.license.holder': 'B', 'spectrum.license.reference': 'R', sim_swap_cooldown_hours: '0' },
      { spectrum: { license: { holder: 'B', reference: 'R' } }, sim_swap_cooldown_hours: 0 },
    ],
  ] as const)
    assert.equal(patched(typed as Draft), { patch, wrong: new Set() }, JSON.stringify(typed))
})

rules('sends nothing that is no number or no moment, and says which it was', () => {
  for (const typed of ['', ' ', 'many', '1.000.5', '3 days'])
    assert.equal(patched({ 'retention_days.audit': typed }).wrong, new Set(['retention_days.audit']), typed)
  const moment = patched({ 'spectrum.license.expires_at': '2027-13-01T00:00', sim_swap_cooldown_hours: '1' })
  assert.equal([...moment.wrong], ['spectrum.license.expires_at'])
})

rules('sends an entry of the allow-list with what is typed of it alone', () => {
  const row = { ...emptyEntry('de'), band: ' B3 ', low_mhz: '1815', high_mhz: '1825,1' }
  const sent = (entry: typeof row) => patched({ 'spectrum.allow_list': [entry] })
  const name = { technology: 'lte', band: 'b3', country: 'DE' }
  assert.equal(sent(row).patch, {
    spectrum: { allow_list: [{ ...name, low_mhz: 1815, high_mhz: 1825.1 }] },
  })
  assert.equal(sent({ ...row, low_mhz: '', high_mhz: '', earfcn_min: '1300', max_eirp_dbm: '-3' }).patch, {
    spectrum: { allow_list: [{ ...name, earfcn_min: 1300, max_eirp_dbm: -3 }] },
  })
  assert.equal([...sent({ ...row, low_mhz: '18l5' }).wrong], ['spectrum.allow_list'])
})

rules('types what a missing edge is as nothing', () => {
  const entry = { ...ENTRY, low_mhz: null, high_mhz: undefined }
  const policy = { ...POLICY, spectrum: { license: LICENSE, allow_list: [entry] } } as unknown as Policy
  const [row] = draftOf(policy)['spectrum.allow_list'] as unknown as [Record<string, string>]
  assert.equal([row.low_mhz, row.high_mhz, row.max_eirp_dbm], ['', '', '30'])
})

rules('sends back what it has read, whatever that is: typing it and sending it changes nothing', () => {
  const word = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,11}$/)
  const count = fc.integer({ min: 0, max: 100_000 })
  const moment = fc
    .date({ min: new Date('2020-01-01'), max: new Date('2060-01-01'), noInvalidDate: true })
    .map((date) => new Date(Math.floor(date.getTime() / 60_000) * 60_000).toISOString())
  const entry = fc.record(
    {
      ...{ technology: fc.constantFrom('lte', 'nr'), band: fc.constantFrom('b3', 'n78') },
      ...{ country: fc.constantFrom('DE', 'FR'), low_mhz: fc.double({ min: 1, max: 6000, noNaN: true }) },
      ...{ max_eirp_dbm: fc.integer({ min: -10, max: 60 }) },
    },
    { requiredKeys: ['technology', 'band', 'country'], noNullPrototype: true },
  )
  fc.assert(
    fc.property(fc.array(word), count, moment, fc.array(entry), fc.boolean(), (apns, days, at, list, is) => {
      const license = { acknowledged: is, reference: 'x', holder: null, expires_at: at }
      const policy = {
        ...{ apns, spectrum: { license, allow_list: list }, retention_days: { audit: days } },
      } as unknown as Policy
      // Everything else is empty before, so that all of this is sent.
      const empty = draftOf({ apns: ['-'], spectrum: { license: {}, allow_list: [{}] } } as unknown as Policy)
      const typed = draftOf(policy)
      const { patch } = patchOf({ ...empty, 'spectrum.license.acknowledged': !is }, typed)
      const sent = patch as unknown as typeof policy
      assert.equal(sent.apns, apns)
      assert.equal(sent.spectrum.allow_list, list)
      assert.is(sent.retention_days.audit, days)
      assert.equal([sent.spectrum.license.acknowledged, sent.spectrum.license.expires_at], [is, at])
    }),
    { numRuns: 60 },
  )
})

rules('keeps what was touched here on top of what somebody else has set meanwhile', () => {
  const draft = { ...BASE, apns: 'mine', 'retention_days.audit': '1' }
  const theirs = { ...BASE, apns: 'theirs', 'retention_days.sessions': '2' }
  const both = rebased(draft, BASE, theirs)
  assert.equal(changedPaths(BASE, both), ['apns', 'retention_days.sessions', 'retention_days.audit'])
  assert.equal([both.apns, both['retention_days.sessions'], both['retention_days.audit']], ['mine', '2', '1'])
  assert.equal(rebased(BASE, BASE, theirs), theirs)
})

rules('has of what plugins keep in the bundle that which they have words for', () => {
  assert.is(BASE['mesh.allow_route_advertise'], true)
  assert.not('mesh.secret' in BASE)
  assert.equal(patched({ 'mesh.allow_route_advertise': false }).patch, {
    mesh: { allow_route_advertise: false },
  })
})

rules('shows a value as a person reads it', () => {
  for (const [typed, text] of [
    [true, '✓'],
    [false, '✗'],
    ['', '–'],
    [undefined, '–'],
    ['a\nb', 'a, b'],
    [[], '–'],
    [BASE['spectrum.allow_list'], 'DE lte b3 1815–1825.1 MHz ≤ 30 dBm'],
    [[{ ...emptyEntry('FR'), band: 'b20', earfcn_min: '6200', earfcn_max: '6300' }], 'FR lte b20 6200–6300'],
  ] as const)
    assert.is(shown(typed), text)
})

const PAGE: Answers = { 'GET /v1/policy': tagged(POLICY, '"3"'), 'GET /v1/status': { country: 'FR' } }
const CHANGED = { ...POLICY, revision: 4, apns: ['theirs'] }

/** An answer with a tag, which guards the change that follows. */
function tagged(body: object, etag: string) {
  return () => Response.json(body, { headers: { etag } })
}

function lastIfMatch(page: Screen): string | null {
  return (
    page
      .asked()
      .findLast(({ call }) => call.startsWith('PUT'))
      ?.headers.get('if-match') ?? null
  )
}

rules(
  'says what is about to change, sends that with the tag it was read with, and says that it is saved',
  async () => {
    const page = await open('/rules', PAGE)
    assert.match(page.text(), 'Acknowledged by ada')
    assert.not(page.buttons().includes('Save rules'), 'nothing is typed')
    await page.put('Keep audit trail, days', '30')
    assert.match(page.text('1 change not saved yet'), '365 → 30')
    page.answer({ 'PUT /v1/policy': tagged(CHANGED, '"4"'), 'GET /v1/policy': tagged(CHANGED, '"4"') })
    await page.press('Save rules')
    assert.is(lastIfMatch(page), '"3"')
    assert.equal(page.changes(), [['PUT /v1/policy', { retention_days: { audit: 30 } }]])
    assert.is(page.field('APN names').value, 'theirs')
    assert.match(page.text(), 'revision 4')
  },
)

rules('says at a field itself what is wrong with it, here and by the service', async () => {
  const wrong = { pointer: '/retention_days/audit', message: 'must be at least 90' }
  const page = await open('/rules', {
    ...PAGE,
    'PUT /v1/policy': new Refusal(400, 'validation_failed', 'refused', [wrong]),
  })
  await page.put('Keep audit trail, days', '')
  await page.press('Save rules')
  assert.equal(page.changes(), [], 'what cannot be sent is not')
  assert.is(page.field('Keep audit trail, days').getAttribute('aria-invalid'), 'true')
  await page.put('Keep audit trail, days', '1')
  await page.press('Save rules')
  assert.match(page.complaint('Keep audit trail, days'), 'must be at least 90')
  assert.is(page.complaint('Keep sessions, days'), '')
})

rules('lets choose when somebody else was first, and loses nothing that was typed', async () => {
  const page = await open('/rules', {
    ...PAGE,
    'PUT /v1/policy': () => new Refusal(412, 'policy_conflict', 'revision 4 is in force'),
  })
  await page.put('APN names', 'mine')
  await page.put('Keep audit trail, days', '30')
  page.answer({ 'GET /v1/policy': tagged(CHANGED, '"4"') })
  await page.press('Save rules')
  assert.match(page.text(), 'theirs')
  assert.not(page.buttons().includes('Save rules'), 'first it is chosen')
  await page.press('Keep my values')
  assert.equal([page.field('APN names').value, page.field('Keep audit trail, days').value], ['mine', '30'])
  page.answer({ 'PUT /v1/policy': tagged({ ...CHANGED, revision: 5 }, '"5"') })
  page.changes()
  await page.press('Save rules')
  assert.is(lastIfMatch(page), '"4"')
  assert.equal(page.changes(), [['PUT /v1/policy', { apns: ['mine'], retention_days: { audit: 30 } }]])
})

rules(
  'asks nobody to choose when another rule has changed than what is typed, and guards with its tag',
  async () => {
    const page = await open('/rules', PAGE)
    await page.put('Keep audit trail, days', '30')
    page.answer({ 'GET /v1/policy': tagged(CHANGED, '"4"') })
    await page.happens('policy.update', 'policy')
    await eventually(() => page.field('APN names').value === 'theirs')
    assert.is(page.field('Keep audit trail, days').value, '30')
    assert.not.match(page.text(), 'Somebody else')
    page.answer({ 'PUT /v1/policy': tagged({ ...CHANGED, revision: 5 }, '"5"') })
    await page.press('Save rules')
    assert.is(lastIfMatch(page), '"4"')
    assert.equal(page.changes(), [['PUT /v1/policy', { retention_days: { audit: 30 } }]])
  },
)

rules(
  'begins an entry of the allow-list in the country of the box, and takes the right one away',
  async () => {
    const page = await open('/rules', PAGE)
    await page.press('Add entry')
    assert.is(page.field('Country').value, 'FR')
    await page.press('Remove entry 1')
    assert.match(page.text(), 'DE lte b3 1815–1825.1 MHz ≤ 30 dBm → FR lte')
  },
)

rules('is to be read by everybody, and changed by operators', async () => {
  const page = await open('/rules', PAGE, { roles: ['viewer'] })
  assert.ok(page.field('APN names').disabled)
  assert.equal(
    page.buttons().filter((name) => /add|remove|save/i.test(name)),
    [],
  )
})

rules.run()
