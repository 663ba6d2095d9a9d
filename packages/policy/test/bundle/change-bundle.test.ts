import { isServiceError } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { CONTENT_SCHEMA, defaultContent, type PolicyContent } from '../../src/bundle/bundle-schema.ts'
import { bundleProblems, changeBundle } from '../../src/bundle/change-bundle.ts'
import { schemaProblems } from '../../src/bundle/schema-problems.ts'

const change = suite('policy/change-bundle')
const AUTHOR = { by: 'token:tok-1/alice', nowMs: Date.UTC(2026, 0, 1) }
const DEFAULTS = defaultContent(['internet', 'ims'])

function refusal(patch: unknown, current: PolicyContent = DEFAULTS): readonly string[] {
  try {
    changeBundle(current, patch, AUTHOR)
  } catch (error) {
    assert.ok(isServiceError(error) && error.code === 'validation_failed', String(error))
    return isServiceError(error) ? (error.details ?? []).map(({ pointer }) => pointer) : []
  }
  return []
}

change('accepts the defaults of the specification as they are', () => {
  assert.equal(schemaProblems(CONTENT_SCHEMA, DEFAULTS), [])
  assert.equal(bundleProblems(DEFAULTS), [])
  assert.equal(DEFAULTS.retention_days, { sessions: 30, audit: 400, metrics: 90 })
  assert.equal(DEFAULTS.rate_limits, {
    sim_issue_per_hour: 500,
    sim_revoke_per_hour: 200,
    spectrum_check_per_hour: 300,
    tx_arm_per_hour: 60,
    sim_import_rows_per_hour: 200_000,
  })
  assert.is(DEFAULTS.sim_swap_cooldown_hours, 24)
})

change('merges changed keys and says which', () => {
  const { content, changes } = changeBundle(DEFAULTS, { rate_limits: { tx_arm_per_hour: 5 } }, AUTHOR)
  assert.equal(content.rate_limits, { ...DEFAULTS.rate_limits, tx_arm_per_hour: 5 })
  assert.equal(changes, [{ key: '/rate_limits/tx_arm_per_hour', old: 60, new: 5 }])
})

change('finds no change in an empty patch or in what already is', () => {
  assert.equal(changeBundle(DEFAULTS, {}, AUTHOR).changes, [])
  assert.equal(changeBundle(DEFAULTS, { apns: ['internet', 'ims'] }, AUTHOR).changes, [])
})

change('points at every unknown, removed, mistyped and read-only key', () => {
  assert.equal(refusal({ nope: 1 }), ['/nope'])
  assert.equal(refusal({ mesh: null }), ['/mesh'])
  assert.equal(refusal({ rate_limits: { tx_arm_per_hour: null, x: 1 } }), [
    '/rate_limits/tx_arm_per_hour',
    '/rate_limits/x',
  ])
  assert.equal(refusal({ retention_days: { audit: 0, metrics: '90' } }), [
    '/retention_days/audit',
    '/retention_days/metrics',
  ])
  assert.equal(refusal({ revision: 1, updated_at: 'x' }), ['/revision', '/updated_at'])
  assert.equal(refusal({ spectrum: { license: { acknowledged_by: 'me', acknowledged_at: null } } }), [
    '/spectrum/license/acknowledged_by',
  ])
  for (const patch of [[], 'x', 1, null]) assert.equal(refusal(patch), [''])
})

change('takes the whole policy back as it was shown, with one part changed', () => {
  const shown = { ...DEFAULTS, revision: 3, updated_at: '2026-01-01T00:00:00.000Z' }
  assert.equal(changeBundle(shown, shown, AUTHOR).changes, [])
  const { content, changes } = changeBundle(shown, { ...shown, sim_swap_cooldown_hours: 5 }, AUTHOR)
  assert.equal(content, { ...DEFAULTS, sim_swap_cooldown_hours: 5 })
  assert.is(changes.length, 1)
  assert.throws(() => changeBundle(shown, { ...shown, revision: 2 }, AUTHOR), /revision is read-only/)
})

