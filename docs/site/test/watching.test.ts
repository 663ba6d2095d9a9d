import { assert, suite } from '@steeple/testkit'
import { watchingFor } from '../src/watching.ts'

const watching = suite('docs/watching')

const RULES = `groups:
  - name: service
    rules:
      - alert: Down
        expr: up == 0
      - alert: Daemon
        expr: svc_a_up == 0 or svc_b_up == 0
  - name: codes
    rules:
      - alert: Guessed
        expr: >-
          rate(svc_codes_total[5m])
            > 1
`
const TESTS = `rule_files:
  - alerts.yml
tests:
  - interval: 1m
    input_series:
      - { series: 'up{job="x"}', values: "1" }
  - name: codes
    input_series:
      - { series: 'svc_codes_total', values: "1" }
`

watching('leaves rules, alternatives, groups and tests out that ask for what is not there', () => {
  assert.is(watchingFor('alerts.yml', RULES, ['svc_other']), RULES)
  const left = watchingFor('alerts.yml', RULES, ['svc_a_up', 'svc_codes_total'])
  assert.is(
    left,
    'groups:\n  - name: service\n    rules:\n      - alert: Down\n        expr: up == 0\n      - alert: Daemon\n        expr: svc_b_up == 0\n',
  )
  assert.not.match(watchingFor('alerts.yml', RULES, ['svc_a_up', 'svc_b_up']), 'Daemon')
  assert.is(
    watchingFor('alerts.test.yml', TESTS, ['svc_codes_total']),
    TESTS.slice(0, TESTS.indexOf('  - name: codes')),
  )
})

watching('leaves panels out that would show nothing, and lines of those that show something', () => {
  const panel = (...names: readonly string[]) => ({ targets: names.map((expr) => ({ expr })) })
  const dashboard = {
    title: 'x',
    panels: [panel('up'), panel('svc_a'), panel('svc_a', 'up'), { title: 'row', panels: [panel('svc_a')] }],
  }
  assert.equal(JSON.parse(watchingFor('x.json', JSON.stringify(dashboard), ['svc_a'])), {
    title: 'x',
    panels: [panel('up'), panel('up'), { title: 'row', panels: [] }],
  })
})

watching.run()
