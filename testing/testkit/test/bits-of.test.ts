import { assert, bitsOf, suite } from '../src/index.ts'

const bits = suite('testkit/bits-of')

function withTimes<T>(times: string, work: () => T): T {
  const before = process.env.SVC_TEST_TIMES
  process.env.SVC_TEST_TIMES = times
  try {
    return work()
  } finally {
    if (before === undefined) delete process.env.SVC_TEST_TIMES
    else process.env.SVC_TEST_TIMES = before
  }
}

bits('gives one of each octet, or all', () => {
  const octets = withTimes('1', () => [...bitsOf(100)].map((bit) => bit >> 3))
  assert.equal(
    octets,
    Array.from({ length: 100 }, (_, octet) => octet),
  )
  const all = withTimes('10', () => [...bitsOf(100)].toSorted((a, b) => a - b))
  assert.equal(
    all,
    Array.from({ length: 800 }, (_, bit) => bit),
  )
})

bits.run()
