import { assert, suite } from '@steeple/testkit'
import { etagOf, namesRevision } from '../../src/routes/policy-routes.ts'

const etag = suite('policy/etag')

etag('is the quoted revision', () => {
  assert.is(etagOf(7), '"7"')
})

etag('is found alone, in a list, weak, bare and by the star', () => {
  for (const header of ['"7"', '"1", "7"', 'W/"7"', '7', '*']) assert.ok(namesRevision(header, 7), header)
  for (const header of ['"8"', '"77"', '', '"', 'x', '"7']) assert.not(namesRevision(header, 7), header)
})

etag.run()
