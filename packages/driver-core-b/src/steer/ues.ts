import type { Imsi, ObservedUe } from '@steeple/contracts'
import type { Registration } from '@steeple/southbound'

/** The phones in a list of registrations: one per subscriber, however many accesses it has. */
export function uesFrom(registrations: readonly Registration[]): readonly ObservedUe[] {
  const byImsi = new Map<Imsi, Registration[]>()
  for (const one of registrations) {
    const known = byImsi.get(one.imsi)
    if (known === undefined) byImsi.set(one.imsi, [one])
    else known.push(one)
  }
  return [...byImsi].map(([imsi, all]) => ({
    imsi,
    isRegistered: true,
    apns: [...new Set(all.flatMap(({ sessions }) => sessions.map(({ dnn }) => dnn)))]
      .filter((dnn) => dnn !== '')
      .toSorted(),
    isConnected: all.some(({ isConnected }) => isConnected),
  }))
}
