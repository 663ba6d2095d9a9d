import type { Settings } from '@steeple/contracts'
import type { PlacedDesired } from '@steeple/southbound'
import { defaultSettings, type Overrides } from '@steeple/testkit'
import { type RenderSettings, renderSettings } from '../../src/render/core-plan.ts'

/** A small network; `more` replaces parts of it. */
export function desiredWith(more: Partial<PlacedDesired> = {}): PlacedDesired {
  return {
    plmn: { mcc: '999', mnc: '05' },
    tac: 7,
    apns: ['internet', 'ims'],
    maxUes: 128,
    addresses: {},
    ...more,
  }
}

/** Render settings of the default configuration; `more` replaces parts of it. */
export function settingsWith(more: Overrides<Settings> = {}): RenderSettings {
  return renderSettings(defaultSettings(more))
}

/** What such settings ask of the core. */
export function desiredOf({ plmn, tac, policy }: Settings): Omit<PlacedDesired, 'addresses'> {
  return { plmn, tac, apns: policy.apns, maxUes: policy.max_ues }
}
