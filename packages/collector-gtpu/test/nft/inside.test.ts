import { safeText } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import { insideState } from '../../src/nft/inside.ts'

const inside = suite('collector-gtpu/inside-state')

inside('says how many packets did not come out in figures that are not taken for an IMSI', () => {
  const { status, detail } = insideState('3 addresses on eth0', [], ['ogstun'], 123_456_789)
  assert.is(status, 'degraded')
  assert.match(safeText(detail), /; 123 456 789 packets of phones went into the tunnel/)
})

inside.run()
