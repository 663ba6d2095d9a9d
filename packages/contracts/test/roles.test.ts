import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { expandRoles, ROLES, type Role } from '../src/roles.ts'

const roles = suite('contracts/roles')

/** Contract section 1, written out. */
const HELD: Readonly<Record<Role, readonly Role[]>> = {
  viewer: ['viewer'],
  operator: ['operator', 'viewer'],
  'sim:issuer': ['sim:issuer', 'viewer'],
  'sim:admin': ['sim:admin', 'sim:issuer', 'viewer'],
  admin: ['admin', 'operator', 'sim:admin', 'sim:issuer', 'viewer'],
  node: ['node'],
}

for (const role of ROLES) {
  roles(`gives ${role} exactly what the contract says`, () => {
    assert.equal([...expandRoles([role])].sort(), [...HELD[role]].sort())
  })
}

roles('joins what several roles hold, and nothing for none', () => {
  assert.equal([...expandRoles(['operator', 'sim:issuer'])].sort(), ['operator', 'sim:issuer', 'viewer'])
  assert.is(expandRoles([]).size, 0)
})

roles.run()
