import { assert, defaultSettings, suite } from '@steeple/testkit'
import { coreAddress, coreAddressesOf } from '../../src/render/radio-input.ts'
import { radioInput } from '../support/radio-input.ts'

const input = suite('driver-ran/render/radio input')

input('finds the AMF of the core that is configured', () => {
  const settings = defaultSettings()
  const amfWith = (core: 'core_a' | 'core_b', addresses: Readonly<Record<string, string>>): string =>
    coreAddress(
      radioInput({
        coreAddresses: coreAddressesOf({ ...settings, core, [core]: { ...settings[core], addresses } }),
        ran: { program: 'gnb' },
      }),
    )
  assert.is(amfWith('core_a', {}), '127.0.0.5')
  assert.is(amfWith('core_a', { amf: '10.0.0.5' }), '10.0.0.5')
  assert.is(amfWith('core_b', {}), '127.0.0.18')
  assert.is(amfWith('core_b', { amf: '10.0.0.18' }), '10.0.0.18')
  assert.is(amfWith('core_b', { amf: '10.0.0.18', n2: '10.0.1.18' }), '10.0.1.18')
})

input.run()
