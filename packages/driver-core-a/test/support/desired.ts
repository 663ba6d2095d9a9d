import type { CoreDesired } from '@steeple/contracts'
import { defaultSettings } from '@steeple/testkit'
import { type RenderSettings, renderSettings } from '../../src/render/core-plan.ts'

/** The desired state of the default configuration. */
export const DESIRED: CoreDesired = {
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
