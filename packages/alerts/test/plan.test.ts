import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { absences, type Change, OTHERS, planOf } from '../src/engine/engine.ts'
import { type Finding, type Look, lookOf, type Rule } from '../src/rules/rule.ts'
import { type AlertRow, openKey } from '../src/store/alert-store.ts'

const plans = suite('alerts/plan')

const RULE: Rule = { name: 'r', severity: 'warning', forMs: 0, clearMs: 0 }
const LIMITS = { perRule: 5, total: 8 }
const finding = (level: Finding['level'], value = 1): Finding => ({
  level,
  value,
  threshold: 0,
  message: `value ${value}`,
})
/** A look at subjects 0, 1, … of which those are bad and all others good. */
const lookAt = (bad: readonly number[], rule: Rule = RULE): Look =>
  lookOf(rule, new Map(bad.map((one) => [String(one), finding('bad')])), 'good')
const row = (subject: string, more: Partial<AlertRow> = {}): AlertRow => ({
  id: `a-${subject}`,
  open_key: openKey('r', subject),
  rule: 'r',
  severity: 'warning',
  subject,
  state: 'firing',
  message: 'value 1',
  value: 1,
  threshold: 0,
  started_at_ms: 0,
  since_ms: 0,
  fired_at_ms: 0,
  clear_since_ms: null,
  resolved_at_ms: null,
  updated_at_ms: 0,
  is_told: 1,
  acked_by: null,
  acked_at_ms: null,
  ...more,
})

function plan(looks: readonly Look[], open: readonly AlertRow[], nowMs = 1_000): readonly Change[] {
  const rules = new Set(looks.map(({ rule }) => rule.name))
  return planOf({ rules, looks, open, nowMs, limits: LIMITS, absent: () => 'unknown' })
}

/** The open alerts after those changes. */
function after(open: readonly AlertRow[], changes: readonly Change[]): readonly AlertRow[] {
  const gone = new Set(changes.flatMap((one) => ('row' in one && one.kind !== 'move' ? [one.row.id] : [])))
  const begun = changes.flatMap((one) =>
    one.kind === 'begin'
      ? [
          row(one.subject, {
            id: `a-${one.rule.name}-${one.subject}`,
            rule: one.rule.name,
            value: one.finding.value ?? null,
          }),
        ]
      : [],
  )
  return [...open.filter(({ id }) => !gone.has(id)), ...begun]
}

plans('has one alert for each subject, up to the limit, and one for all others', () => {
  const subjects = Array.from({ length: 30 }, (_, index) => index)
  fc.assert(
    fc.property(fc.array(fc.subarray(subjects), { maxLength: 12 }), (looks) => {
      let open: readonly AlertRow[] = []
      for (const bad of looks) {
        const hadGroup = open.some(({ subject }) => subject === OTHERS)
        const changes = plan([lookAt(bad)], open)
        open = after(open, changes)
        const names = open.map(({ subject }) => subject)
        assert.is(new Set(names).size, names.length, 'each subject once')
        assert.ok(names.filter((name) => name !== OTHERS).length <= LIMITS.perRule)
        for (const name of names) assert.ok(name === OTHERS || bad.includes(Number(name)))
        const covered = bad.filter((one) => names.includes(String(one))).length
        assert.is(names.includes(OTHERS), covered < bad.length, 'nobody is left out')
        if (hadGroup)
          assert.not.ok(
            changes.some((one) => one.kind === 'begin' && one.subject !== OTHERS),
            'the end of a storm is no second one',
          )
        assert.equal(plan([lookAt(bad)], open), [], 'the same look changes nothing')
      }
    }),
    { numRuns: 500 },
  )
})

plans('counts all others of a rule, and says when they are fewer', () => {
  const many = lookAt(Array.from({ length: 100_000 }, (_, index) => index))
  const changes = plan([many], [])
  const group = changes.find((one) => one.kind === 'begin' && one.subject === OTHERS)
  assert.is(changes.length, LIMITS.perRule + 1)
  assert.is(group?.kind === 'begin' && group.finding.value, 100_000 - LIMITS.perRule)
  const open = after([], changes)
  const fewer = plan([lookAt([0, 1, 2, 3, 4, 5])], open, 61_000)
  const refreshed = fewer.find((one) => one.kind === 'refresh' && one.row.subject === OTHERS)
  assert.is(refreshed?.kind === 'refresh' && refreshed.finding.value, 1)
})

plans('holds all rules together to a limit', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 6 }), (counts) => {
      const looks = counts.map((count, index) =>
        lookAt(
          Array.from({ length: count }, (_, subject) => subject),
          { ...RULE, name: `r${index}` },
        ),
      )
      const begun = plan(looks, []).flatMap((one) => (one.kind === 'begin' ? [one] : []))
      assert.ok(begun.filter(({ subject }) => subject !== OTHERS).length <= LIMITS.total)
      for (const [index, count] of counts.entries()) {
        const own = begun.filter(({ rule }) => rule.name === `r${index}`)
        const others = own.find(({ subject }) => subject === OTHERS)
        assert.is(own.filter((one) => one !== others).length + (others?.finding.value ?? 0), count)
      }
    }),
  )
})

plans('ends alerts of a rule that is gone, and leaves those of one that could not be looked at', () => {
  const open = [row('x'), row('y', { rule: 'gone' }), row('z', { rule: 'gone', state: 'pending' })]
  const changes = planOf({
    rules: new Set(['r']),
    looks: [],
    open,
    nowMs: 1,
    limits: LIMITS,
    absent: () => 'good',
  })
  assert.equal(
    changes.map((one) => [one.kind, 'row' in one && one.row.subject]),
    [
      ['resolve', 'y'],
      ['drop', 'z'],
    ],
  )
})

plans('takes a subject of which nothing is known for well when that lasts', () => {
  const known = absences()
  assert.is(known.levelOf('k', 0), 'unknown')
  known.sweep()
  assert.is(known.levelOf('k', 299_999), 'unknown')
  known.sweep()
  assert.is(known.levelOf('k', 300_000), 'good')
  known.sweep()
  known.sweep()
  assert.is(known.levelOf('k', 300_001), 'unknown', 'it was back meanwhile')
  const look = lookOf(RULE, new Map())
  const input = { rules: new Set(['r']), looks: [look], open: [row('x')], nowMs: 1, limits: LIMITS }
  assert.equal(planOf({ ...input, absent: () => 'unknown' }), [])
  assert.is(planOf({ ...input, absent: () => 'good' })[0]?.kind, 'resolve')
})

plans('ends neither an alert nor that of all others because a start has not counted anything yet', () => {
  const open = [row('x'), row(OTHERS, { value: 9 })]
  const blind = lookOf(RULE, new Map())
  assert.equal(plan([blind], open), [])
  const input = { rules: new Set(['r']), looks: [blind], open, nowMs: 1, limits: LIMITS }
  assert.equal(
    planOf({ ...input, absent: () => 'good' }).map(({ kind }) => kind),
    ['resolve', 'resolve'],
  )
})

plans.run()
