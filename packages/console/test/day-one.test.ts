import { assert, eventually, suite } from '@steeple/testkit'
import { type Answers, inBrowser, open, Refusal, show } from './support/page.ts'

const { h } = await import('preact')
const { plugins, watchFeatures } = await import('../src/api/features.ts')
const { Menu, Palette } = await import('../src/app/shell.tsx')
const { DryRun } = await import('../src/pages/radio/profiles.tsx')

/** From a new box to a radio that may be armed: the licence itself, what is plugged in, what an arm would start. */
const one = suite('console/day-one')
inBrowser(one)

const DOCUMENTS = '/v1/policy/license/documents'
const POLICY = {
  ...{ revision: 3, updated_at: '2026-01-01T12:00:00Z', apns: ['internet'], sim_swap_cooldown_hours: 24 },
  ...{ retention_days: { sessions: 30, audit: 400, metrics: 90 }, mesh: { allow_route_advertise: false } },
  rate_limits: {},
  spectrum: {
    allow_list: [],
    license: { acknowledged: false, reference: 'L-7', holder: null, expires_at: null },
  },
}
const document = (id: string, more: object = {}) => ({
  ...{ id, sha256: 'ab12', media_type: 'application/pdf', bytes: 120_000, license_reference: 'L-7' },
  ...{ license_holder: null, attached_at: '2026-01-01T12:00:00Z', attached_by: 'user:1/ada' },
  ...{ ended_at: null, ended_by: null, ...more },
})
const rules = (documents: readonly object[], policy: object = POLICY): Answers => ({
  'GET /v1/policy': policy,
  'GET /v1/status': { country: 'DE' },
  [`GET ${DOCUMENTS}`]: { documents },
})

one('attaches the licence itself where it has a reference, and shows the one that counts', async () => {
  const page = await open('/rules', rules([]))
  assert.match(page.text('Licence document'), 'No document is attached.')
  assert.ok(page.isDisabled('Attach'), 'nothing is chosen')
  const license = { ...POLICY.spectrum.license, reference: null }
  const none = await open('/rules', rules([], { ...POLICY, spectrum: { ...POLICY.spectrum, license } }))
  assert.match(none.text('Licence document'), 'First save the reference')
  assert.not.ok(none.buttons().includes('Attach'))
  const full = await open('/rules', {
    ...rules([
      document('d-1'),
      document('d-0', { license_reference: 'L-6', ended_at: '2026-01-01T11:00:00Z' }),
    ]),
    [`DELETE ${DOCUMENTS}/d-1`]: {},
  })
  assert.match(full.text('Licence document'), /L-7[\s\S]*120 kB[\s\S]*ab12[\s\S]*Earlier documents[\s\S]*L-6/)
  await full.press('Remove')
  assert.is(full.dialog(), 'Remove the licence document?')
  await full.press('Remove')
  assert.equal(full.changes(), [[`DELETE ${DOCUMENTS}/d-1`, undefined]])
})

one('lets a viewer see that there is a document, and no more', async () => {
  const page = await open('/rules', rules([document('d-1')]), { roles: ['viewer'] })
  assert.match(page.text('Licence document'), 'L-7')
  assert.equal(page.buttons('Licence document'), [])
})

one('shows what an arm would start, and each reason why it would fail', async () => {
  const answers: Answers = {
    'GET /v1/tx/profiles/mast/dry-run': {
      program: 'srsenb',
      files: [{ name: 'rr.conf', text: 'dl_earfcn = 1300' }],
      checks: [
        { check: 'configuration', problems: [] },
        { check: 'program', problems: ['ran.binary is not there'] },
      ],
    },
    'GET /v1/tx/profiles/none/dry-run': { program: null, files: [], checks: [] },
    'GET /v1/tx/profiles/gone/dry-run': new Refusal(404, 'not_found', 'there is no such profile'),
  }
  const page = await show(() => h(DryRun, { id: 'mast' }), answers)
  assert.match(
    page.text('Dry run'),
    /The program is there\s+ran\.binary is not there[\s\S]*rr\.conf[\s\S]*dl_earfcn = 1300/,
  )
  await show(() => h(DryRun, { id: 'none' }), answers)
  assert.match(page.text(), 'starts no radio program of its own')
  await show(() => h(DryRun, { id: 'gone' }), answers)
  assert.match(page.text(), 'there is no such profile')
})

one('finds SIMs in the order of their names, and says where the others are', async () => {
  const sims = ['Dorf 02', 'Dorf 03'].map((label, n) => ({
    ...{ imsi_sha256_12: `00000000000${n}`, label, iccid_last4: null },
  }))
  const answers: Answers = { 'GET /v1/sims': { sims, next_cursor: 'more' } }
  const page = await show(() => h(Palette, { isOpen: true, onClose: () => undefined }), answers)
  const search = globalThis.document.querySelector<HTMLInputElement>('dialog input')
  if (search === null) throw new Error('nothing to type into')
  const type = (text: string): void => {
    search.value = text
    search.dispatchEvent(new (Reflect.get(window, 'Event') as typeof Event)('input', { bubbles: true }))
  }
  // What is done on a page finds it, too.
  type('quo')
  await eventually(() => assert.is(page.buttons()[0], 'SIMs'))
  type('Dorf 0')
  await eventually(() => assert.equal(page.buttons(), ['Dorf 02 SIM', 'Dorf 03 SIM', 'More SIMs']))
  assert.is(page.asked().findLast(({ call }) => call === 'GET /v1/sims')?.query.sort, 'label')
  await page.press('More SIMs')
  assert.is(page.address(), '/sims?q=Dorf+0')
})

one('shows no entry of the menu until all are known, so that none moves under the pointer', async () => {
  const refusal = { 'GET /v1/version': new Refusal(503, 'not_ready') }
  const page = await show(() => h(Menu, { isOpen: true }), refusal)
  plugins.value = undefined
  await page.settled()
  assert.equal(page.buttons('Menu'), [])
  await watchFeatures()
  await page.settled()
  assert.ok(page.buttons('Menu').includes('Set up the box'), 'the own pages, whatever the service answers')
})

one.run()
