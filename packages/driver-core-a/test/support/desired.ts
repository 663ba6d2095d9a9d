import type { Settings } from '@steeple/contracts'
import type { PlacedDesired } from '@steeple/southbound'
import { defaultSettings } from '@steeple/testkit'
import { type RenderSettings, renderSettings } from '../../src/render/core-plan.ts'

/** The desired state of the default configuration. */
export const DESIRED: PlacedDesired = {
  plmn: { mcc: '999', mnc: '99' },
  tac: 7,
  apns: ['internet', 'ims'],
  maxUes: 128,
  addresses: {},
}

/** The rest of the default configuration, changed as given. */
export function settingsWith(change: Partial<RenderSettings> = {}): RenderSettings {
  return { ...renderSettings(defaultSettings()), ...change }
}

/** What such settings ask of the core. */
export function desiredOf({ plmn, tac, policy }: Settings): Omit<PlacedDesired, 'addresses'> {
  return { plmn, tac, apns: policy.apns, maxUes: policy.max_ues }
}
