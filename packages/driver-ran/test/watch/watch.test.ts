import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { coreView } from '../../src/radio-health.ts'
import { metricsEvents } from '../../src/watch/gnb-metrics.ts'

const watch = suite('driver-ran/watch')

const core = (radios: number) => ({ configSha256: undefined, services: new Map(), radios, attachedUes: 0 })

watch(
  'shows after 30 s that the core knows no radio, mends it after 60 s, and at most once in 10 minutes',
  () => {
    const view = coreView()
    const restarts: number[] = []
    for (let nowMs = 0; nowMs <= 1_500_000; nowMs += 10_000) {
      const { disagreement, isRestartDue } = view(true, core(0), nowMs)
      assert.is(disagreement !== undefined, nowMs >= 30_000)
      if (isRestartDue) restarts.push(nowMs)
    }
    assert.equal(restarts, [60_000, 660_000, 1_260_000])
    assert.is(view(true, core(1), 1_510_000).disagreement, undefined)
  },
)

watch('holds nothing against a radio when the core cannot be asked, or when it is not connected', () => {
  const view = coreView()
  for (let nowMs = 0; nowMs <= 200_000; nowMs += 10_000) {
    assert.is(view(true, nowMs % 20_000 === 0 ? core(0) : undefined, nowMs).disagreement, undefined)
    assert.is(view(false, core(0), nowMs).isRestartDue, false)
  }
})

watch('has nothing to mend in a radio that the core knows in another network', () => {
  const view = coreView()
  for (let nowMs = 0; nowMs <= 200_000; nowMs += 10_000)
    assert.equal(view(true, { ...core(0), otherNetworks: ['999-99'] }, nowMs), {
      disagreement: nowMs < 30_000 ? undefined : 'the core has it in another network (999-99)',
      isRestartDue: false,
    })
})

watch('reads a lost NG and phones from the metrics of gnb, which call an AMF that refuses connected', () => {
  const down = { timestamp: 1, 'cu-cp': { ngaps: { ngap: [{ amf_name: 'a', connected: false }] } } }
  const up = { 'cu-cp': { ngaps: { ngap: [{ connected: false }, { connected: true }] } } }
  assert.is(metricsEvents(JSON.stringify(down))[0]?.kind, 'disconnected')
  assert.equal(metricsEvents(JSON.stringify(up)), [])
  const cells = { cells: [{ ue_list: [{ rnti: 17_921 }, { rnti: 17_922 }] }, { cell_metrics: {} }] }
  assert.equal(metricsEvents(JSON.stringify(cells)), [{ kind: 'ue_count', count: 2 }])
  const odd = { cells: [{ ue_list: { rnti: 17_921 } }, { ue_list: 'two' }, { ue_list: null }] }
  assert.equal(metricsEvents(JSON.stringify(odd)), [{ kind: 'ue_count', count: 0 }])
  assert.equal(metricsEvents(JSON.stringify({ cells: [] })), [{ kind: 'ue_count', count: 0 }])
  assert.equal(metricsEvents(JSON.stringify({ cmd: 'metrics_subscribe', timestamp: 5 })), [])
})

watch('takes anything else for nothing', () => {
  fc.assert(fc.property(fc.json(), (text) => Array.isArray(metricsEvents(text))))
  fc.assert(fc.property(fc.string(), (text) => Array.isArray(metricsEvents(text))))
  for (const text of ['null', '[]', '{"cu-cp":null}', '{"cells":{}}', '{"cu-cp":{"ngaps":{"ngap":7}}}']) {
    assert.equal(metricsEvents(text), [])
  }
})

watch.run()