change('refuses an allow-list that the band tables contradict', () => {
  const entry = { technology: 'lte', band: 'b3', country: 'DE' }
  const listed = (more: object): readonly string[] =>
    refusal({ spectrum: { allow_list: [{ ...entry, ...more }] } }).map((pointer) =>
      pointer.slice('/spectrum/allow_list'.length),
    )
  assert.equal(listed({}), [])
  assert.equal(listed({ earfcn_min: 1200, earfcn_max: 1949, max_eirp_dbm: 30 }), [])
  assert.equal(listed({ band: 'b200' }), ['/0/band'])
  assert.equal(listed({ band: 'n3' }), ['/0/band'])
  assert.equal(listed({ technology: 'nr' }), ['/0/band'])
  assert.equal(listed({ country: 'XX' }), ['/0/country'])
  assert.equal(listed({ country: 'LAB' }), ['/0/country'])
  assert.equal(listed({ earfcn_min: 1199 }), ['/0/earfcn_min'])
  assert.equal(listed({ earfcn_max: 1950 }), ['/0/earfcn_max'])
  assert.equal(listed({ earfcn_min: 1500, earfcn_max: 1400 }), ['/0/earfcn_min'])
  assert.equal(listed({ earfcn_min: 19_200 }), ['/0/earfcn_min'])
  assert.equal(listed({ low_mhz: 1805, high_mhz: 1880 }), [])
  assert.equal(listed({ low_mhz: 1810.5, earfcn_max: 1400 }), [])
  assert.equal(listed({ low_mhz: 1804.9 }), ['/0/low_mhz'])
  assert.equal(listed({ high_mhz: 1880.1 }), ['/0/high_mhz'])
  assert.equal(listed({ low_mhz: 1810, earfcn_min: 1250 }), ['/0/low_mhz'])
  assert.equal(listed({ low_mhz: 1820, high_mhz: 1810 }), ['/0/low_mhz'])
  assert.equal(listed({ earfcn_min: 1350, high_mhz: 1810 }), ['/0/high_mhz'])
  assert.equal(listed({ colour: 'red' }), ['/0/colour'])
})

change('refuses APNs and expiry times that are none', () => {
  assert.equal(refusal({ apns: ['internet', 'bad apn'] }), ['/apns/1'])
  assert.equal(refusal({ apns: ['a', 'a'] }), ['/apns'])
  assert.equal(refusal({ spectrum: { license: { expires_at: '2030-02-30T00:00:00Z' } } }), [
    '/spectrum/license/expires_at',
  ])
})

change('stamps an acknowledged license with who and when, and only when it changes', () => {
  const license = { acknowledged: true, reference: 'L-1', expires_at: '2030-01-01T02:00:00+02:00' }
  const first = changeBundle(DEFAULTS, { spectrum: { license } }, AUTHOR)
  assert.equal(first.content.spectrum.license, {
    acknowledged: true,
    reference: 'L-1',
    holder: null,
    expires_at: '2030-01-01T00:00:00.000Z',
    acknowledged_by: AUTHOR.by,
    acknowledged_at: '2026-01-01T00:00:00.000Z',
  })
  const later = { by: 'user:bob', nowMs: AUTHOR.nowMs + 1 }
  const again = changeBundle(first.content, { spectrum: { license } }, later)
  assert.equal(again.changes, [])
  const next = changeBundle(first.content, { spectrum: { license: { reference: 'L-2' } } }, later)
  assert.is(next.content.spectrum.license.acknowledged_by, 'user:bob')
  const withdrawn = changeBundle(next.content, { spectrum: { license: { acknowledged: false } } }, later)
  assert.is(withdrawn.content.spectrum.license.acknowledged_by, null)
  assert.is(withdrawn.content.spectrum.license.acknowledged_at, null)
})

change('refuses license texts that a store cannot give back as they were', () => {
  for (const holder of ['a\u0000b', 'a\ud800b', 'a\nb', 'x'.repeat(201)]) {
    assert.equal(refusal({ spectrum: { license: { holder } } }), ['/spectrum/license/holder'])
  }
})

change('clears a license text with null', () => {
  const set = changeBundle(DEFAULTS, { spectrum: { license: { reference: 'L-1', holder: 'x' } } }, AUTHOR)
  const cleared = changeBundle(set.content, { spectrum: { license: { reference: null } } }, AUTHOR)
  assert.is(cleared.content.spectrum.license.reference, null)
  assert.is(cleared.content.spectrum.license.holder, 'x')
})

change('either refuses any patch or gives a bundle that is valid', async () => {
  const key = fc.constantFrom(
    'retention_days',
    'rate_limits',
    'mesh',
    'apns',
    'spectrum',
    'license',
    'allow_list',
    'sim_swap_cooldown_hours',
    'sessions',
    'acknowledged',
    'expires_at',
    'country',
  )
  const value = fc.letrec((tie) => ({
    leaf: fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.integer({ min: -1, max: 50 }), fc.constant('DE')),
    node: fc.oneof(
      { maxDepth: 4 },
      tie('leaf'),
      fc.dictionary(key, tie('node'), { maxKeys: 4 }),
      fc.array(tie('node'), { maxLength: 2 }),
    ),
  })).node
  await fc.assert(
    fc.property(fc.dictionary(key, value), (patch) => {
      if (refusal(patch).length > 0) return
      const { content } = changeBundle(DEFAULTS, patch, AUTHOR)
      assert.equal(schemaProblems(CONTENT_SCHEMA, content), [])
      assert.equal(bundleProblems(content), [])
    }),
    { numRuns: 2_000 },
  )
})

change.run()
