import type { CoreDesired, Settings } from '@steeple/contracts'
import { defaultSettings, type Overrides } from '@steeple/testkit'
import { type RenderSettings, renderSettings } from '../../src/render/core-plan.ts'

/** A small network; `more` replaces parts of it. */
export function desiredWith(more: Partial<CoreDesired> = {}): CoreDesired {
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
