import type { RadioProfile, Settings } from '@steeple/contracts'
import { defaultSettings } from '@steeple/testkit'
import type { RadioInput } from '../../src/render/radio-input.ts'
import { PROFILE } from './lab.ts'

/** A carrier of 20 MHz in n78. */
export const NR_PROFILE: RadioProfile = {
  technology: 'nr',
  channel: 632_628,
  band: 'n78',
  bandwidth_mhz: 20,
  tx_gain_db: 60,
}

/** What a radio is rendered from, with changes. */
export function radioInput(
  changes: Partial<Omit<RadioInput, 'ran'>> & { readonly ran?: Partial<Settings['ran']> } = {},
): RadioInput {
  return {
    plmn: { mcc: '262', mnc: '05' },
    tac: 7,
    profile: PROFILE,
    coreAddresses: { mme: '10.45.0.2', amf: '10.45.0.5' },
    slices: [{ sst: 1 }],
    overlays: new Map(),
    directory: '/var/lib/svc/ran',
    localAddresses: ['192.0.2.10'],
    ...changes,
    ran: {
      ...defaultSettings().ran,
      binary: '/usr/bin/srsenb',
      device_name: 'uhd',
      device_args: 'type=b200',
      bind_addr: '192.0.2.10',
      ...changes.ran,
    },
  }
}

/** The same for a gnb. */
export function gnbInput(changes: Parameters<typeof radioInput>[0] = {}): RadioInput {
  return radioInput({
    profile: NR_PROFILE,
    ...changes,
    ran: { program: 'gnb', binary: '/usr/bin/gnb', ...changes.ran },
  })
}
