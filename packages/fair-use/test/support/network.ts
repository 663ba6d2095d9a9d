import type { Imsi, Subscriber } from '@steeple/contracts'
import { driverPlugin, fakeCore, fakeHss, type InlinePlugin } from '@steeple/testkit'

/** An HSS and a core in memory. */
export interface Network {
  readonly held: Map<Imsi, Subscriber>
  readonly attached: Set<Imsi>
  readonly plugins: readonly InlinePlugin[]
}

/** A network without phones, as two plugins. */
export function network(): Network {
  const hss = fakeHss()
  const core = fakeCore()
  return {
    held: hss.held,
    attached: core.attached,
    plugins: [driverPlugin('hss', hss), driverPlugin('core', core)],
  }
}
