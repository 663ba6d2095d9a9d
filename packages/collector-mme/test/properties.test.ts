import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { prefix64Of } from '../src/plugin.ts'

const property = suite('collector-mme/properties')

property('writes the /64 of an address the same, however the address is written', async () => {
  const group = fc.oneof(fc.constant(0), fc.nat(0xffff))
  await fc.assert(
    fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
      const long = groups.map((one) => one.toString(16).padStart(4, '0')).join(':')
      const short = new URL(`http://[${long}]/`).hostname.slice(1, -1)
      const prefix = prefix64Of(long)
      assert.is(prefix64Of(short), prefix)
      assert.is(prefix64Of(long.toUpperCase()), prefix)
      assert.match(prefix, /^[0-9a-f:]+::\/64$|^::\/64$/)
      const bits = groups.map((one, index) => (index < 4 ? one : 0).toString(16)).join(':')
      assert.is(`${new URL(`http://[${bits}]/`).hostname.slice(1, -1)}/64`, prefix)
    }),
  )
  assert.is(prefix64Of('2001:db8:cafe:1::2'), '2001:db8:cafe:1::/64')
  assert.is(prefix64Of('::ffff:10.0.0.1'), '::/64')
})

property.run()
