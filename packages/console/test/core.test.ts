import { assert, suite } from '@steeple/testkit'
import { restartedOf } from '../src/pages/core/restarted.ts'

/** What the page of the core says. */
const core = suite('console/core')
core('says of each entry of the trail which daemons were restarted, and why', () => {
  const of = (detail: object | null) => {
    const { daemons, why, files } = restartedOf({
      seq: 1,
      at: '2026-11-23T16:00:00.000Z',
      detail: detail as never,
    })
    return [daemons, why, files]
  }
  const why = 'the UPF has none of its sessions'
  assert.equal(of({ core: 'core_a', daemons: ['smf'], reason: why }), [['smf'], why, []])
  assert.equal(of({ core: 'core_a', changed: ['mme.yaml'], restarted: ['mme', 'sgwc'] }), [
    ['mme', 'sgwc'],
    undefined,
    ['mme.yaml'],
  ])
  assert.equal(of(null), [[], undefined, []])
})

core.run()
