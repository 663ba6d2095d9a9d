import { readFileSync } from 'node:fs'
import { assert, suite } from '@steeple/testkit'
import { DRIVERS } from '../src/drivers.ts'

const drivers = suite('driver-hss/drivers')

drivers('have the names that the manifest lists', () => {
  const { steeple } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  assert.equal(Object.keys(DRIVERS), steeple.selected_by.values)
})

drivers.run()
